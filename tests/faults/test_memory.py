"""A trainer without memory: by a limit that it can see, and by the kernel's own hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import FAST, Laboratory
from rows import Row

CGROUPS = Path("/sys/fs/cgroup")
LIMIT = 96 * 1024 * 1024


@pytest.mark.slow
def test_memory_limit(lab: Laboratory, row: Row) -> None:
    """MemoryError in the trainer: the run fails with its words, the next one counts."""
    row.fault, row.how = "out of memory, refused", "RLIMIT_AS of 512 MiB in the trainer"
    lab.plant("fast", "memory")
    assert lab.ended(lab.start("--cores", "2", FAST)) != 0
    assert "MemoryError" in lab.status()
    lab.goes_on(FAST)
    assert lab.statuses() == ["failed", "finished"]
    row.outcome = "attempt 1 failed (MemoryError), attempt 2 counts"


@pytest.fixture
def memory_group(row: Row) -> Iterator[Path]:
    """A control group with 96 MiB and no swap."""
    row.fault, row.how = "out of memory, killed by the kernel", "memory cgroup of 96 MiB around the trainer"
    first = (CGROUPS / "memory").is_dir()
    group = (CGROUPS / "memory" if first else CGROUPS) / "tachograph-fault-suite"
    names = ("memory.limit_in_bytes",) if first else ("memory.max", "memory.swap.max")
    try:
        group.mkdir()
        for name in names:
            (group / name).write_text(str(LIMIT if name != "memory.swap.max" else 0))
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no memory cgroup for this user: {error}")
    yield group
    group.rmdir()


def test_kernel_kills_for_want_of_memory(lab: Laboratory, row: Row, memory_group: Path) -> None:
    """The status names the signal and says that memory was wanting."""
    lab.plant("fast", f"oom {memory_group}")
    assert lab.ended(lab.start("--cores", "2", FAST)) != 0
    page = lab.status()
    assert "SIGKILL" in page
    assert "want of memory" in page
    lab.goes_on(FAST)
    assert lab.statuses() == ["killed", "finished"]
    row.outcome = "attempt 1 killed (SIGKILL, want of memory), attempt 2 counts"
