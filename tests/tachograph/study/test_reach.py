"""What a plan can decide: refused before any run where a confirmatory study cannot reach its outcomes."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import pytest
from tachograph_study import lay_out

from tachograph.cli import main
from tachograph.errors import TachographError
from tachograph.models import Study
from tachograph.study.loading import load_study
from tachograph.study.reach import design_of, reach

REPOSITORY = Path(__file__).parents[3]


def confirmatory(text: str) -> str:
    """The stub study, marked confirmatory, with four blocks, which is what it takes."""
    return text.replace('"exploratory"', '"confirmatory"').replace("seeds = [0, 1]", "seeds = [0, 1, 2, 3]")


def without(table: str) -> Callable[[str], str]:
    """Leave out a table of the study file, up to the next one."""

    def edit(text: str) -> str:
        head, rest = confirmatory(text).split(table, 1)
        return head + "[" + rest.split("\n[", 1)[1] if "\n[" in rest else head

    return edit


def load(root: Path, edit: Callable[[str], str]) -> Study:
    lay_out(root, edit)
    return load_study(root / "config", "stub")[0]


def test_confirmatory_study_of_four_blocks_is_accepted(tmp_path: Path) -> None:
    """Four blocks reach every outcome; the design is read from the file as it stands there."""
    study = load(tmp_path, confirmatory)
    design = design_of(study, "fast")
    assert (design.blocks, design.minimum_effect, design.sd_log) == (4, 1.05, 0.05)
    assert design.margins == {"policy_loss": 2.0}  # no pilot: a margin is taken for two SD
    assert design.predicted_high == 4.5
    found = reach(study)["arms"][0]
    assert all(row["reachable"] for row in found["outcomes"])
    assert found["missing"] == []


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda t: confirmatory(t).replace("[0, 1, 2, 3]", "[0, 1]"), ["design.seeds", "p_min 0.333", "4 blocks"]),
        (lambda t: confirmatory(t).replace("margin = 0.02", "margin = 0.02\nsigma_seed = 1.0"), ["widen the margins"]),
        (lambda t: confirmatory(t).replace("effect = 1.05", "effect = 6.0"), ["GAIN", "the prediction ends at 4.50"]),
        (lambda t: confirmatory(t).replace("warmup = 1", "warmup = 4"), ["design.iterations", "4 are left", "half"]),
        (without("[decision]"), ["decision: the table is missing", "minimum_effect"]),
        (without("[[curves]]"), ["curves: found none", "at least one curve"]),
    ],
)
def test_confirmatory_study_that_cannot_decide_is_refused(
    tmp_path: Path, edit: Callable[[str], str], words: list[str]
) -> None:
    """One sentence names the file, what is out of reach, and the way out."""
    with pytest.raises(TachographError) as refused:
        load(tmp_path, edit)
    for word in ["studies/stub.toml", *words]:
        assert word in str(refused.value)


def test_exploratory_study_says_what_is_out_of_reach(tmp_path: Path) -> None:
    """Two seeds may be explored: only equal bytes can be adopted; the way to GAIN is a number."""
    found = reach(load(tmp_path, lambda text: text))
    rows = {row["verdict"]: row for row in found["arms"][0]["outcomes"]}
    assert [name for name, row in rows.items() if not row["reachable"]] == ["MATCHED", "NOT MATCHED"]
    assert rows["ADOPT"]["effect"] == "a GAIN and IDENTICAL"
    assert found["arms"][0]["whatever_the_seeds"].endswith("and then a GAIN is enough for ADOPT")
    # 1.05 exp(t(1) 0.05/√2), with t = 12.706 for 95 % and one degree of freedom
    assert rows["GAIN"]["effect"] == "a measured factor of 1.65 or more, at an SD of 0.05 between blocks"
    assert any("p_min 0.333 exceeds 0.05" in sentence for sentence in found["arms"][0]["missing"])
    assert "SD of policy_loss between seeds: 0.01 (no pilot: half of the margin)" in found["assumptions"]


def test_study_without_a_rule_reaches_no_decision(tmp_path: Path) -> None:
    """Without [decision] only HOLD is left, and the plan says why."""
    found = reach(load(tmp_path, lambda text: text.split("[decision]")[0]))["arms"][0]
    assert [row["verdict"] for row in found["outcomes"] if row["reachable"]] == ["IDENTICAL", "HOLD"]
    assert any("no decision rule is registered" in sentence for sentence in found["missing"])


@pytest.mark.parametrize("name", ["quickstart", "armies-throughput"])
def test_plan_of_a_shipped_study_names_the_reachable_verdicts(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tachograph plan` says what the two blocks of a shipped study can decide, and what is assumed."""
    monkeypatch.chdir(REPOSITORY)
    assert main(["plan", name]) == 0
    page = capsys.readouterr().out
    assert "| NOT MATCHED | no " in page
    assert "out of reach: NOT MATCHED: p_min 0.333 exceeds 0.05" in page
    assert "assumed: SD of the log factor between blocks" in page


