"""`tachograph lease`: any command under the lease, and who holds which device."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lease_helpers import SOURCE, finish, flock_holder, heard, is_free

MAIN = """
import argparse, sys
from tachograph.commands import lease as leasecommand
from tachograph.errors import TachographError
parser = argparse.ArgumentParser(prog="tachograph")
leasecommand.add_parser(parser.add_subparsers(required=True))
args = parser.parse_args()
try:
    sys.exit(args.function(args))
except TachographError as error:
    print(f"tachograph: error: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "leases"


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", MAIN, "lease", *map(str, arguments)]


def lease(*arguments: object, text: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        command(*arguments),
        input=text,
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -SEGV $$", 139)])
def test_exit_code_is_that_of_the_command(folder: Path, script: str, code: int) -> None:
    """The exit code of the command comes through, a signal as 128 + its number."""
    ended = lease("--device", "cpu", "--folder", folder, "--", "sh", "-c", script)
    assert ended.returncode == code
    assert ("SIGSEGV" in ended.stderr) == (code == 139)


def test_input_and_output_are_the_callers(folder: Path) -> None:
    """The command reads and writes where the caller does, and options of its own stay its own."""
    ended = lease("--device", "cpu", "--folder", folder, "--", "cat", "-n", "--", "-", text="line\n")
    assert ended.stdout.split() == ["1", "line"]


def test_device_is_ours_meanwhile(folder: Path) -> None:
    """While the command runs, flock(1) finds the device taken; afterwards it is free."""
    lock = folder / "cpu-0.lock"
    script = f"flock -n {lock} true; echo $?"
    ended = lease("--device", "cpu", "--folder", folder, "--", "sh", "-c", script)
    assert ended.stdout.strip() == "1"
    assert is_free(lock)


def test_command_that_is_itself_a_lease_proceeds(folder: Path) -> None:
    """D15: the lease command inside of the lease command runs, and does not wait for itself."""
    inner = command("--device", "cpu", "--folder", folder, "--max-wait", "5", "--", "echo", "inside")
    ended = lease("--device", "cpu", "--folder", folder, "--", *inner)
    assert (ended.returncode, ended.stdout.strip()) == (0, "inside")


def test_hold_limit_and_leftovers_are_told(folder: Path) -> None:
    """124 at the limit as timeout(1); what was left behind is killed and counted."""
    ended = lease("--device", "cpu", "--folder", folder, "--max-hold", "0.3", "--", "sleep", "60")
    assert ended.returncode == 124
    assert "limit of 0.3 s" in ended.stderr
    ended = lease("--device", "cpu", "--folder", folder, "--", "sh", "-c", "setsid sleep 60 & exit 0")
    assert ended.returncode == 0
    assert "1 process left behind was killed" in ended.stderr


def test_refusals(folder: Path) -> None:
    """75 with the holder's name if taken; 2 with a sentence for a call that means nothing."""
    holder = flock_holder(folder / "cpu-0.lock")
    ended = lease("--device", "cpu", "--folder", folder, "--max-wait", "0", "--", "true")
    assert ended.returncode == 75
    assert f"pid {holder.pid} (flock" in ended.stderr
    finish(holder)
    for arguments in (
        ["--"],
        ["--status", "--", "true"],
        ["--device", "tpu", "--", "true"],
        ["--max-wait", "nan"],
    ):
        ended = lease(*arguments)
        assert ended.returncode == 2
        assert "error: " in ended.stderr
        assert "Traceback" not in ended.stderr


def test_status_says_who_holds_what(folder: Path) -> None:
    """One row per device: free, held by a lease, held by flock(1)."""
    folder.mkdir()
    (folder / "gpu-0000:03:00.0.lock").touch()
    holder = flock_holder(folder / "gpu-1.lock")
    running = subprocess.Popen(
        command("--device", "cpu", "--folder", folder, "--", "sh", "-c", "echo ready; exec sleep 60"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert heard(running) == "ready"
    ended = lease("--status", "--folder", folder)
    assert ended.returncode == 0
    rows = {line.split()[0]: line for line in ended.stdout.splitlines()}
    assert " free " in rows["gpu-0000:03:00.0"]
    assert f" held by flock  pid {holder.pid} " in rows["gpu-1"]
    assert f" held           pid {running.pid} " in rows["cpu-0"]
    assert " UTC " in rows["cpu-0"]
    ended = lease("--status", "--folder", folder, "--device", "cpu")
    assert "gpu-1" not in ended.stdout
    finish(holder)
    running.send_signal(signal.SIGTERM)
    finish(running)
    assert running.returncode == 143
    assert is_free(folder / "cpu-0.lock")


def test_status_shows_what_is_left_over(folder: Path) -> None:
    """After SIGKILL of the lease command, the process that it has left on the device is shown."""
    script = "setsid sh -c 'echo $$; exec sleep 60' & wait"
    running = subprocess.Popen(
        command("--device", "cpu", "--folder", folder, "--", "sh", "-c", script),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    orphan = int(heard(running))
    running.kill()
    running.wait()
    ended = lease("--status", "--folder", folder)
    os.kill(orphan, signal.SIGKILL)
    running.communicate()
    assert f"left over (inherited)  pid {orphan} (sleep 60)" in ended.stdout
