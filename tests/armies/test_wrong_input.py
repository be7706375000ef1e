"""Bad input of every command: one sentence on stderr, exit code 2, nothing written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from armies.cli import main
from armies.errors import ArmiesError
from armies.presets import PRESETS

TRAIN = ("train", "--preset", "tiny", "--iterations", "1", "--out", "{new}")
EVALUATE = ("evaluate", "--games", "2", "--opponent", "random", "--checkpoint", "{good}")
PROFILE = ("profile", "--preset", "tiny", "--steps", "2", "--out", "{new}")
PARITY = ("parity", "--preset", "tiny", "--batches", "1", "--out", "{new}")
ENGINE = ("engine", "--preset", "tiny", "--out", "{new}")
CANDIDATE = ("candidate", "--preset", "tiny", "--steps", "4", "--pairs", "2", "--path", "fast", "--out", "{new}")
STRENGTH = ("strength", "--preset", "tiny", "--iterations", "1", "--games", "2", "--out", "{new}")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training of two iterations."""
    folder = tmp_path_factory.mktemp("training")
    assert main(["train", "--preset", "tiny", "--iterations", "2", "--out", str(folder)]) == 0
    return folder


def sentence(capsys: Capture, *arguments: str) -> str:
    """Run the command; assert exit code 2 and one line on stderr, and return that line."""
    capsys.readouterr()
    try:
        code = main(arguments)
    except SystemExit as end:  # an argument that cannot be read
        code = end.code
    lines = capsys.readouterr().err.splitlines()
    assert (code, len(lines)) == (2, 1), lines
    assert lines[0].startswith("armies: error: ")
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("play",), "argument COMMAND: invalid choice: 'play'"),
        (("train", "--preset", "tiny", "--out", "{new}"), "the following arguments are required: --iterations"),
        ((*TRAIN, "--iterations", "0"), "--iterations: found '0', expected a whole number from 1 to"),
        ((*TRAIN, "--iterations", "-1"), "--iterations: found '-1', expected"),
        ((*TRAIN, "--iterations", "1.5"), "--iterations: found '1.5', expected"),
        ((*TRAIN, "--iterations", "²"), "--iterations: found '²', expected"),
        ((*TRAIN, "--iterations", "9" * 5000), "--iterations: found '9{40}…', expected"),
        ((*TRAIN, "--seed", "-1"), "--seed: found '-1', expected a whole number from 0 to 9223372036854775807"),
        ((*TRAIN, "--seed", str(2**63)), "--seed: found '9223372036854775808', expected"),
        ((*TRAIN, "--seed", "nan"), "--seed: found 'nan', expected"),
        ((*TRAIN, "--preset", ""), "preset is '', expected one of tiny"),
        ((*TRAIN, "--device", ""), "device is '', expected cpu or cuda:N"),
        ((*TRAIN, "--device", "cpu:0"), "device is 'cpu:0', expected cpu or cuda:N"),
        ((*TRAIN, "--device", "cuda:-1"), "device is 'cuda:-1', expected cpu or cuda:N"),
        ((*TRAIN, "--device", "cuda:99"), "device is 'cuda:99', found [0-9]+ CUDA or ROCm devices"),
        ((*TRAIN, "--path", ""), "path is '', expected reference"),
        ((*TRAIN, "--path", "rows"), "path 'rows' has rows without legal"),
        ((*TRAIN, "--path", "fused+flash"), "path is 'fused.flash', expected reference"),
        ((*TRAIN, "--out", ""), "--out: found an empty name, expected a path"),
        ((*TRAIN, "--out", "{file}"), "history.jsonl cannot be written: .*/file is not a folder"),
        ((*TRAIN, "--out", "/proc/out"), "/proc/out/history.jsonl cannot be written"),
        ((*TRAIN, "--out", "{folder}/" + "a" * 300), "cannot be written: File name too long"),
        ((*TRAIN, "--resume"), "checkpoint.pt is not there"),
        ((*EVALUATE, "--games", "0"), "--games: found '0', expected"),
        ((*EVALUATE, "--seed", "-1"), "--seed: found '-1', expected"),
        ((*EVALUATE, "--opponent", ""), "opponent is '', expected one of random, heuristic"),
        ((*EVALUATE, "--checkpoint", "{folder}"), "cannot be read as a checkpoint"),
        ((*PROFILE, "--steps", "0"), "--steps: found '0', expected"),
        ((*PROFILE, "--out", "{folder}"), "cannot be written: it is a folder, expected a file"),
        ((*PROFILE, "--out", "{pipe}"), "cannot be written: it is a device, pipe or socket, expected a file"),
        ((*PROFILE, "--out", "{file}/p.json"), "p.json cannot be written: .*/file is not a folder"),
        ((*PROFILE, "--out", "/proc/p.json"), "/proc/p.json cannot be written"),
        ((*ENGINE, "--preset", "classic"), "preset is 'classic', expected one of"),
        ((*ENGINE, "--out", "/proc/e.json"), "/proc/e.json cannot be written"),
        ((*PARITY, "--paths", ""), "path is '', expected reference"),
        ((*PARITY, "--paths", "fast,"), "path is '', expected reference"),
        ((*PARITY, "--paths", "fast,fast"), "paths are fast, fast, expected each once"),
        ((*PARITY, "--batches", "x"), "--batches: found 'x', expected"),
        ((*CANDIDATE,), "the following arguments are required: --name"),
        ((*CANDIDATE, "--name", "faster", "--out", "{new}/deep/c.json"), "candidate is 'faster', expected one of"),
        ((*CANDIDATE, "--name", "gumbel"), "candidate gumbel is what path fast does already"),
        ((*CANDIDATE, "--name", "gumbel", "--path", "unforced"), "path unforced has no candidates"),
        ((*CANDIDATE, "--name", "games-2x", "--pairs", "1"), "--pairs: found '1', expected a whole number from 2"),
        ((*CANDIDATE, "--name", "games-2x", "--pairs", "5"), "steps are 4, expected at least one for each of 5 pairs"),
        ((*CANDIDATE, "--name", "games-2x", "--out", "/proc/c.json"), "/proc/c.json cannot be written"),
        ((*CANDIDATE, "--name", "games-2x", "--out", "{folder}/" + "a" * 300 + "/c.json"), "File name too long"),
        ((*PARITY, "--out", "{new}/p.json", "--paths", "quick"), "path is 'quick', expected reference"),
        ((*PARITY, "--out", "{new}/p.json", "--checkpoint", "{folder}"), "cannot be read as a checkpoint: Is a dir"),
        ((*PROFILE, "--out", "{new}/p.json", "--device", "cuda:99"), "device is 'cuda:99', found [0-9]+ CUDA"),
        ((*EVALUATE, "--checkpoint", "{file}"), "file cannot be read as a checkpoint: it is damaged, or not one of"),
        ((*STRENGTH, "--seeds", "1", "1"), "seeds are 1, 1, expected each once"),
        ((*STRENGTH, "--seeds"), "--seeds: expected at least one argument"),
        ((*STRENGTH, "--out", "{file}"), "strength.json cannot be written"),
    ],
)  # fmt: skip
def test_arguments(training: Path, tmp_path: Path, capsys: Capture, arguments: tuple[str, ...], expected: str) -> None:
    """An argument that cannot be used is named with what was found and expected, before anything is written."""
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    names = {name: str(tmp_path / name) for name in ("new", "file", "folder", "pipe")}
    names["good"] = str(training / "checkpoint.pt")
    assert re.search(expected, sentence(capsys, *(argument.format(**names) for argument in arguments)))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


