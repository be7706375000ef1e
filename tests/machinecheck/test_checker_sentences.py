"""What a person gets to read where a cell cannot be measured: one sentence, no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from machinecheck import devices
from machinecheck.errors import MachineCheckError

SOURCE = Path(__file__).parents[2] / "src"


def ended(tmp_path, *words, python=(sys.executable,)):
    """Exit code and what was said by a cell's own process."""
    command = [*python, "-m", "machinecheck", "cell", *words, f"--out={tmp_path / 'cell.json'}"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin"}, check=False
    )
    assert not (tmp_path / "cell.json").exists()
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "words", [("correctness", "matmul", "--size=9999999"), ("throughput", "matmul", "--size=900000")]
)
def test_more_memory_than_there_is(tmp_path, words):
    """A size beyond the address space is out of memory, said in one line by NumPy's and by torch's words."""
    code, said = ended(tmp_path, *words)
    assert code == 1
    assert said.startswith("machinecheck: error: out of memory: ")
    assert said.count("\n") == 1


def test_python_without_the_libraries(tmp_path):
    """A Python without torch or NumPy is named with the package that it lacks."""
    code, said = ended(tmp_path, "correctness", "matmul", python=(sys.executable, "-S"))
    assert code == 2
    assert said.startswith("machinecheck: error: the Python package ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("count", "expected"), [(0, "expected cpu, as torch sees no GPU here"), (2, "expected cpu or cuda:0 to cuda:1")]
)
def test_device_that_is_not_there(monkeypatch, count, expected):
    """The sentence says which devices there are, also where there are none."""
    monkeypatch.setattr(devices.torch.cuda, "device_count", lambda: count)
    with pytest.raises(MachineCheckError, match=expected):
        devices.open_device("cuda:7")
