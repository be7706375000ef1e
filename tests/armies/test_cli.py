"""The command line: bad input is one sentence and exit code 2, a NaN is exit code 3."""

import dataclasses
import json

import pytest
import torch

from armies import presets
from armies.cli import main
from armies.errors import ArmiesError
from armies.paths import VARIABLE
from armies.presets import PRESETS, NetworkConfig, Preset, preset_from_dict


def failure(capsys, *arguments, code=2):
    """Run the command, check its exit code, and return its one line on stderr."""
    assert main([str(argument) for argument in arguments]) == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


def train_arguments(out, preset="tiny"):
    return ("train", "--preset", preset, "--iterations", 1, "--out", out)


def test_unknown_preset(capsys, tmp_path):
    """The sentence lists the presets."""
    assert failure(capsys, *train_arguments(tmp_path, "huge")) == (
        "armies: error: preset is 'huge', expected one of tiny, cpu, cpu-classic, small"
    )


def test_unknown_path(capsys, tmp_path, monkeypatch):
    """A wrong path is refused as an option and in the environment, before anything is written."""
    assert "path is 'slow'" in failure(capsys, *train_arguments(tmp_path / "o"), "--path", "slow")
    monkeypatch.setenv(VARIABLE, "slow")
    assert VARIABLE in failure(capsys, *train_arguments(tmp_path / "o"))
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("device", "sentence"),
    [("gpu", "device is 'gpu', expected cpu or cuda:N"), ("cuda:99", "device is 'cuda:99', found")],
)
def test_device_that_is_not_there(capsys, tmp_path, device, sentence):
    """A device of an unknown kind or number is refused before anything is written."""
    assert sentence in failure(capsys, *train_arguments(tmp_path / "o"), "--device", device)
    assert not (tmp_path / "o").exists()


def test_checkpoint_that_is_not_one(capsys, tmp_path):
    """A missing file, and a file of something else, are named."""
    arguments = ("evaluate", "--opponent", "random", "--checkpoint")
    assert "is not there, expected a checkpoint" in failure(capsys, *arguments, tmp_path / "none.pt")
    (tmp_path / "text.pt").write_text("text")
    assert "text.pt cannot be read as a checkpoint" in failure(capsys, *arguments, tmp_path / "text.pt")


def test_checkpoint_of_another_preset(capsys, tmp_path):
    """Resuming tiny's training as cpu names both presets."""
    assert main([str(a) for a in train_arguments(tmp_path)]) == 0
    assert "written with preset tiny, expected cpu" in failure(capsys, *train_arguments(tmp_path, "cpu"), "--resume")
    assert "was written with preset tiny, expected cpu" in failure(
        capsys, "parity", "--preset", "cpu", "--checkpoint", tmp_path / "checkpoint.pt",
        "--out", tmp_path / "p.json",
    )  # fmt: skip


def test_unknown_opponent(capsys, tmp_path):
    """The sentence lists the opponents."""
    assert "opponent is 'bob', expected one of random, heuristic" in failure(
        capsys, "evaluate", "--checkpoint", tmp_path / "x", "--opponent", "bob"
    )


def test_plain_path_has_no_profile(capsys, tmp_path):
    """The straight loop has no brackets, and says so."""
    assert "plain has no stages" in failure(
        capsys, "profile", "--preset", "tiny", "--path", "plain", "--out", tmp_path / "p.json"
    )


def test_nan_is_exit_code_3(capsys, tmp_path, monkeypatch):
    """Weights that explode end the run with exit code 3 and a sentence with tensor and iteration."""
    learning = dataclasses.replace(PRESETS["tiny"].learning, learning_rate=1e30)
    preset = dataclasses.replace(PRESETS["tiny"], learning=learning)
    monkeypatch.setitem(presets.PRESETS, "tiny", preset)
    arguments = ("train", "--preset", "tiny", "--iterations", 3, "--out", tmp_path)
    line = failure(capsys, *arguments, code=3)
    assert "not finite" in line
    assert "in iteration 1" in line


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("HIP"),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_device_without_memory_enough(capsys, tmp_path, monkeypatch, error):
    """Running out of memory, on either kind of device, is one sentence with device and preset."""

    def run_out(*_):
        raise error

    monkeypatch.setattr("armies.train.run_iteration", run_out)
    assert failure(capsys, *train_arguments(tmp_path)) == (
        "armies: error: device cpu has not enough memory for preset tiny"
    )


def test_other_errors_are_not_taken_for_lack_of_memory(tmp_path, monkeypatch):
    """A fault of the program stays a traceback."""

    def fail(*_):
        raise RuntimeError("a fault")

    monkeypatch.setattr("armies.train.run_iteration", fail)
    with pytest.raises(RuntimeError, match="a fault"):
        main([str(argument) for argument in train_arguments(tmp_path)])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"network": NetworkConfig(18, 4, 1, 2)}, "width 18 is not divisible by 4 heads"),
        ({"network": NetworkConfig(16, 4, 0, 2)}, "layers is 0, expected at least 1"),
        ({"variant": "chess"}, "variant is 'chess', expected one of"),
        ({"games": 0}, "games is 0, expected at least 1"),
    ],
)
def test_impossible_presets(change, sentence):
    """A preset that cannot be trained cannot be made; the sentence names preset, field, found and rule."""
    with pytest.raises(ArmiesError, match=f"preset tiny.*{sentence}"):
        dataclasses.replace(PRESETS["tiny"], **change)


def test_presets_survive_a_checkpoint():
    """A preset as a dictionary, as checkpoints hold it, becomes the same preset again."""
    for preset in PRESETS.values():
        again = preset_from_dict(json.loads(json.dumps(dataclasses.asdict(preset))))
        assert isinstance(again, Preset)
        assert again == preset


def test_document_000_is_the_preset_small():
    """1,024 games of classic, 202 steps: 206,848 transitions per iteration."""
    assert (PRESETS["small"].variant, PRESETS["small"].transitions) == ("classic", 206_848)
    assert PRESETS["small"].learning.keep_floor == 0.01