ASSUMED = "assuming (no pilot) that the SD between seeds is half of the margin in policy_loss"


def test_what_rests_on_an_assumed_spread_says_so_in_its_line(tmp_path: Path) -> None:
    """Without a pilot MATCHED, NOT MATCHED and ADOPT are told with the assumption; with one they rest on it."""
    rows = {row["verdict"]: row["effect"] for row in reach(load(tmp_path, confirmatory))["arms"][0]["outcomes"]}
    for verdict in ("MATCHED", "NOT MATCHED", "ADOPT"):
        assert rows[verdict].endswith(ASSUMED)
    # one metric, two SD wide, four paired blocks: 0.48 for each of three windows
    assert "with a probability of 0.11" in rows["MATCHED"]

    def with_pilot(text: str) -> str:
        return confirmatory(text).replace("margin = 0.02", "margin = 0.02\nsigma_seed = 0.005")

    found = reach(load(tmp_path / "pilot", with_pilot))
    rows = {row["verdict"]: row["effect"] for row in found["arms"][0]["outcomes"]}
    for verdict in ("MATCHED", "NOT MATCHED", "ADOPT"):
        assert rows[verdict].endswith("at the registered SD between seeds")
    assert any(
        sentence.startswith("SD of policy_loss between seeds: 0.005 (registered") for sentence in found["assumptions"]
    )


def test_verdict_out_of_reach_says_on_whose_word(tmp_path: Path) -> None:
    """The sentence about MATCHED names the assumption too: nobody has measured that it is out of reach."""
    missing = reach(load(tmp_path, lambda text: text))["arms"][0]["missing"]
    assert [one.endswith(ASSUMED) for one in missing if one.startswith("MATCHED")] == [True]


@pytest.mark.parametrize("name", ["quickstart", "armies-cpu"])
def test_registered_spread_is_that_of_the_record_it_names(name: str) -> None:
    """sigma_seed is the SD between seeds that a kept record shows: pooled over arms, the largest window."""
    study = load_study(REPOSITORY / "config", name)[0]
    attempts = REPOSITORY / "tests/data/records/0.3.0/attempts"
    histories = {
        (arm, seed): (attempts / f"run-{arm}-seed{seed}/001/history.jsonl").read_text().splitlines()
        for arm in ("reference", "fast")
        for seed in (0, 1)
    }
    for metric in study.curves:
        assert "tests/data/records/0.3.0" in metric.reason
        assert not {0, 1} & set(study.design.seeds)  # else the pilot were not independent
        runs = {key: [json.loads(line)[metric.column] for line in lines] for key, lines in histories.items()}
        spreads = []
        for window in (slice(0, 4), slice(4, 7), slice(7, 10)):
            # of two numbers the variance is half of their squared difference
            halves = [
                (fmean(runs[arm, 0][window]) - fmean(runs[arm, 1][window])) ** 2 / 2 for arm in ("reference", "fast")
            ]
            spreads.append(math.sqrt(fmean(halves)))
        assert metric.sigma_seed == pytest.approx(max(spreads), rel=0.01)
        assert metric.delta == pytest.approx(3 * max(spreads), rel=0.01)
        assert len({tuple(values) for values in runs.values()}) > 1  # else a comparison could show nothing


def test_plan_of_six_blocks_reaches_every_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`armies-cpu`: margins of three SD are within six paired blocks (statistics.md, 3.7, tier "full")."""
    monkeypatch.chdir(REPOSITORY)
    assert main(["plan", "armies-cpu"]) == 0
    page = capsys.readouterr().out
    assert "out of reach" not in page
    assert "with a probability of 0.9" in page
    assert "no pilot" not in page


@pytest.mark.parametrize(("edit", "needed"), [(lambda text: text, False), (confirmatory, True)])
def test_statistics_are_imported_for_confirmatory_studies_only(
    tmp_path: Path, edit: Callable[[str], str], needed: bool
) -> None:
    """The Snakefile is read often: an exploratory study must not pay for numpy and scipy."""
    lay_out(tmp_path, edit)
    program = (
        "import sys\nfrom pathlib import Path\nfrom tachograph.models import Configuration\n"
        "from tachograph.study.opening import open_study\n"
        "open_study('stub', Configuration(studies=['stub'], device='cpu'), Path.cwd())\n"
        "print('numpy' in sys.modules, 'scipy' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(needed)] * 2
