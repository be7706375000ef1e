"""A crash, a hang or a kernel that cannot be built costs one cell, and never passes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from machinecheck import faults, outcome, plan, runner
from machinecheck.__main__ import main
from machinecheck.errors import MachineCheckError
from machinecheck.plan import Cell, Plan
from machinecheck.verdict import EXIT_CODES, Verdict, overall, worst

RECORD = {"verdict": "PASS", "reasons": [], "fault": None}


def cell(name: str, seconds: float = 20.0) -> Cell:
    """A cell whose command a test supplies."""
    return Cell(name, "kind", "operation", {}, plan.DEFAULT_ARM, {}, seconds)


def scripts(**texts: str):
    """Commands of the shell by cell name; ``$OUT`` is where a record belongs."""
    return lambda given, out: ["/bin/sh", "-c", f"OUT={out}; {texts[given.name]}"]


WRITE = f"echo '{json.dumps(RECORD)}' > $OUT"


def test_one_cell_each(tmp_path):
    """D28: SIGSEGV, a hang and a kernel that cannot be built each cost one cell; the good one still runs."""
    cells = [cell("crash"), cell("hang", 0.5), cell("kernel"), cell("good")]
    commands = scripts(
        crash="kill -SEGV $$",
        hang="sleep 60",
        kernel="echo 'RuntimeError: miopenStatusUnknownError' >&2; exit 1",
        good=WRITE,
    )
    found, rows = runner.run_plan(Plan(cells, None), tmp_path, lambda _: None, commands)
    by_name = {row["cell"]: row for row in rows}
    assert by_name["crash"]["reasons"] == ["crashed(SIGSEGV)"]
    assert by_name["crash"]["signal"] == "SIGSEGV"
    assert by_name["hang"]["outcome"] == "timed out"
    assert by_name["kernel"]["verdict"] == "WARN"
    assert by_name["kernel"]["reasons"] == ["RuntimeError: miopenStatusUnknownError"]
    assert by_name["good"]["verdict"] == "PASS"
    assert found["verdict"] == Verdict.INCOMPLETE
    assert EXIT_CODES[found["verdict"]] != 0
    assert json.loads((tmp_path / "summary.json").read_text())["verdict"] == "INCOMPLETE"


def ended(pid: int) -> bool:
    """Whether a killed process is gone, within the moments that a busy host needs for it."""
    for _ in range(500):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            return True
        time.sleep(0.01)
    return False


def test_hung_cell_leaves_nothing_behind(tmp_path):
    """What a cell started ends with it, at its time limit as at its normal end."""
    pid = tmp_path / "pid"
    commands = scripts(hang=f"sleep 61 & echo $! > {pid}; wait", leaves=f"sleep 62 & echo $! > {pid}; {WRITE}")
    for name in ("hang", "leaves"):
        runner.run_cell(cell(name), tmp_path, 1.0, commands)
        assert ended(int(pid.read_text()))


def test_terminated_runner_ends_its_cell(tmp_path):
    """SIGTERM to the program that runs a cell ends the cell too, and leaves no outcome of it."""
    source = tmp_path / "plan.toml"
    source.write_text('[[cells]]\nkind = "correctness"\noperation = "integers"\nsettings = { size = "32" }\n')
    name = "correctness-integers-size_32"
    program = [sys.executable, "-m", "machinecheck", "one", name, f"--plan={source}", f"--out={tmp_path}"]
    environment = dict(os.environ) | {faults.VARIABLE: faults.HANG}
    with subprocess.Popen(program, env=environment, stdout=subprocess.DEVNULL) as process:
        children: list[psutil.Process] = []
        while not children and process.poll() is None:
            children = psutil.Process(process.pid).children()
            time.sleep(0.02)
        process.terminate()
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert all(ended(child.pid) for child in children)
    assert not (tmp_path / "cells").exists()


def test_a_record_does_not_save_a_crash(tmp_path):
    """A process that dies after it wrote PASS has crashed; PASS without exit is no pass."""
    row = runner.run_cell(cell("c"), tmp_path, 20, scripts(c=f"{WRITE}; kill -ABRT $$"))
    assert (row["outcome"], row["signal"], row["verdict"]) == ("crashed", "SIGABRT", "INCOMPLETE")


@pytest.mark.parametrize(
    ("log", "code", "expected"),
    [
        ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate", 1, ("out of memory", "INCOMPLETE")),
        ("RuntimeError: CUDA error: no kernel image is available", 1, ("kernel failure", "WARN")),
        ("machinecheck: error: device: found 'cuda:0'", 2, ("refused", "INCOMPLETE")),
        ("ValueError: x", 1, ("failed", "INCOMPLETE")),
        ("", 0, ("failed", "INCOMPLETE")),
        ("Killed", -9, ("crashed", "INCOMPLETE")),
    ],
)
def test_classification(log, code, expected):
    """Without a record nothing passes, whatever the exit code; memory and kernels are told apart."""
    found = outcome.classify(code, None, log, 1.0)
    assert (found.outcome, found.verdict) == expected


def test_sweep_resumes(tmp_path):
    """A second call runs only what has no outcome yet; a changed setting makes another cell of it."""
    first = Plan([cell("a")], None)
    count = tmp_path / "count"
    commands = scripts(a=f"echo x >> {count}; {WRITE}", b=f"echo x >> {count}; {WRITE}")
    runner.run_plan(first, tmp_path, lambda _: None, commands)
    runner.run_plan(Plan([cell("a"), cell("b")], None), tmp_path, lambda _: None, commands)
    assert count.read_text().count("x") == 2
    changed = Cell("a", "kind", "operation", {"size": 2}, plan.DEFAULT_ARM, {}, 20.0)
    runner.run_plan(Plan([changed], None), tmp_path, lambda _: None, commands)
    assert count.read_text().count("x") == 3


def test_time_for_all_gives_partial_results(tmp_path):
    """When the time for all is over the rest is "not run", the verdict INCOMPLETE, and it can go on later."""
    commands = scripts(good=WRITE, slow="sleep 60", last=WRITE)
    cells = [cell("good"), cell("slow"), cell("last")]
    found, rows = runner.run_plan(Plan(cells, 1.0), tmp_path, lambda _: None, commands)
    assert [row["cell"] for row in rows] == ["good"]
    assert found["not_run"] == ["slow", "last"]
    assert found["verdict"] == Verdict.INCOMPLETE
    assert not (tmp_path / "cells" / "slow.json").exists()


def test_lattice():
    """FAIL > INCOMPLETE > WARN > PASS; nothing, or something that did not run, is INCOMPLETE."""
    V = Verdict
    assert worst([V.PASS, V.WARN, V.INCOMPLETE, V.FAIL]) is V.FAIL
    assert worst([V.PASS, V.WARN, V.INCOMPLETE]) is V.INCOMPLETE
    assert worst([V.PASS, V.WARN]) is V.WARN
    assert worst([]) is V.INCOMPLETE
    assert overall(["a", "b"], {"a": V.PASS}) is V.INCOMPLETE
    assert overall(["a"], {"a": V.PASS}) is V.PASS


def test_plan_expands_lists_and_arms():
    """Lists of settings are combined; each arm has its environment and its name in the cell's."""
    found = plan.expand(
        {
            "arms": {"as installed": {}, "one thread": {"environment": {"OPENBLAS_NUM_THREADS": 1}}},
            "cells": [
                {
                    "kind": "correctness",
                    "operation": "matmul",
                    "settings": {"size": ["64", "128"], "form": "A@A.T"},
                }
            ],
        },
        "plan",
    )
    assert [c.name for c in found.cells] == [
        "correctness-matmul-size_64-form_AxAt",
        "correctness-matmul-size_64-form_AxAt-arm_one-thread",
        "correctness-matmul-size_128-form_AxAt",
        "correctness-matmul-size_128-form_AxAt-arm_one-thread",
    ]
    assert found.cells[1].environment == {"OPENBLAS_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "found no cells"),
        ({"cell": []}, "found cell, expected"),
        ({"cells": [{"kind": "correctness"}]}, "cell 1: found None as operation"),
        ({"cells": [{"kind": "a", "operation": "b", "seconds": 0}]}, "found 0, expected a number of seconds"),
        ({"cells": [{"kind": "a", "operation": "b", "arms": ["x"]}]}, "found arm 'x'"),
        ({"cells": [{"kind": "a", "operation": "b"}] * 2}, "found two cells called a-b"),
        ({"cells": [{"kind": "a", "operation": "b", "size": 1}]}, "found size, expected"),
    ],
)
def test_wrong_plans_are_refused(data, words):
    """A plan with an unknown key, a missing name or two equal cells is refused, naming the place."""
    with pytest.raises(MachineCheckError) as caught:
        plan.expand(data, "plan.toml")
    assert words in str(caught.value)


