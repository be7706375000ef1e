"""What a person gets to read where a cell cannot be measured: one sentence, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from machinecheck import devices, registry
from machinecheck.__main__ import main
from machinecheck.errors import MachineCheckError
from tachograph.machine.cells import Cell
from tachograph.machine.outcome import judge_cell
from tachograph.models.bounds import Bounds

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


@pytest.mark.parametrize(
    "words",
    [
        ("correctness", "matmul", f"--size={10**30}"),
        ("correctness", "network", f"--batch={2**63 - 1}"),
        ("correctness", "steps", f"--seed={10**20}"),
        ("correctness", "batch-norm", "--batch=1", "--board=1"),
        ("repeatability", "sgemm", "--size=8", "--threads=100000"),
        ("throughput", "matmul", "--idle=nan"),
    ],
)
def test_numbers_that_no_cell_can_take(tmp_path, capsys, words):
    """A number beyond what counts or threads may be is refused in one line, before torch or NumPy stumble over it."""
    assert main(["cell", *words, f"--out={tmp_path / 'cell.json'}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("machinecheck: error: ")
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


NO_KERNEL = """CUDA error: no kernel image is available for execution on the device
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace may be incorrect.
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."""


def test_the_last_line_says_why(monkeypatch, tmp_path, capsys):
    """Of torch's error of three lines the study sees the last line of the log, by which a missing kernel is known."""

    def without_a_kernel(*_):
        raise RuntimeError(NO_KERNEL)

    monkeypatch.setattr(registry, "measure", without_a_kernel)
    assert main(["cell", "correctness", "matmul", f"--out={tmp_path / 'cell.json'}"]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("machinecheck: error: RuntimeError: CUDA error: no kernel image is available")
    ended = {"started": True, "status": "failed", "signal": None, "exit_code": 1, "reason": "exit code 1"}
    cell = Cell("x", "correctness", "matmul", {}, "device", "norm", None, {}, 60.0)
    file = {"ended": ended, "record": None, "unreadable": None, "said": said}
    assert judge_cell(cell, file, Bounds(), {}).outcome == "kernel failure"


def test_all_cells_are_listed(capsys):
    """A newcomer sees every cell with its settings and their defaults."""
    assert main(["cells"]) == 0
    said = capsys.readouterr().out
    for kind, operations in registry.CELLS.items():
        for operation in operations:
            assert f"{kind} {operation}: " in said
    assert "--size=1024 --form=A@B --library=torch" in said


def test_a_list_that_is_not_read_to_its_end(monkeypatch, capsys):
    """`cells | head`: a pipe that its reader has closed is no error."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        assert main(["cells"]) == 0
    assert capsys.readouterr().err == ""
