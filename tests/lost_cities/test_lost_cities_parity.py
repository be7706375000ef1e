"""Numerics parity of the two ways of inference against float64, and that a wrong one would be seen."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tiny_lost_cities import GAME, QUICK, tiny_config

from lost_cities import parity as parity_module
from lost_cities.cli import READ_BY, main
from lost_cities.errors import LostCitiesError
from lost_cities.parity import STATES, parity
from tachograph.evidence.parity import judge_parity
from tachograph.evidence.verdicts import ParityVerdict

ARMS = {"reference": "single", "fast": "batched"}
ENOUGH = "traversal.traversals_per_player=600"


def test_both_ways_of_inference_agree_with_float64(tmp_path):
    """Trained networks answer 20 batches per player alike, one state or many per call, within float32's rounding."""
    out = tmp_path / "parity.json"
    overrides = [one for one in QUICK if one.startswith(READ_BY["parity"])]
    sets = [part for override in [*overrides, ENOUGH] for part in ("--set", override)]
    assert main(["parity", *sets, "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["rows"] == 2 * 20 * STATES
    assert all(0 < row["rmse_fp64"] < 1e-6 for row in found["tensors"])
    assert {row["arm"] for row in found["tensors"]} == set(ARMS)
    judged = judge_parity(found, "parity.json")
    assert set(judged.verdicts.values()) == {ParityVerdict.PASS}


def test_an_inference_that_answers_otherwise_fails(monkeypatch):
    """An arm whose answers are off by 1e-4 of a unit fails, and one with a number that is not finite too."""
    right = parity_module._answers

    def wrong(answerer, inference, inputs):
        answers = right(answerer, inference, inputs)
        if inference == "batched":
            answers = answers + np.float32(1e-4)
        return answers

    def broken(answerer, inference, inputs):
        answers = right(answerer, inference, inputs).copy()
        if inference == "batched":
            answers[5] = np.nan
        return answers

    for how, words in ((wrong, "is off by"), (broken, "20 rows of advantages of player 0 are not finite")):
        monkeypatch.setattr(parity_module, "_answers", how)
        judged = judge_parity(parity(tiny_config(ENOUGH), ARMS, 20, 1, 3), "parity.json")
        assert judged.verdicts["reference"] == ParityVerdict.PASS
        assert judged.verdicts["fast"] == ParityVerdict.FAIL
        assert words in judged.reasons["fast"]


def test_too_few_states_are_told():
    """Fewer states than the batches need: one sentence that names the keys to change."""
    with pytest.raises(LostCitiesError, match=r"expected at least 1280: more traversal\.traversals"):
        parity(tiny_config(), ARMS, 20, 1, 3)


@pytest.mark.parametrize("arms", ["fast", "a=single,a=batched", "a=both", "=single"])
def test_wrong_arms_are_refused(arms, tmp_path, capsys):
    """Arms that are not NAME=INFERENCE: exit code 2, one sentence, nothing written."""
    with pytest.raises(SystemExit) as caught:
        main(["parity", "--set", GAME[0], "--arms", arms, "--out", str(tmp_path / "parity.json")])
    assert caught.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("lost_cities: error: argument --arms: found")
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())
