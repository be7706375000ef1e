"""Whole trainings on the preset tiny: same seed same history, resuming, stopping at NaN."""

import json
import os
import subprocess
import sys
from pathlib import Path

import compiled
import pytest
import torch
from histories import TIMES, history_without_times

from armies.checkpoint import read_checkpoint
from armies.errors import ArmiesError, NonFiniteTrainingError
from armies.paths import path_named
from armies.presets import PRESETS
from armies.train import train

TINY = PRESETS["tiny"]
KEYS = {
    "iteration", "steps", *TIMES, "policy_loss", "value_loss", "entropy", "kept", "filter_threshold",
    "games_finished", "mean_plies", "endings_flag", "endings_no_moves", "endings_battleless",
    "endings_ply_cap", "setup_loss", "device", "attention", "path", "monotonic", "wall",
}  # fmt: skip


def run(folder: Path, path: str = "fast", seed: int = 3, iterations: int = 3, **options) -> list[dict]:
    """Train and return the history without times."""
    train(TINY, path_named(path), iterations, folder, seed, **options)
    return history_without_times(folder)


@pytest.mark.parametrize("path", ["reference", "fast"])
def test_same_seed_same_history(tmp_path, path):
    """Two trainings with the same seed and path write the same numbers; another seed writes others."""
    first = run(tmp_path / "a", path)
    assert run(tmp_path / "b", path) == first
    assert run(tmp_path / "c", path, seed=4) != first


def test_plain_loop_is_the_reference_bit_for_bit(tmp_path):
    """The loop of old and the reference path write the same history with seed 123, times and name apart."""
    plain = run(tmp_path / "plain", "plain", seed=123, iterations=6)
    reference = run(tmp_path / "reference", "reference", seed=123, iterations=6)
    for row in (*plain, *reference):
        del row["path"]
    assert plain == reference


def test_history_does_not_depend_on_engine_threads(tmp_path):
    """One and two threads of the engine give the same history, in processes of their own."""
    histories = []
    for threads in ("1", "2"):
        out = tmp_path / threads
        command = [sys.executable, "-m", "armies", "train", "--preset", "tiny", "--iterations", "3"]
        environment = {**os.environ, "NUMBA_NUM_THREADS": threads, "OMP_NUM_THREADS": "1"}
        subprocess.run([*command, "--out", out], env=environment, check=True, timeout=120)
        histories.append(history_without_times(out))
    assert histories[0] == histories[1]


def test_history_has_every_key_and_consistent_numbers(tmp_path):
    """Rows hold exactly the documented keys; steps, endings and times add up; the real backend is named."""
    train(TINY, path_named("reference"), 4, tmp_path, 0)
    rows = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4]
    for row in rows:
        assert set(row) == KEYS
        assert row["steps"] == TINY.games * TINY.steps
        assert row["games_finished"] == sum(row[key] for key in KEYS if key.startswith("endings_"))
        assert (row["mean_plies"] is None) == (row["games_finished"] == 0)
        assert row["kept"] <= row["steps"] / 4 + 1
        assert row["filter_threshold"] >= 0.01
        phases = sum(row[key] for key in TIMES[:3])
        assert phases == pytest.approx(row["iteration_seconds"], rel=1e-6)
        assert (row["attention"], row["device"], row["path"]) == ("math", "cpu", "reference")


@pytest.mark.parametrize("path", ["plain", "reference", "fast", pytest.param("fused", marks=compiled.fused)])
def test_resumed_training_is_the_uninterrupted_one(tmp_path, path):
    """Stopping after two of five iterations and resuming gives the same history and the same weights."""
    whole = run(tmp_path / "whole", path, iterations=5)
    run(tmp_path / "cut", path, iterations=2)
    assert run(tmp_path / "cut", path, iterations=5, resume=True) == whole
    checkpoints = [read_checkpoint(tmp_path / name / "checkpoint.pt") for name in ("whole", "cut")]
    for part in ("network", "setup_network", "games", "setups"):
        first, second = (checkpoint[part] for checkpoint in checkpoints)
        assert first.keys() == second.keys()
        assert all(torch.equal(first[name], second[name]) for name in first)