@pytest.mark.parametrize("name", plan.shipped())
def test_shipped_plans_name_real_cells_and_settings(name):
    """Every cell of a shipped plan exists and takes the settings given; a misspelt one fails here."""
    from machinecheck import registry, settings

    for planned in plan.read_plan(name).cells:
        arguments = settings.arguments_of(planned.settings)
        given = registry.parse_settings(planned.kind, planned.operation, arguments)
        assert all(str(given[key]) == str(value) for key, value in planned.settings.items())


@pytest.mark.parametrize(
    "words",
    [
        ["cell", "correctness", "matmul", "--sizee=1"],
        ["cell", "correctness", "matmul", "--seed=x"],
        ["cell", "correctness", "matmul", "--size=0"],
        ["cell", "correctness", "network", "--channels=12"],
        ["cell", "correctness", "network", "--batch=0"],
        ["cell", "correctness", "group-norm", "--channels=12"],
        ["cell", "repeatability", "linear", "--repeats=0"],
        ["cell", "repeatability", "sgemm", "--repeats=-1"],
        ["cell", "throughput", "matmul", "--window=nan"],
        ["cell", "throughput", "matmul", "--size=64", "--min-block=0"],
        ["cell", "correctness", "matmul", "--device=tpu"],
        ["cell", "correctness", "matmul", "--device=cuda:99"],
        ["cell", "x", "y"],
        ["run", "--plan", "nope"],
    ],
)
def test_program_says_what_is_wrong(words, tmp_path, capsys):
    """A wrong setting is one sentence on standard error, exit code 2, and nothing is written."""
    assert main([*words, f"--out={tmp_path / 'out'}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("machinecheck: error: ")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_plan_cell_by_cell(tmp_path):
    """A workflow lists the cells, runs each on its own, and judges: a crash is an outcome, not an error."""
    source, out = tmp_path / "plan.toml", tmp_path / "results"
    source.write_text(
        '[arms."as installed"]\n[arms.broken.environment]\nMACHINECHECK_FAULT = "crash"\n'
        '[[cells]]\nkind = "correctness"\noperation = "integers"\nsettings = { size = "32" }\n'
    )
    chosen = f"--plan={source}"
    assert main(["cells", chosen, f"--out={tmp_path / 'cells.json'}"]) == 0
    names = [planned["name"] for planned in json.loads((tmp_path / "cells.json").read_text())]
    assert names == ["correctness-integers-size_32", "correctness-integers-size_32-arm_broken"]
    assert main(["judge", chosen, f"--out={out}"]) == EXIT_CODES[Verdict.INCOMPLETE]
    for name in names:
        assert main(["one", name, chosen, f"--out={out}"]) == 0
    assert main(["judge", chosen, f"--out={out}"]) == EXIT_CODES[Verdict.INCOMPLETE]
    found = json.loads((out / "summary.json").read_text())
    assert found["by_arm"] == {"as installed": "PASS", "broken": "INCOMPLETE"}
    assert json.loads((out / "preflight.json").read_text())["comparisons_allowed"] is False
    assert main(["page", f"--results={out}", f"--out={tmp_path / 'page'}"]) == 0
    assert (tmp_path / "page" / "matmul.svg").exists()
    arms = json.loads((tmp_path / "page" / "page.json").read_text())["tables"]["arms"]
    assert arms[0]["arms"]["broken"]["signal"] == "SIGSEGV"


def test_environment_of_an_arm_reaches_the_cell(tmp_path):
    """The arm's environment is set over the inherited one."""
    arm = Cell("a", "kind", "operation", {}, "arm", {"WORKAROUND": "yes"}, 20.0)
    row = runner.run_cell(arm, tmp_path, 20, scripts(a='echo "$WORKAROUND"; exit 1'))
    assert row["reasons"] == ["exit code 1: yes"]