def changed(part: str, **changes: Any) -> Callable[[dict[str, Any]], None]:
    """A change of entries of one part of a checkpoint; None takes an entry out."""

    def change(content: dict[str, Any]) -> None:
        inner = content[part] = {**content[part], **changes}
        for key in [key for key, value in inner.items() if value is None]:
            del inner[key]

    return change


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no network": (lambda content: content.pop("network"), "network: found nothing, expected dict"),
    "a list": (lambda content: content.update(setup_network=[1]), "setup_network: found list, expected dict"),
    "no preset": (lambda content: content.update(preset=None), "preset: found NoneType, expected dict"),
    "iteration in words": (lambda content: content.update(iteration="two"), "iteration: found str, expected int"),
    "another schema": (lambda content: content.update(schema="armies-checkpoint/0"), "expected schema armies-ch"),
    "no weights": (lambda content: content.update(network={}), "does not fit, expected a checkpoint of this version"),
    "a missing weight": (changed("network", value_token=None), "does not fit"),
    "another shape": (changed("network", value_token=torch.zeros(3)), "does not fit"),
    "not a number": (changed("network", value_token=torch.tensor(torch.nan)), "value_token: found what is not finite"),
}
OF_PRESET: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "unknown variant": (changed("preset", variant="chess"), "variant is 'chess', expected one of"),
    "unknown setting": (changed("preset", colour=1), "does not fit"),
    "games in words": (changed("preset", games="many"), "games is 'many', expected a whole number"),
}