def test_resuming_after_a_kill_between_row_and_checkpoint(tmp_path):
    """A row beyond the checkpoint and a torn line are dropped, and computed again."""
    whole = run(tmp_path / "whole", iterations=4)
    run(tmp_path / "cut", iterations=2)
    history = tmp_path / "cut" / "history.jsonl"
    lines = (tmp_path / "whole" / "history.jsonl").read_text().splitlines(keepends=True)
    history.write_text("".join(lines[:3]) + lines[3][:40])
    assert run(tmp_path / "cut", iterations=4, resume=True) == whole


def test_resuming_refuses_what_does_not_fit(tmp_path):
    """Another preset, path or seed, no checkpoint, a damaged history: one sentence each."""
    run(tmp_path / "a", iterations=1)
    with pytest.raises(ArmiesError, match="was written with preset tiny, expected cpu"):
        train(PRESETS["cpu"], path_named("fast"), 2, tmp_path / "a", 3, resume=True)
    with pytest.raises(ArmiesError, match="with path fast, expected reference"):
        run(tmp_path / "a", "reference", resume=True)
    with pytest.raises(ArmiesError, match="with seed 3, expected 4"):
        run(tmp_path / "a", seed=4, resume=True)
    with pytest.raises(ArmiesError, match=r"checkpoint\.pt is not there"):
        run(tmp_path / "b", resume=True)
    (tmp_path / "a" / "history.jsonl").write_text('{"iteration": 7}\n')
    with pytest.raises(ArmiesError, match="line 1: found 7, expected iteration 1"):
        run(tmp_path / "a", resume=True)


def test_existing_history_is_not_touched(tmp_path):
    """Training into a folder that holds a history is refused and leaves it as it was."""
    run(tmp_path, iterations=1)
    before = (tmp_path / "history.jsonl").read_bytes()
    with pytest.raises(ArmiesError, match="exists already"):
        run(tmp_path, iterations=1)
    assert (tmp_path / "history.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("path", "tensor"),
    [
        ("reference", "policy log-probabilities"),
        ("fast", "policy log-probabilities"),
        pytest.param("fused", "policy log-probabilities", marks=compiled.fused),
    ],
)
def test_nan_weight_stops_collection(tmp_path, monkeypatch, path, tensor):
    """A NaN in the network stops the run in that iteration; the message names tensor and iteration."""
    import armies.train as module

    learn = module.update_moves

    def learn_then_break(network, *rest):
        report = learn(network, *rest)
        network.query.weight.data[0, 0] = torch.nan
        return report

    monkeypatch.setattr(module, "update_moves", learn_then_break)
    with pytest.raises(NonFiniteTrainingError, match=f"{tensor}.*in iteration 2"):
        run(tmp_path, path)
    assert [row["iteration"] for row in history_without_times(tmp_path)] == [1]


def test_nan_loss_stops_the_update(tmp_path, monkeypatch):
    """A target that is not finite makes the loss NaN: the run stops before it writes a row."""
    import armies.update as module

    true_targets = module.advantages_and_targets

    def broken_targets(*arguments):
        advantages, targets = true_targets(*arguments)
        targets[:] = float("nan")
        return advantages, targets

    monkeypatch.setattr(module, "advantages_and_targets", broken_targets)
    with pytest.raises(NonFiniteTrainingError, match=r"move loss.*in iteration 1"):
        run(tmp_path)
    assert (tmp_path / "history.jsonl").read_text() == ""


def test_unforced_attention_trains_with_the_kernel_that_torch_chooses(tmp_path):
    """On a CPU torch chooses flash for itself; the history says what really ran, and the work is that of any path."""
    train(TINY, path_named("unforced"), 1, tmp_path / "run", seed=0)
    row = json.loads((tmp_path / "run/history.jsonl").read_text())
    assert (row["path"], row["attention"], row["steps"]) == ("unforced", "flash", TINY.transitions)
