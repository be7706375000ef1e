"""What runs under the lease ends with it: by itself, at the limit, by signals, by SIGKILL of any of them."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lease_helpers import CPU, finish, heard, is_free, kill, python

from tachograph.errors import TachographError
from tachograph.execution.outcome import Outcome, judge
from tachograph.execution.parenthood import plainly
from tachograph.execution.supervise import supervise
from tachograph.lease.acquire import acquire
from tachograph.lease.processes import all_pids, environment_value, is_alive

SUPERVISE = """
import json
lease = acquire(CPU, Path(sys.argv[1]), study="stars", run="fast-seed1", max_wait_s=20, max_hold_s=60)
outcome = supervise(sys.argv[2:], lease=lease, log_path=None, max_hold_s=60, grace_s=1)
lease.release()
tell(json.dumps(outcome.as_record() | {"shell_code": outcome.shell_code}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "leases"


@pytest.fixture
def lock(folder: Path) -> Path:
    return folder / "cpu-0.lock"


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    """A word for the environment of a test's processes, none of which may be left at its end."""
    word = f"TACHOGRAPH_TEST_{os.getpid()}_{tmp_path.name}"
    os.environ[word] = "1"
    try:
        yield word
    finally:
        del os.environ[word]
        for pid in marked(word):
            os.kill(pid, signal.SIGKILL)


def marked(word: str) -> list[int]:
    return [pid for pid in all_pids() if environment_value(pid, word) is not None and pid != os.getpid()]


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left-over processes are given less time to end by themselves, to save that of the tests."""
    monkeypatch.setattr("tachograph.execution.supervise.LINGER_SECONDS", 0.05)


def run(folder: Path, argv: Sequence[str], **options: Any) -> Outcome:
    options = {"log_path": folder.parent / "log", "max_hold_s": 30.0, "grace_s": 0.3} | options
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60) as lease:
        return supervise(argv, lease=lease, **options)


@pytest.mark.parametrize(
    ("script", "status", "exit_code", "signal_name", "shell_code"),
    [
        ("exit 0", "finished", 0, None, 0),
        ("exit 3", "failed", 3, None, 3),
        ("kill -SEGV $$", "killed", None, "SIGSEGV", 139),
        ("kill -KILL $$", "killed", None, "SIGKILL", 137),
        ("kill -TERM $$", "killed", None, "SIGTERM", 143),
        ("sh -c 'kill -9 $$'; exit $?", "failed", 137, None, 137),
    ],
)
def test_end_is_told_as_it_was(
    folder: Path, script: str, status: str, exit_code: int | None, signal_name: str | None, shell_code: int
) -> None:
    """Exit codes and signals come out by value and name (D28)."""
    outcome = run(folder, ["sh", "-c", script])
    assert (outcome.status, outcome.exit_code, outcome.signal) == (status, exit_code, signal_name)
    assert outcome.shell_code == shell_code
    assert outcome.interrupted_by is None
    assert outcome.ended_monotonic >= outcome.started_monotonic
    if exit_code == 137:
        assert "SIGKILL" in outcome.reason


def test_signals_without_a_name_are_numbered() -> None:
    """A real-time signal between the named ones does not break the report."""
    assert judge("", -40, 1.0) == ("killed", "killed by SIG40")


def test_program_sees_what_it_should(folder: Path, tmp_path: Path) -> None:
    """Both outputs go to the log, input is empty, the environment is the given one and the token."""
    (tmp_path / "log").write_text("before\n")
    code = "import os, sys\nprint(sorted(os.environ), os.getcwd(), repr(sys.stdin.read()))\nsys.stderr.write('err')"
    outcome = run(folder, [sys.executable, "-c", code], env={"A": "b", "LC_ALL": "C.UTF-8"}, cwd=tmp_path)
    assert outcome.status == "finished"
    log = (tmp_path / "log").read_text()
    assert log.startswith("before\n")
    assert log.endswith("err")
    assert f"['A', 'LC_ALL', 'TACHOGRAPH_LEASE'] {tmp_path} ''" in log


def test_words_of_a_program_that_could_not_be_started() -> None:
    """The tool that starts programs is no concern of the reader; any other line of a log stays as it is."""
    setpriv = shutil.which("setpriv")
    said = "setpriv: failed to execute nosuch: No such file or directory"
    if setpriv is not None:
        command = [setpriv, "--pdeathsig", "KILL", "--", "nosuch"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
        said = done.stderr.strip()
    assert plainly(said) == "program 'nosuch' could not be started: No such file or directory"
    assert plainly("setpriv is what I call my trainer") == "setpriv is what I call my trainer"


def test_program_that_is_not_there(folder: Path, tmp_path: Path) -> None:
    """An unknown command fails as in a shell, with a word in the log; an unknown folder is our error."""
    outcome = run(folder, ["no-such-program"])
    assert (outcome.status, outcome.exit_code) == ("failed", 127)
    assert "no-such-program" in (tmp_path / "log").read_text()
    with pytest.raises(TachographError, match="nowhere"):
        run(folder, ["true"], cwd=tmp_path / "nowhere")


HANGS = {
    "a program that obeys": "sleep 60",
    "a program that ignores SIGTERM": "trap '' TERM; while :; do sleep 60; done",
    "a stopped program": "kill -STOP $$; sleep 60",
    "a stopped program that ignores SIGTERM": "trap '' TERM; kill -STOP $$; sleep 60",
}


@pytest.mark.parametrize("script", HANGS.values(), ids=HANGS.keys())
def test_limit_ends_whatever_hangs(folder: Path, lock: Path, mark: str, script: str) -> None:
    """At the limit SIGTERM, after the grace SIGKILL; stopped ones too; then the device is free."""
    outcome = run(folder, ["sh", "-c", script], max_hold_s=0.5)
    assert outcome.status == "time_limit"
    assert outcome.shell_code == 124
    assert 0.5 <= outcome.ended_monotonic - outcome.started_monotonic < 5
    assert "limit of 0.5 s" in outcome.reason
    assert is_free(lock)
    assert marked(mark) == []


def test_stopped_program_may_still_end_well(folder: Path) -> None:
    """A stopped program is continued, so that it can obey SIGTERM within its grace."""
    script = "trap 'exit 5' TERM; kill -STOP $$; while :; do sleep 0.02; done"
    outcome = run(folder, ["sh", "-c", script], max_hold_s=0.3, grace_s=20.0)
    assert (outcome.status, outcome.exit_code) == ("time_limit", 5)


ESCAPES = {
    "background": "sleep 60 &",
    "session": "setsid sleep 60 &",
    "double fork": "(setsid sh -c 'sleep 60 & sleep 61 & wait' &) & wait",
    "empty environment": "env -i setsid sleep 60 &",
    "closed lock": "(exec setsid sh -c 'for f in 3 4 5 6 7 8 9; do eval \"exec $f>&-\"; done; sleep 60') &",
}


@pytest.mark.parametrize("script", ESCAPES.values(), ids=ESCAPES.keys())
@pytest.mark.parametrize("end", ["exit 0", "kill -KILL $$"])
def test_nothing_outlives_the_lease(folder: Path, tmp_path: Path, lock: Path, script: str, end: str) -> None:
    """Whatever the program leaves behind, in whatever session, is dead before the device is free."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Every process of the tree has the writing end of the pipe: its end is seen when the last one is gone.
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    outcome = run(folder, ["sh", "-c", f"exec 8>{pipe}; echo started >&8; {script} sleep 0.1; {end}"])
    assert outcome.status == ("finished" if end == "exit 0" else "killed")
    if "8 9" not in script:
        assert outcome.survivors_killed >= 1
    assert os.read(reading, 100) == b"started\n"
    assert os.read(reading, 100) == b"", "a process still has the pipe open"
    assert is_free(lock)
    os.close(reading)


def test_helpers_may_end_by_themselves(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A helper that sees the end of its program and cleans up is not killed (multiprocessing has one)."""
    monkeypatch.setattr("tachograph.execution.supervise.LINGER_SECONDS", 20.0)
    pipe, cleaned = tmp_path / "pipe", tmp_path / "cleaned"
    os.mkfifo(pipe)
    script = f"(setsid sh -c 'read line < {pipe}; echo > {cleaned}' &) ; exec 8> {pipe}; exit 0"
    outcome = run(folder, ["sh", "-c", script])
    assert cleaned.exists()
    assert (outcome.status, outcome.survivors_killed) == ("finished", 0)


def test_survivors_use_counts(folder: Path, tmp_path: Path) -> None:
    """Processor seconds include grandchildren, also killed ones: at least what they counted themselves."""
    burner = "import time\nwhile time.process_time() < 0.3: pass\nprint(time.process_time(), flush=True)"
    orphan = burner + "\ntime.sleep(1000)"
    script = (
        f'{sys.executable} -c "$1"; setsid {sys.executable} -c "$2" > {tmp_path}/orphan & '
        f"while ! [ -s {tmp_path}/orphan ]; do sleep 0.02; done; cat {tmp_path}/orphan"
    )
    outcome = run(folder, ["sh", "-c", script, "sh", burner, orphan])
    own = sum(float(line) for line in (tmp_path / "log").read_text().split())
    assert own >= 0.6
    assert own <= outcome.cpu_user_s + outcome.cpu_system_s < 3 * own
    assert outcome.max_rss_bytes > 5_000_000
    assert outcome.survivors_killed == 1


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_are_passed_on(folder: Path, lock: Path, mark: str, name: str) -> None:
    """A signal to us reaches the program, which may finish its work; the status is interrupted."""
    script = f"trap 'echo got {name}; exit 5' {name[3:]}; echo ready; while :; do sleep 0.02; done"
    supervisor = python(SUPERVISE, folder, "sh", "-c", script)
    assert heard(supervisor) == "ready"
    supervisor.send_signal(signal.Signals[name])
    assert heard(supervisor) == f"got {name}"
    outcome = json.loads(heard(supervisor))
    finish(supervisor)
    assert (outcome["status"], outcome["exit_code"], outcome["interrupted_by"]) == ("interrupted", 5, name)
    assert outcome["shell_code"] == 128 + signal.Signals[name]
    assert is_free(lock)
    assert marked(mark) == []


def test_signal_that_is_ignored_ends_in_sigkill(folder: Path, lock: Path, mark: str) -> None:
    """A program that ignores the signal passed on is killed after the grace."""
    script = "trap '' INT TERM; echo ready; while :; do sleep 60; done"
    supervisor = python(SUPERVISE, folder, "sh", "-c", script)
    assert heard(supervisor) == "ready"
    supervisor.send_signal(signal.SIGINT)
    outcome = json.loads(heard(supervisor))
    finish(supervisor)
    assert (outcome["status"], outcome["signal"]) == ("interrupted", "SIGKILL")
    assert is_free(lock)
    assert marked(mark) == []


def test_asking_twice_means_now(folder: Path, mark: str) -> None:
    """A second signal, well after the first, ends the grace."""
    script = "trap 'echo again' INT; echo ready; while :; do sleep 0.02; done"
    supervisor = python(SUPERVISE.replace("grace_s=1)", "grace_s=1000)"), folder, "sh", "-c", script)
    assert heard(supervisor) == "ready"
    supervisor.send_signal(signal.SIGINT)
    assert heard(supervisor) == "again"
    time.sleep(1.2)  # nearer to the first it would be taken for the same request
    supervisor.send_signal(signal.SIGINT)
    outcome = json.loads(heard(supervisor))
    finish(supervisor)
    assert outcome["signal"] == "SIGKILL"


def test_one_request_may_come_twice(folder: Path, mark: str) -> None:
    """Ctrl-C may reach us from the terminal and from Snakemake: two signals at once leave the grace."""
    script = "trap 'trap : TERM; echo ending; sleep 0.2; exit 5' INT; echo ready; while :; do sleep 0.02; done"
    supervisor = python(SUPERVISE.replace("grace_s=1)", "grace_s=30)"), folder, "sh", "-c", script)
    assert heard(supervisor) == "ready"
    supervisor.send_signal(signal.SIGINT)
    assert heard(supervisor) == "ending"
    supervisor.send_signal(signal.SIGTERM)
    outcome = json.loads(heard(supervisor))
    finish(supervisor)
    assert (outcome["exit_code"], outcome["interrupted_by"]) == (5, "SIGINT")


def test_ignored_hangup_stays_ignored(folder: Path) -> None:
    """Under nohup(1) the end of the terminal interrupts nothing."""
    script = "echo ready; read line < $0; echo done"
    pipe = folder.parent / "pipe"
    os.mkfifo(pipe)
    supervisor = python("signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + SUPERVISE, folder, "sh", "-c", script, pipe)
    assert heard(supervisor) == "ready"
    supervisor.send_signal(signal.SIGHUP)
    pipe.write_text("go on\n")
    assert heard(supervisor) == "done"
    assert json.loads(heard(supervisor))["status"] == "finished"
    finish(supervisor)


@pytest.mark.parametrize("setpriv", [True, False], ids=["setpriv", "shim"])
def test_program_dies_with_its_supervisor(folder: Path, lock: Path, mark: str, setpriv: bool) -> None:
    """SIGKILL of the supervisor kills the program, with setpriv(1) and without."""
    without = (
        "import tachograph.execution.parenthood\ntachograph.execution.parenthood._capable_setpriv = lambda: None\n"
    )
    body = ("" if setpriv else without) + SUPERVISE
    supervisor = python(body, folder, "sh", "-c", "echo $$; exec sleep 60")
    program = int(heard(supervisor))
    exited = os.pidfd_open(program)
    kill(supervisor)
    assert wait_readable(exited), "the program outlives its supervisor"
    with acquire(CPU, folder, max_wait_s=10, max_hold_s=60):
        pass
    assert marked(mark) == []


def wait_readable(descriptor: int, seconds: float = 10.0) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


@pytest.mark.parametrize("close", ["", 'for f in 3 4 5 6 7 8 9; do eval "exec $f>&-"; done;'], ids=["lock", "token"])
def test_child_that_outlives_all_keeps_the_device(folder: Path, lock: Path, mark: str, close: str) -> None:
    """SIGKILL of supervisor and program: a grandchild keeps the device, by its lock or by its token."""
    script = f"({close} exec setsid sh -c 'echo $$; sleep 60') & wait"
    supervisor = python(SUPERVISE, folder, "sh", "-c", script)
    worker = int(heard(supervisor))
    kill(supervisor)
    deadline = time.monotonic() + 10
    while close and not is_free(lock) and time.monotonic() < deadline:
        time.sleep(0.01)  # the program itself, which has the lock, dies with its supervisor
    assert is_free(lock) == bool(close)
    with pytest.raises(TachographError, match=f"pid {worker} .*left over"):
        acquire(CPU, folder, max_wait_s=0.2, max_hold_s=60, say=lambda sentence: None)
    assert is_free(lock) == bool(close)
    os.kill(worker, signal.SIGKILL)
    for pid in marked(mark):
        os.kill(pid, signal.SIGKILL)
    with acquire(CPU, folder, max_wait_s=10, max_hold_s=60):
        pass


def test_error_in_a_tick_ends_the_program(folder: Path, lock: Path, mark: str) -> None:
    """What the tick raises reaches the caller, after the program has been ended."""

    def tick(pid: int) -> None:
        assert is_alive(pid)
        raise RuntimeError("from the tick")

    with pytest.raises(RuntimeError, match="from the tick"):
        run(folder, ["sleep", "60"], on_tick=tick, tick_s=0.05)
    assert is_free(lock)
    assert marked(mark) == []


def test_ticks_come_regularly(folder: Path) -> None:
    """The tick is called about every tick_s seconds, with the number of the program."""
    times: list[float] = []
    run(folder, ["sleep", "1"], on_tick=lambda pid: times.append(time.monotonic()), tick_s=0.1)
    assert 5 <= len(times) <= 10


def test_own_children_are_spared(folder: Path) -> None:
    """Children that the caller had before are not ended."""
    mine = subprocess.Popen(["sleep", "60"])
    run(folder, ["sh", "-c", "sleep 60 & exit 0"])
    assert mine.poll() is None
    mine.kill()
    mine.wait()


def test_nested_supervision_spares_the_outer_program(folder: Path, tmp_path: Path, lock: Path) -> None:
    """A supervisor under a lease ends what it has started, not its brothers under the outer lease."""
    script = f"""
import sys, subprocess
sys.path.insert(0, {str(Path(__file__).parents[3] / "src")!r})
from pathlib import Path
from tachograph.host.device import Device
from tachograph.lease.acquire import acquire
from tachograph.execution.parenthood import plainly
from tachograph.execution.supervise import supervise
brother = subprocess.Popen(["sleep", "60"])
with acquire(Device("cpu", "cpu", "cpu-0", ""), Path({str(folder)!r}), max_wait_s=0, max_hold_s=9) as lease:
    outcome = supervise(["sh", "-c", "setsid sleep 60 & exit 0"], lease=lease, log_path=None, max_hold_s=9)
print(lease.nested, outcome.survivors_killed, brother.poll())
"""
    outcome = run(folder, [sys.executable, "-c", script])
    assert (tmp_path / "log").read_text().strip() == "True 1 None"
    assert outcome.status == "finished"
    assert outcome.survivors_killed == 1  # the brother
    assert is_free(lock)


def test_what_cannot_be_killed_keeps_the_lock(
    folder: Path, lock: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    """If SIGKILL does not help (a process stuck in the kernel, here a kill that does nothing), no release."""
    monkeypatch.setattr("tachograph.execution.supervise.SURVIVOR_PATIENCE_SECONDS", 0.2)
    genuine = os.kill
    monkeypatch.setattr("tachograph.execution.supervise.os.kill", lambda pid, number: None)
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60) as lease:
        outcome = supervise(["sh", "-c", "sleep 60 & exit 0"], lease=lease, log_path=None, max_hold_s=9)
    assert outcome.unkillable != []
    assert not is_free(lock)
    monkeypatch.undo()
    for pid in outcome.unkillable:
        genuine(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
