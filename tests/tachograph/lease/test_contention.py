"""Many processes and loops of flock(1) at one lock: no overlap."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from lease_helpers import heard, python

STRESS = """
folder, work, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
tachograph.lease.patience.POLL_SECONDS = 0.002
contended = 0
tell("ready")
sys.stdin.readline()
for _ in range(rounds):
    with acquire(CPU, folder, max_wait_s=100, max_hold_s=60, say=lambda sentence: None) as lease:
        contended += bool(lease.waited_for)
        os.close(os.open(work / "occupied", os.O_CREAT | os.O_EXCL))
        count = int((work / "count").read_text())
        os.sched_yield()
        (work / "count").write_text(str(count + 1))
        (work / "occupied").unlink()
tell(contended)
"""


def stress(tmp_path: Path, processes: int, rounds: int, flock_loops: int) -> None:
    """Leases and flock(1) at one lock; an overlap shows as a taken marker, and again as a lost count."""
    folder, work = tmp_path / "leases", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    (work / "count").write_text("0")
    shell = (
        f"for i in $(seq {rounds}); do flock {folder}/cpu-0.lock sh -c '"
        f"set -eC; : > {work}/occupied; read -r n < {work}/count || :; "
        f"echo $((n + 1)) >| {work}/count; rm {work}/occupied' || exit 1; done"
    )
    running = [python(STRESS, folder, work, rounds) for _ in range(processes)]
    assert [heard(process) for process in running] == ["ready"] * processes
    loops = [subprocess.Popen(["sh", "-c", shell]) for _ in range(flock_loops)]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    contended = 0
    for process in running:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        contended += int(output)
    assert contended > 0  # or the test has shown nothing
    for loop in loops:
        assert loop.wait(timeout=120) == 0
    assert int((work / "count").read_text()) == (processes + flock_loops) * rounds


def test_many_processes_never_overlap(tmp_path: Path) -> None:
    """Six processes and a loop of flock(1), many short holds: no overlap by two independent detectors."""
    stress(tmp_path, processes=6, rounds=15, flock_loops=1)


def test_detectors_see_an_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stress test can fail: with a lock that excludes nobody its detectors speak."""
    blunt = "import filelock._native._unix as unix; unix.lock_fd_nonblocking = lambda fd: True\n"
    monkeypatch.setattr(
        "test_contention.STRESS", blunt + STRESS.replace("os.sched_yield()", "__import__('time').sleep(.01)")
    )
    with pytest.raises(AssertionError, match=r"FileExistsError|FileNotFoundError"):
        stress(tmp_path, processes=4, rounds=20, flock_loops=0)


@pytest.mark.slow
def test_many_more_processes_never_overlap(tmp_path: Path) -> None:
    """The same with eight processes, two loops of flock(1) and 200 holds each."""
    stress(tmp_path, processes=8, rounds=200, flock_loops=2)
