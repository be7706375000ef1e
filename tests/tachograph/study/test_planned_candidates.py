"""Candidates in study files: what is refused, what is planned, and what determines a measurement."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tachograph_study import STUB

from tachograph.errors import TachographError
from tachograph.files import canonical_json, parse_json
from tachograph.models import Study
from tachograph.study.loading import load_study
from tachograph.study.planning import PlannedRun, plan_study
from tachograph.study.registration import content

COMMAND = """clear_environment = ["STUB_PATH"]
candidate = ["{python}", "c.py", "{candidate}", "{arm}", "{pairs}", "{steps}", "{seed}", "{out}"]
exit_codes = { unavailable = 69, not_finite = 3 }
"""
ONE = """
[candidates.one]
title = "a title"
why = "a reason"
"""
COMPONENT = ONE + 'measure = "component"\nsteps = 20\npairs = 4\n'
IN_TURN = ONE + 'measure = "run"\niterations = 3\npairs = 2\nenvironment = { STUB_PAUSE = "0.1" }\n'


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Any]:
    """The stub's study with ``more`` at its end."""

    def loaded(more: str, trainer: str = COMMAND) -> Any:
        for folder in ("studies", "trainers"):
            (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(STUB / "study.toml", tmp_path / "studies/stub.toml")
        with (tmp_path / "studies/stub.toml").open("a") as stream:
            stream.write(more)
        lines = (STUB / "trainer.toml").read_text().splitlines(keepends=True)
        text = "".join(line for line in lines if "parity =" not in trainer or not line.startswith("parity ="))
        (tmp_path / "trainers/stub.toml").write_text(text.replace('clear_environment = ["STUB_PATH"]\n', trainer))
        return load_study(tmp_path, "stub")

    return loaded


def candidate_of(load: Callable[..., Any], more: str) -> PlannedRun:
    planned = plan_study(*load(more), "cpu", "0" * 64)
    assert planned[-1].role == "candidate"
    assert [run.position for run in planned] == list(range(len(planned)))
    return planned[-1]


def test_component_is_planned_last_with_the_environment_of_its_arm(load: Callable[..., Any]) -> None:
    """The trainer's command is filled, and the arm beside the reference is the base."""
    run = candidate_of(load, COMPONENT)
    assert run.key == "candidate-one-seed0"
    assert (run.target, run.run_file) == ("candidates/one.json", "candidates/one.run.json")
    assert run.command == ("{python}", "c.py", "one", "fast", "4", "20", "0", "{out}")
    assert run.environment == {"STUB_PATH": "fast"}
    assert not run.in_turn


def test_runs_in_turn_change_what_they_say_and_nothing_else(load: Callable[..., Any]) -> None:
    """Both commands are the training command, with the seed left open; arguments come on top of the arm's."""
    more = 'against = "reference"\narguments = ["--more"]\nshared_arguments = ["--often"]\n'
    run = candidate_of(load, IN_TURN + more)
    assert run.in_turn
    assert run.command[-1] == "--often"
    changed = run.changed()
    assert changed.command == (*run.command, "--more")
    assert changed.environment == {"STUB_PATH": "reference", "STUB_PAUSE": "0.1"}
    assert run.environment == {"STUB_PATH": "reference"}
    assert "{seed}" in run.command
    assert "3" in run.command


@pytest.mark.parametrize("more", [COMPONENT, IN_TURN])
def test_plan_survives_its_file(load: Callable[..., Any], more: str) -> None:
    """A plan read back from JSON is the same plan."""
    run = candidate_of(load, more)
    assert PlannedRun.from_dict(parse_json(canonical_json(run.as_dict()))) == run


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (COMPONENT, COMPONENT.replace("pairs = 4", "pairs = 5")),
        (COMPONENT, COMPONENT.replace("steps = 20", "steps = 21")),
        (COMPONENT, COMPONENT + 'against = "reference"\n'),
        (IN_TURN, IN_TURN.replace("0.1", "0.2")),
        (IN_TURN, IN_TURN.replace("pairs = 2", "pairs = 3")),
        (IN_TURN, IN_TURN + 'requires = "rocm"\n'),
    ],
)
def test_what_determines_a_measurement_changes_its_identity(load: Callable[..., Any], before: str, after: str) -> None:
    """Such an edit measures the candidate again."""
    assert candidate_of(load, before).identity != candidate_of(load, after).identity


