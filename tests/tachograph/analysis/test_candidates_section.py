"""The section of candidates: right figures from files and histories of known content."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tachograph.analysis.candidates import candidates
from tachograph.analysis.sealed import SealedRun, SealedStudy, read_sealed
from tachograph.files import sha256_file
from tachograph.models import Study, Trainer
from tachograph.record import candidates as page
from tachograph.study.layout import StudyFolder
from tachograph.study.planning import PlannedRun, plan_study
from tachograph.study.state import Attempt

T_ONE, T_TWO = 12.7062, 4.3027  # 97.5 % points of Student's t with 1 and 2 degrees of freedom, from a printed table
FORWARD = "move network forward"
COMMAND = ["{python}", "x.py", "{candidate}", "{pairs}", "{steps}", "{out}"]


@pytest.fixture
def sealed(executed: Path) -> SealedStudy:
    return read_sealed(StudyFolder(executed / "results/stub"))


def component(**more: Any) -> dict[str, Any]:
    return {"title": "a title", "why": "a reason", "measure": "component", "steps": 202, "pairs": 2, **more}


def in_turn(**more: Any) -> dict[str, Any]:
    changed = {"environment": {"STUB_PAUSE": "0.01"}, "iterations": 4, "pairs": 3, "against": "reference"}
    return {"title": "a title", "why": "a reason", "measure": "run", **changed, **more}


def with_candidates(sealed: SealedStudy, registered: dict[str, Any], place: Path) -> _Study:
    """The executed study as it would be with these candidates registered and nothing measured of them yet."""
    study = Study.model_validate({**sealed.study.model_dump(by_alias=True), "candidates": registered})
    trainer = Trainer.model_validate({**sealed.trainer.model_dump(by_alias=True), "candidate": COMMAND})
    planned = plan_study(study, trainer, "cpu", "0" * 64)
    state = replace(sealed.state, attempts=dict(sealed.state.attempts))
    return _Study(replace(sealed, study=study, trainer=trainer, planned=planned, state=state), place)


class _Study:
    """A study to which results of candidates are added."""

    def __init__(self, sealed: SealedStudy, place: Path) -> None:
        self.sealed, self.place = sealed, place
        self.host: dict[str, Any] = {"quantities": {"cpu_foreign": {"mean": 0.0}}, "gpu_processes": {"status": "clean"}}

    def _find(self, name: str) -> PlannedRun:
        return next(run for run in self.sealed.planned if run.role == "candidate" and run.arm == name)

    def add(self, name: str, content: dict[str, Any], histories: dict[str, str] | None = None) -> None:
        """One valid attempt that left ``content`` and ``histories`` (relative path -> text)."""
        planned = self._find(name)
        folder = self.place / name
        folder.mkdir()
        for file, text in {f"{name}.json": json.dumps(content), **(histories or {})}.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)
        files = {path.relative_to(folder).as_posix(): sha256_file(path) for path in folder.rglob("*") if path.is_file()}
        attempt = Attempt(planned.key, 1, planned.identity, "", {}, "finished", "valid", files=files)
        self.sealed.state.attempts[planned.key] = [attempt]
        self.sealed.runs[planned.key] = SealedRun(
            planned, attempt, {"result": f"{name}.json", "host": self.host}, folder / f"{name}.json", None
        )

    def rows(self, share: float | None = None) -> dict[str, dict[str, Any]]:
        rows = [] if share is None else [{"stage": FORWARD, "arms": {"fast": {"share": share}}}]
        return {one["name"]: one for one in candidates(self.sealed, {"rows": rows})}


def trial(
    seconds: list[tuple[float, float]], bad: int = 0, error: float = 1e-6, one_off: dict[str, float] | None = None
) -> dict[str, Any]:
    """A candidate file over 202 steps of 1024 games; ``seconds`` of base and candidate, pair by pair."""
    common = {"name": "policy logits", "dtype": "float32", "tolerance": 1e-3, "repeat_max_abs": 0.0}
    tensors = [
        {**common, "arm": arm, "rmse_fp64": e, "max_abs_fp64": e, "max_abs_reference": e, "nonfinite_rows": n}
        for arm, e, n in (("base", 1e-6, 0), ("candidate", error, bad))
    ]
    work = 202 * 1024 / len(seconds)
    return {
        "schema": "candidate/1",
        "available": True,
        "part": FORWARD,
        "unit": "positions",
        "pairs": [
            {"base": {"seconds": base, "work": work}, "candidate": {"seconds": own, "work": work}}
            for base, own in seconds
        ],
        "steps": 202,
        "nonfinite_steps": {"base": 0, "candidate": bad},
        "one_off": one_off,
        "parity": {"schema": "parity/1", "batches": 20, "rows": 20480, "tensors": tensors},
    }


def test_compiled_forward_of_the_first_study(sealed: SealedStudy, tmp_path: Path) -> None:
    """86.1 ms against 60.9 ms per step is 1.41x; 44/202 steps reject it; 36.6 s are paid after 36.6 / 0.0252 steps."""
    study = with_candidates(sealed, {"compile": component()}, tmp_path)
    base, own = 101 * 0.0861, 101 * 0.0609
    seconds = [(base * 1.01, own), (base / 1.01, own)]
    study.add("compile", trial(seconds, bad=44, one_off={"cold_seconds": 36.6, "warm_seconds": 2.0}))
    row = study.rows(share=0.888)["compile"]
    assert (row["verdict"], row["reason"]) == ("REJECTED", "invalid-output")
    assert "44/202 (21.78%) steps with NaN rows" in row["sentence"]
    measured = row["measured"]
    assert measured["factor"] == pytest.approx(86.1 / 60.9)
    half = T_ONE * math.sqrt(2) * math.log(1.01) / math.sqrt(2)
    assert measured["low"] == pytest.approx(86.1 / 60.9 * math.exp(-half), rel=1e-4)
    assert measured["high"] == pytest.approx(86.1 / 60.9 * math.exp(half), rel=1e-4)
    typical = 0.0861 * (1.01 + 1 / 1.01) / 2
    ahead = measured["once"]["ahead"]
    assert ahead["iterations"] == pytest.approx(36.6 / (typical - typical * 60.9 / 86.1))
    assert ahead["low"] == pytest.approx(36.6 / (typical - typical / measured["high"]))
    assert ahead["high"] == pytest.approx(36.6 / (typical - typical / measured["low"]))
    assert measured["whole"] == {
        "share": 0.888,
        "factor": pytest.approx(1 / (0.112 + 0.888 * 60.9 / 86.1)),
        "low": pytest.approx(1 / (0.112 + 0.888 / measured["low"])),
        "high": pytest.approx(1 / (0.112 + 0.888 / measured["high"])),
    }
    assert row["evidence"]["sha256"] == sha256_file(tmp_path / "compile/compile.json")


@pytest.mark.parametrize(
    ("content", "verdict", "reason"),
    [
        (trial([(2.0, 1.0), (2.02, 1.0)]), "KEPT", None),
        (trial([(1.0, 1.0), (1.02, 1.0)]), "REJECTED", "no-gain"),
        (trial([(2.0, 1.0), (6.0, 1.0)]), "REJECTED", "no-gain"),  # 3.5x, but the interval does not show it
        (trial([(2.0, 1.0), (2.02, 1.0)], bad=1), "REJECTED", "invalid-output"),
        (trial([(2.0, 1.0), (2.02, 1.0)], error=0.5), "REJECTED", "invalid-output"),
        (
            {**trial([(2.0, 1.0), (2.02, 1.0)]), "parity": None, "no_parity": "it draws"},
            "NO VERDICT",
            "numerics-not-shown",
        ),
        ({"schema": "candidate/1", "available": False, "reason": "no compiler"}, "NOT RUN", None),
        ({"schema": "candidate/1", "available": True}, "NO VERDICT", None),
        (
            {**trial([(2.0, 1.0), (2.02, 1.0)]), "nonfinite_steps": {"base": 1, "candidate": 0}},
            "REJECTED",
            "not-matched",
        ),
    ],
)
def test_each_file_has_its_verdict(
    sealed: SealedStudy, tmp_path: Path, content: dict[str, Any], verdict: str, reason: str | None
) -> None:
    """Every way to end, and an unreadable file never ends as kept."""
    study = with_candidates(sealed, {"one": component()}, tmp_path)
    study.add("one", content)
    row = study.rows()["one"]
    assert (row["verdict"], row["reason"]) == (verdict, reason), row["sentence"]


def test_steps_that_are_not_finite_are_told_of_both_sides(sealed: SealedStudy, tmp_path: Path) -> None:
    """Document 000 says "44/202" of the compiled path and "0/202" of the eager one: row and page hold both."""
    study = with_candidates(sealed, {"one": component()}, tmp_path)
    study.add("one", {**trial([(2.0, 1.0), (2.02, 1.0)], bad=44), "nonfinite_steps": {"base": 7, "candidate": 44}})
    row = study.rows()["one"]
    assert [row["measured"][f"{side}nonfinite_steps"] for side in ("", "base_")] == [44, 7]
    told = page.candidates({"candidates": [row]})
    assert "| 44/202 (21.78%) steps, base 7/202 |" in told
    assert "of the base 7/202" in told


def test_candidate_that_was_not_made_has_no_verdict(sealed: SealedStudy, tmp_path: Path) -> None:
    """Without a counted attempt there are no figures, and the row says so."""
    row = with_candidates(sealed, {"one": component()}, tmp_path).rows()["one"]
    assert (row["verdict"], row["status"], row["measured"], row["evidence"]) == ("NO VERDICT", "missing", None, None)


def test_of_rivals_the_fastest_is_kept(sealed: SealedStudy, tmp_path: Path) -> None:
    """A rival that could be kept supersedes a slower one; one with rows that are not finite supersedes nothing."""
    names = {"slow": component(rivals=["fine"]), "fine": component(), "broken": component(rivals=["slow", "fine"])}
    study = with_candidates(sealed, names, tmp_path)
    study.add("slow", trial([(2.0, 1.0), (2.02, 1.0)]))
    study.add("fine", trial([(3.0, 1.0), (3.03, 1.0)]))
    study.add("broken", trial([(9.0, 1.0), (9.09, 1.0)], bad=1))
    rows = study.rows()
    assert list(rows) == ["slow", "fine", "broken"]  # in registered order, which no sorting of keys may change
    assert {name: row["reason"] for name, row in rows.items()} == {
        "slow": "superseded", "fine": None, "broken": "invalid-output",
    }  # fmt: skip
    assert "superseded by fine" in rows["slow"]["sentence"]


def history(iterations: list[float], loss: float | str = 0.0, steps: int = 100) -> str:
    """Iterations of 100 steps that took so many seconds; the stage took half of each."""
    lines, now = [], 0.0
    for number, seconds in enumerate(iterations, start=1):
        now += seconds
        clocks = {"monotonic": now, "wall": 1.8e9 + now}
        metrics = {"policy_loss": loss if number == 2 else 0.0, "entropy": 3.0, "kept": 5, "games_finished": 3}
        endings = {f"endings_{kind}": 0 for kind in ("flag", "no_moves", "battleless", "ply_cap")}
        times = {"collection_seconds": seconds / 2, "move_update_seconds": seconds / 2, "iteration_seconds": seconds}
        lines.append(json.dumps({"iteration": number, "steps": steps, **times, **clocks, **metrics, **endings}))
    return "\n".join(lines) + "\n"


def turns(base: list[str], own: list[str | None]) -> tuple[dict[str, Any], dict[str, str]]:
    """A file of runs in turn with their histories; None is a run that gave up at a number that is not finite."""
    runs, files = [], {}
    for pair, both in enumerate(zip(base, own, strict=True)):
        for side, text in zip(("base", "candidate"), both, strict=True):
            turn = len(runs) + 1
            name = f"{turn:03d}-{side}/history.jsonl"
            ended = "not finite" if text is None else "finished"
            one = {"turn": turn, "side": side, "pair": pair, "seed": pair, "ended": ended, "wall_seconds": 10.0}
            runs.append({**one, "history": None if text is None else name})
            if text is not None:
                files[name] = text
    content = {"schema": "turns/1", "candidate": "one", "available": True, "reason": None, "runs": runs}
    return content, files


BASE = [history([5.0, 2.0, 2.0, 2.0])] * 3


def test_runs_in_turn_drop_the_first_iteration_and_tell_its_cost(sealed: SealedStudy, tmp_path: Path) -> None:
    """2 s against 1 s per iteration is 2x; 10 s - 4 x 1 s cost once, 10 s - 4 x 2 s for the arm: 4 s at 1 s each."""
    study = with_candidates(sealed, {"one": in_turn()}, tmp_path)
    own = [history([7.0, one, one, one]) for one in (1.0, 1.0, 1.01)]
    study.add("one", *turns(BASE, own))
    measured = study.rows()["one"]["measured"]
    assert measured["part"] == "iteration"
    logs = [math.log(2.0), math.log(2.0), math.log(2.0 / 1.01)]
    mean = sum(logs) / 3
    assert measured["factor"] == pytest.approx(math.exp(mean))
    spread = math.sqrt(sum((one - mean) ** 2 for one in logs) / 2)
    assert measured["low"] == pytest.approx(math.exp(mean - T_TWO * spread / math.sqrt(3)), rel=1e-5)
    ahead = measured["once"].pop("ahead")
    assert measured["once"] == {
        "first_seconds": pytest.approx(6.0), "later_seconds": pytest.approx(5.98), "base_seconds": pytest.approx(2.0),
        "unit": "iterations",
    }  # fmt: skip
    after = {name: 4.0 / (2.0 - 2.0 / measured[end]) for name, end in (("iterations", "factor"), ("low", "high"))}
    assert {name: ahead[name] for name in after} == pytest.approx(after)
    assert (measured["work"], measured["work_unit"]) == ({"base": 100.0, "candidate": 100.0}, "environment steps")
    assert measured["iteration"] is None
    assert (measured["steps"], measured["step_unit"], measured["nonfinite_steps"]) == (12, "iterations", 0)
    assert study.rows()["one"]["verdict"] == "KEPT"


def test_stage_may_be_what_is_compared(sealed: SealedStudy, tmp_path: Path) -> None:
    """The registered quantity is the one whose factor is told."""
    study = with_candidates(sealed, {"one": in_turn(quantity="stage")}, tmp_path)
    study.add("one", *turns(BASE, [history([7.0, 1.0, 1.0, 1.0]), history([7.0, 1.0, 1.0, 1.02]), BASE[0]]))
    measured = study.rows()["one"]["measured"]
    assert measured["part"] == "collection"
    assert [pair["base"] for pair in measured["pairs"]] == [100.0] * 3


def test_phase_is_compared_by_the_turns_that_took_time(sealed: SealedStudy, tmp_path: Path) -> None:
    """An update of 2.5 s against 0.5 s is 5x; of one that takes time but once per run nothing can be said."""
    study = with_candidates(sealed, {"one": in_turn(quantity="move update")}, tmp_path)
    study.add("one", *turns(BASE, [history([7.0, one, one, one]) for one in (0.4, 0.41, 0.4)]))
    measured = study.rows()["one"]["measured"]
    assert (measured["part"], measured["unit"]) == ("move update", "times/s")
    assert [pair["base"] for pair in measured["pairs"]] == [1.0] * 3  # half of 2 s
    assert measured["pairs"][0]["factor"] == pytest.approx(5.0)
    seldom = with_candidates(sealed, {"two": in_turn(quantity="move update")}, tmp_path)
    seldom.add("two", *turns([history([7.0, 0.0, 0.0, 0.0])] * 3, BASE))
    row = seldom.rows()["two"]
    assert (row["verdict"], row["reason"], row["measured"]["factor"]) == ("NO VERDICT", None, None)
    assert "fewer than 2 iterations" in row["sentence"]


def test_phases_are_compared_by_their_sum_beside_the_whole_iteration(sealed: SealedStudy, tmp_path: Path) -> None:
    """2 s against 1 s of both phases is 2x; with half of the work in an iteration the whole is no faster per step."""
    study = with_candidates(sealed, {"one": in_turn(quantity=["collection", "move update"])}, tmp_path)
    study.add("one", *turns(BASE, [history([7.0, one, one, one], steps=50) for one in (1.0, 1.01, 1.0)]))
    row = study.rows()["one"]
    measured = row["measured"]
    assert (measured["part"], measured["unit"]) == ("collection + move update", "times/s")
    assert [pair["factor"] for pair in measured["pairs"]] == pytest.approx([2.0, 2.0 / 1.01, 2.0])
    assert measured["work"] == {"base": 100.0, "candidate": 50.0}
    assert measured["iteration"]["factor"] == pytest.approx(1.01 ** (-1 / 3))
    assert measured["iteration"]["low"] < measured["iteration"]["factor"] < measured["iteration"]["high"]
    told = page.candidates({"candidates": [row]})
    assert "Judged by: collection + move update, in times/s." in told
    assert "An iteration did 50 environment steps, one of reference 100: the time of this quantity is compared" in told
    assert f"The whole iteration, in environment steps/s: {measured['iteration']['factor']:.2f}x [" in told


def test_slower_candidate_is_never_ahead(sealed: SealedStudy, tmp_path: Path) -> None:
    """1.1 s against 1 s an iteration, started faster: it is not ahead after any number of iterations, nor at once."""
    study = with_candidates(sealed, {"one": in_turn(), "two": in_turn()}, tmp_path)
    fast = [history([7.0, one, one, one]) for one in (1.0, 1.01, 1.0)]
    study.add("one", *turns(fast, [history([5.0, one, one, one]) for one in (1.1, 1.1, 1.12)]))
    study.add("two", *turns(fast, [history([5.0, one, one, one]) for one in (0.5, 1.5, 1.5)]))
    rows = study.rows()
    assert rows["one"]["measured"]["once"]["ahead"]["reason"] == "never: it is slower"
    assert rows["two"]["measured"]["factor"] < 1 < rows["two"]["measured"]["high"]
    assert rows["two"]["measured"]["once"]["ahead"]["reason"] == "not shown to be faster"
    cells = [line.rstrip(" |").rsplit("| ", 1)[1].strip() for line in page.candidates({"candidates": [*rows.values()]})
             .splitlines() if line.startswith(("| one", "| two"))]  # fmt: skip
    assert cells == ["never: it is slower", "not shown to be faster"]


def test_disturbed_measurement_says_so(sealed: SealedStudy, tmp_path: Path) -> None:
    """Other programs while a candidate was measured stand with its figures; a quiet host is not mentioned."""
    study = with_candidates(sealed, {"one": component(), "two": component()}, tmp_path)
    study.add("one", trial([(2.0, 1.0), (2.02, 1.0)]))
    study.host = {**study.host, "quantities": {"cpu_foreign": {"mean": 1.43}}}
    study.add("two", trial([(2.0, 1.0), (2.02, 1.0)]))
    told = page.candidates({"candidates": list(study.rows().values())}).splitlines()
    assert "Disturbed" not in next(line for line in told if line.startswith("- **one**"))
    words = "Disturbed while it was measured, base and candidate alike: other programs kept 1.43 processors busy."
    assert words in next(line for line in told if line.startswith("- **two**"))


def test_later_iterations_are_no_one_off_cost(sealed: SealedStudy, tmp_path: Path) -> None:
    """A run of 10 s whose later iterations last 2, 1 and 3 s, 2 s on average, took 10 - 6 - 2 s beyond them."""
    study = with_candidates(sealed, {"one": in_turn()}, tmp_path)
    study.add("one", *turns(BASE, [history([2.0, 2.0, 1.0, 3.0])] * 3))
    assert study.rows()["one"]["measured"]["once"]["first_seconds"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("own", "bad"),
    [
        ([history([7.0, 1.0, 1.0, 1.0], loss="NaN")] * 3, 3),
        ([None, history([7.0, 1.0, 1.0, 1.01]), history([7.0, 1.0, 1.0, 1.0])], 1),
    ],
)
def test_run_with_numbers_that_are_not_finite_rejects(
    sealed: SealedStudy, tmp_path: Path, own: list[str | None], bad: int
) -> None:
    """A row with NaN counts, and so does the iteration at which the trainer gave up; the other pairs give the speed."""
    study = with_candidates(sealed, {"one": in_turn()}, tmp_path)
    study.add("one", *turns(BASE, own))
    row = study.rows()["one"]
    assert (row["verdict"], row["reason"]) == ("REJECTED", "invalid-output")
    assert row["measured"]["nonfinite_steps"] == bad
    assert len(row["measured"]["pairs"]) == sum(text is not None for text in own)


def test_curves_that_differ_by_more_than_their_margin_reject(sealed: SealedStudy, tmp_path: Path) -> None:
    """A loss 100 margins away in every pair is a shown difference, once there are pairs enough to show it."""
    study = with_candidates(sealed, {"one": in_turn(pairs=6)}, tmp_path)
    base = [history([5.0, 2.0, 2.0, 2.0], loss=0.001 * seed) for seed in range(6)]
    own = [history([5.0, 1.0, 1.0, 1.0 + 0.001 * seed], loss=2.0 + 0.001 * seed) for seed in range(6)]
    study.add("one", *turns(base, own))
    row = study.rows()["one"]
    assert (row["verdict"], row["reason"]) == ("REJECTED", "not-matched")
    assert row["measured"]["curves"] == "NOT MATCHED"


def with_scores(sealed: SealedStudy) -> SealedStudy:
    """The same study with a curve of evaluation scores, which not every iteration has."""
    score = {"column": "score", "label": "score", "margin": 1.0, "reason": "a guess"}
    study = Study.model_validate({**sealed.study.model_dump(by_alias=True), "curves": [*sealed.study.curves, score]})
    described = sealed.trainer.history.model_copy(update={"sparse_metrics": ["score"]})
    return replace(sealed, study=study, trainer=sealed.trainer.model_copy(update={"history": described}))


def scored(text: str, score: float) -> str:
    """The same history with an evaluation in its third iteration."""
    rows = [json.loads(line) for line in text.splitlines()]
    rows[2]["score"] = score
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_runs_too_short_for_an_evaluation_are_judged_by_the_other_curves(sealed: SealedStudy, tmp_path: Path) -> None:
    """No run has a score: the loss alone gives the verdict, which says so; where there are scores they can reject."""
    short = with_candidates(with_scores(sealed), {"short": in_turn(pairs=6), "scored": in_turn(pairs=6)}, tmp_path)
    base = [history([5.0, 2.0, 2.0, 2.0], loss=0.001 * seed) for seed in range(6)]
    own = [history([5.0, 1.0, 1.0, 1.0 + 0.001 * seed], loss=0.0011 * seed) for seed in range(6)]
    short.add("short", *turns(base, own))
    worse = [scored(text, 50.0 + seed) for seed, text in enumerate(own)]
    short.add("scored", *turns([scored(text, 1.0 + seed) for seed, text in enumerate(base)], worse))
    rows = short.rows()
    assert rows["short"]["measured"]["curves"] == "MATCHED"
    assert "without score, which these runs were too short for" in rows["short"]["measured"]["curves_sentence"]
    assert (rows["scored"]["verdict"], rows["scored"]["reason"]) == ("REJECTED", "not-matched")
    assert "score (mid) differs" in rows["scored"]["measured"]["curves_sentence"]


def test_altered_history_gives_no_verdict(sealed: SealedStudy, tmp_path: Path) -> None:
    """A file that is not as it was sealed gives no number."""
    study = with_candidates(sealed, {"one": in_turn()}, tmp_path)
    study.add("one", *turns(BASE, BASE))
    (tmp_path / "one/002-candidate/history.jsonl").write_text(history([5.0, 0.1, 0.1, 0.1]))
    row = study.rows()["one"]
    assert row["verdict"] == "NO VERDICT"
    assert "altered" in row["sentence"]