def damaged(training: Path, tmp_path: Path, damage: Callable[[dict[str, Any]], Any]) -> Path:
    """A folder like that of a training, with a damaged checkpoint."""
    content = torch.load(training / "checkpoint.pt", weights_only=True)
    damage(content)
    torch.save(content, tmp_path / "checkpoint.pt")
    (tmp_path / "history.jsonl").write_bytes((training / "history.jsonl").read_bytes())
    return tmp_path


@pytest.mark.parametrize(("damage", "expected"), (DAMAGE | OF_PRESET).values(), ids=(DAMAGE | OF_PRESET).keys())
def test_damaged_checkpoint_is_not_evaluated(
    training: Path, tmp_path: Path, capsys: Capture, damage: Callable[[dict[str, Any]], Any], expected: str
) -> None:
    """A checkpoint with something missing or of another kind is a sentence that names the part."""
    folder = damaged(training, tmp_path, damage)
    found = sentence(capsys, *EVALUATE[:-1], str(folder / "checkpoint.pt"))
    assert expected in found


@pytest.mark.parametrize(("damage", "expected"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_checkpoint_is_neither_resumed_nor_compared(
    training: Path, tmp_path: Path, capsys: Capture, damage: Callable[[dict[str, Any]], Any], expected: str
) -> None:
    """The same for `train --resume`, which leaves the history as it was, and for `parity`."""
    folder = damaged(training, tmp_path, damage)
    resume = ("train", "--preset", "tiny", "--iterations", "3", "--resume", "--out", str(folder))
    assert expected in sentence(capsys, *resume)
    assert (folder / "history.jsonl").read_bytes() == (training / "history.jsonl").read_bytes()
    compare = (*PARITY[:-1], str(folder / "p.json"), "--checkpoint", str(folder / "checkpoint.pt"))
    assert expected in sentence(capsys, *compare)
    assert not (folder / "p.json").exists()


@pytest.mark.parametrize("part", ["games", "optimizer", "setups"])
def test_resuming_needs_every_part(training: Path, tmp_path: Path, capsys: Capture, part: str) -> None:
    """A checkpoint whose games or optimizer are empty is not resumed."""
    folder = damaged(training, tmp_path, lambda content: content.update({part: {}}))
    resume = ("train", "--preset", "tiny", "--iterations", "3", "--resume", "--out", str(folder))
    assert "does not fit" in sentence(capsys, *resume)


@pytest.mark.parametrize("size", [0, 5000])
def test_checkpoint_cut_short(training: Path, tmp_path: Path, capsys: Capture, size: int) -> None:
    """An empty file and one cut short are no checkpoints."""
    cut = tmp_path / "cut.pt"
    cut.write_bytes((training / "checkpoint.pt").read_bytes()[:size])
    assert "cut.pt cannot be read as a checkpoint" in sentence(capsys, *EVALUATE[:-1], str(cut))


def test_resuming_what_is_further(training: Path, capsys: Capture) -> None:
    """Asking for fewer iterations than there are is an error; for as many, nothing happens."""
    arguments = ["train", "--preset", "tiny", "--resume", "--out", str(training), "--iterations"]
    before = (training / "history.jsonl").read_bytes()
    assert "holds 2 iterations already, expected at most 1" in sentence(capsys, *arguments, "1")
    assert main([*arguments, "2"]) == 0
    assert (training / "history.jsonl").read_bytes() == before


def test_strength_looks_at_all_folders_first(tmp_path: Path, capsys: Capture) -> None:
    """A folder of the last seed that exists is said before the first training."""
    (tmp_path / "seed1").mkdir()
    arguments = (*STRENGTH[:-1], str(tmp_path), "--seeds", "0", "1")
    assert "seed1 exists already, expected a new folder" in sentence(capsys, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["seed1"]


def test_checkpoint_that_cannot_be_written(tmp_path: Path, capsys: Capture) -> None:
    """A folder in the way of the checkpoint ends the training with a sentence."""
    (tmp_path / "checkpoint.pt").mkdir()
    assert "checkpoint.pt cannot be written" in sentence(capsys, *TRAIN[:-1], str(tmp_path))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.1", True, -1])
def test_settings_are_finite_numbers(value: object) -> None:
    """A learning rate that is no finite number of at least 0 makes no preset."""
    learning = replace(PRESETS["tiny"].learning, learning_rate=value)  # type: ignore[arg-type]
    with pytest.raises(ArmiesError, match=r"preset tiny, learning: learning_rate is .*, expected"):
        replace(PRESETS["tiny"], learning=learning)