@pytest.mark.parametrize("edit", ["minimum_effect = 1.5\n", 'quantity = "stage"\n'])
def test_what_only_judges_does_not(load: Callable[..., Any], edit: str) -> None:
    """What is expected of a measurement does not make another one."""
    assert candidate_of(load, IN_TURN).identity == candidate_of(load, IN_TURN + edit).identity


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (ONE + 'measure = "component"\n', "candidates.one.steps: the key is missing"),
        (COMPONENT + "iterations = 3\n", "iterations: found it with measure = 'component'"),
        (COMPONENT.replace("steps = 20", "steps = 3"), "at least one for each of 4 pairs"),
        (COMPONENT.replace("pairs = 4", "pairs = 1"), "candidates.one.pairs: found 1"),
        (COMPONENT + 'against = "slow"\n', "candidates.one.against: found 'slow'"),
        (COMPONENT + 'rivals = ["two"]\n', "candidates.one.rivals: found 'two'"),
        (COMPONENT + "typo = 1\n", "candidates.one.typo: unknown key, expected one of: against"),
        (ONE + 'measure = "run"\niterations = 3\n', "expected what the candidate changes"),
        (IN_TURN.replace("iterations = 3\n", ""), "iterations: the key is missing"),
        (IN_TURN.replace("iterations = 3", "iterations = 1"), "candidates.one.iterations: found 1"),
        (
            IN_TURN + 'quantity = "evaluation"\n',
            "candidates.one.quantity: found 'evaluation', expected one of: iteration",
        ),
        (IN_TURN + "quantity = []\n", "candidates.one.quantity"),
        (IN_TURN + 'quantity = ["move update", "move update"]\n', "expected each phase once"),
        (IN_TURN + 'quantity = ["stage", "move update"]\n', "found 'stage' beside others, expected phases of the"),
        (IN_TURN + "steps = 3\n", "steps: found it with measure = 'run'"),
        (COMPONENT + 'parity = "flash"\n', "parity: found it with measure = 'component'"),
        (IN_TURN + 'parity = "flash,fast"\n', "candidates.one.parity: found 'flash,fast'"),
        (IN_TURN + "settings = { preset = 1 }\n", "candidates.one.settings.preset: unknown setting"),
    ],
)
def test_candidate_that_cannot_be_measured_is_refused(load: Callable[..., Any], more: str, words: str) -> None:
    """One sentence with file, key, found and expected, before anything runs."""
    with pytest.raises(TachographError) as error:
        load(more)
    assert words in str(error.value)
    assert "stub.toml" in str(error.value)


def test_shipped_candidates_name_what_they_are_judged_by() -> None:
    """Of runs in turn a study says which part a candidate changes: a whole iteration holds other work, too."""
    config = Path(__file__).parents[3] / "config"
    named = {}
    for path in sorted((config / "studies").glob("*.toml")):
        study, _ = load_study(config, path.stem)
        if isinstance(study, Study):
            named |= {(path.stem, name): one.quantity for name, one in study.candidates.items() if one.measure == "run"}
    assert len(named) >= 11
    assert {key for key, quantity in named.items() if quantity is None} == set()
    training = ["advantage training", "strategy training"]
    for key in (("lost-cities-cpu", "amp"), ("lost-cities-throughput", "amp-training")):
        assert named[key] == training


WITH_ARMS = COMMAND + 'parity = ["{python}", "p.py", "--arms", "{arms}", "--out", "{out}"]\n'


def test_parity_of_a_run_is_asked_in_its_environment(load: Callable[..., Any]) -> None:
    """The parity command is filled with the arm and the candidate's own name; it determines the measurement."""
    plain = candidate_of(load, IN_TURN)
    assert plain.parity_run() is None
    study, trainer = load(IN_TURN + 'parity = "flash"\n', trainer=WITH_ARMS)
    run = plan_study(study, trainer, "cpu", "0" * 64)[-1]
    parity = run.parity_run()
    assert parity is not None
    assert parity.command == ("{python}", "p.py", "--arms", "fast,flash", "--out", "{out}")
    assert parity.environment == {"STUB_PATH": "fast", "STUB_PAUSE": "0.1"}
    assert (parity.role, parity.in_turn, parity.trains) == ("parity", False, False)
    assert run.identity != plain.identity
    assert PlannedRun.from_dict(parse_json(canonical_json(run.as_dict()))) == run


def test_study_without_such_a_key_is_registered_as_ever(load: Callable[..., Any]) -> None:
    """A key that came later appears in no registration of a study that does not use it: nothing has to be amended."""
    study, trainer = load(IN_TURN)
    held = content(study, trainer, plan_study(study, trainer, "cpu", "0" * 64))
    assert "parity" not in held["study"]["candidates"]["one"]
    assert set(held["planned"][-1]["trial"]) == {"against", "pairs", "command", "environment", "requires"}


def test_parity_needs_a_command_that_can_be_asked_for_it(load: Callable[..., Any]) -> None:
    """A command that is told no arms, as the stub's, would compare something else: refused before anything runs."""
    with pytest.raises(TachographError, match=r"candidates.one.parity: trainer stub has no parity command with {arms}"):
        load(IN_TURN + 'parity = "flash"\n')


def test_candidate_that_changes_nothing_is_refused(load: Callable[..., Any]) -> None:
    """The same command in the same environment would be the arm against itself."""
    study, trainer = load(IN_TURN.replace('STUB_PAUSE = "0.1"', 'STUB_PATH = "fast"'))
    with pytest.raises(TachographError, match="expected a change"):
        plan_study(study, trainer, "cpu", "0" * 64)


def test_component_needs_a_trainer_that_can_measure_it(load: Callable[..., Any]) -> None:
    """Without a candidate command only runs in turn can be registered."""
    with pytest.raises(TachographError, match="trainer stub has no candidate command"):
        load(COMPONENT, trainer='clear_environment = ["STUB_PATH"]\n')
    load(IN_TURN, trainer='clear_environment = ["STUB_PATH"]\n')
