"""Whole trainings of the tiny game: resume, seeds, options, metrics."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from tiny_lost_cities import QUICK, tiny_config

from lost_cities.checkpoint import read_checkpoint
from lost_cities.cli import main
from lost_cities.config import load_config
from lost_cities.errors import LostCitiesError
from lost_cities.train import train

TIMES = ("_seconds", "_per_second", "monotonic", "wall")


def rows_of(out: Path) -> list[dict]:
    """The metrics without what differs between two runs of the same training: times."""
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if not key.endswith(TIMES)} for row in rows]


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    """A training of four iterations without a break."""
    out = tmp_path_factory.mktemp("straight") / "out"
    train(tiny_config(), out, seed=5)
    return out


def same_weights(first: Path, second: Path) -> bool:
    networks = [read_checkpoint(out / "checkpoint.pt")["networks"] for out in (first, second)]
    return all(torch.equal(one[key], two[key]) for one, two in zip(*networks, strict=True) for key in one)


def test_the_same_seed_gives_the_same_training(straight, tmp_path):
    """Two trainings with one seed have equal metrics and weights; another seed has others."""
    train(tiny_config(), tmp_path / "same", seed=5)
    train(tiny_config(), tmp_path / "other", seed=6)
    assert rows_of(tmp_path / "same") == rows_of(straight)
    assert same_weights(tmp_path / "same", straight)
    assert not same_weights(tmp_path / "other", straight)


def test_resumed_training_equals_an_uninterrupted_one(straight, tmp_path):
    """Stopped after two iterations and resumed: the metrics and weights of the training without a break."""
    out = tmp_path / "out"
    assert main(["train", *sets(QUICK), "--set", "run.iterations=2", "--seed", "5", "--out", str(out)]) == 0
    assert main(["train", *sets(QUICK), "--seed", "5", "--out", str(out), "--resume"]) == 0
    assert rows_of(out) == rows_of(straight)
    assert same_weights(out, straight)


@pytest.mark.parametrize("damage", ["row behind the checkpoint", "torn row", "row of the checkpoint missing"])
def test_resume_after_a_kill(straight, tmp_path, damage):
    """Rows behind the checkpoint are computed again, torn ones too; the checkpoint's own row is restored."""
    out = tmp_path / "out"
    train(tiny_config("run.iterations=3"), out, seed=5)
    train_two = tmp_path / "two"
    train(tiny_config("run.iterations=2"), train_two, seed=5)
    shutil.copy(train_two / "checkpoint.pt", out / "checkpoint.pt")
    lines = (out / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    if damage == "torn row":
        lines[2] = lines[2][:40]
    elif damage == "row of the checkpoint missing":
        lines = lines[:1]
    (out / "metrics.jsonl").write_bytes(b"".join(lines))
    train(tiny_config(), out, seed=5, resume=True)
    assert rows_of(out) == rows_of(straight)
    assert same_weights(out, straight)


@pytest.mark.parametrize(
    ("overrides", "seed", "words"),
    [
        (["network.hidden=17"], 5, "was written with network.hidden 16, expected 17"),
        (["traversal.epsilon=0.3"], 5, "was written with traversal.epsilon 0.05, expected 0.3"),
        ([], 7, "was written with seed 5, expected 7"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(straight, tmp_path, overrides, seed, words):
    """A checkpoint of another configuration or seed is named with the first difference; nothing changes."""
    out = tmp_path / "out"
    shutil.copytree(straight, out)
    before = (out / "metrics.jsonl").read_bytes()
    with pytest.raises(LostCitiesError, match=words):
        train(tiny_config(*overrides), out, seed=seed, resume=True)
    assert (out / "metrics.jsonl").read_bytes() == before


def test_damaged_files_are_refused(straight, tmp_path):
    """No checkpoint, half a checkpoint, a damaged middle row and metrics that exist already: one sentence each."""
    out = tmp_path / "out"
    with pytest.raises(LostCitiesError, match=r"checkpoint.pt is not there"):
        train(tiny_config(), out, seed=5, resume=True)
    shutil.copytree(straight, out)
    with pytest.raises(LostCitiesError, match="exists already, expected a new folder or --resume"):
        train(tiny_config(), out, seed=5)
    lines = (out / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (out / "metrics.jsonl").write_bytes(lines[0] + b"{}\n" + b"".join(lines[2:]))
    with pytest.raises(LostCitiesError, match="line 2: found iteration None, expected 2"):
        train(tiny_config(), out, seed=5, resume=True)
    whole = (out / "checkpoint.pt").read_bytes()
    (out / "checkpoint.pt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LostCitiesError, match="cannot be read as a checkpoint"):
        train(tiny_config(), out, seed=5, resume=True)


def test_metrics_have_the_documented_timers_and_close(straight):
    """Each row holds the timers of the document; phases sum up to the iteration, parts stay below their phase."""
    for line in (straight / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        phases = ["traversal", "advantage_train", "strategy_train", "evaluation", "checkpoint"]
        assert sum(row[f"{phase}_seconds"] for phase in phases) == pytest.approx(row["iteration_seconds"], rel=0.25)
        assert 0 < row["memory_add_seconds"] < row["traversal_seconds"]
        assert 0 < row["traversal_network_seconds"] < row["traversal_seconds"] - row["memory_add_seconds"]
        assert row["advantage_batch_tensor_seconds"] < row["advantage_train_seconds"]
        assert row["strategy_batch_tensor_seconds"] < row["strategy_train_seconds"]
        assert row["traversal/traversals"] == 40
        assert row["traversal/endings_deck"] + row["traversal/endings_cap"] == 40
        assert row["traversal/side_by_side"] == 40
        assert 2 < row["traversal/mean_batch"] <= row["traversal/nodes"] / row["traversal/longest_chain"]
        evaluated = {key.split("/")[1] for key in row if key.startswith("eval/") and key.count("/") == 2}
        assert evaluated == ({"random", "noisy_safe"} if row["iteration"] % 2 == 0 else set())


def test_single_inference_has_batches_of_one(tmp_path):
    """traversal.inference=single asks the network for one state at a time and says so in the metrics."""
    train(tiny_config("run.iterations=1", "traversal.inference=single"), tmp_path / "out", seed=5)
    row = rows_of(tmp_path / "out")[0]
    assert (row["traversal/mean_batch"], row["inference"], row["traversal/side_by_side"]) == (1.0, "single", 1)


def test_external_sampling_of_the_standard_game(tmp_path):
    """With a small share of tried-out decisions external sampling ends in the standard game too, and learns."""
    settings = ["traversal.sampling=external", "traversal.explored_share=0.02", "traversal.traversals_per_player=4"]
    small = [setting for setting in QUICK if not setting.startswith("game.")]
    train(load_config(None, [*small, *settings, "run.iterations=1"]), tmp_path / "out", seed=5)
    row = rows_of(tmp_path / "out")[0]
    assert row["traversal/endings_deck"] + row["traversal/endings_cap"] > 8
    assert 0 < row["memory/advantage_0"] + row["memory/advantage_1"] <= 8


def test_amp_computes_in_bfloat16(tmp_path, straight):
    """run.use_amp changes the trained weights by bfloat16 rounding: other numbers, of nearly the same loss."""
    train(tiny_config("run.use_amp=true"), tmp_path / "out", seed=5)
    assert not same_weights(tmp_path / "out", straight)
    with_amp, without = (rows_of(out)[-1]["strategy_loss"] for out in (tmp_path / "out", straight))
    assert with_amp != without
    assert with_amp == pytest.approx(without, rel=0.02)


def test_compile_and_deterministic_reach_torch(tmp_path, monkeypatch):
    """run.compile compiles the three trained networks, evaluation.compile a fourth; run.deterministic is set."""
    compiled = []
    monkeypatch.setattr(torch, "compile", lambda network, **_: compiled.append(network) or network)
    settings = ["run.iterations=1", "run.compile=true", "evaluation.compile=true", "run.deterministic=true"]
    try:
        train(tiny_config(*settings), tmp_path / "out", seed=5)
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)
    assert len(compiled) == 4


@pytest.mark.parametrize("key", ["run.device", "traversal.device", "evaluation.device"])
def test_an_unknown_device_is_refused(key, tmp_path):
    """A device that is not there is refused before anything is written, whichever part was to use it."""
    with pytest.raises(LostCitiesError, match=f"{key}: found 'cuda:99', expected cpu(,| or cuda:0 to)"):
        train(tiny_config(f"{key}=cuda:99"), tmp_path / "out", seed=5)
    assert not (tmp_path / "out").exists()


def sets(overrides: list[str]) -> list[str]:
    return [part for override in overrides for part in ("--set", override)]
