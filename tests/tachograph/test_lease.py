"""The lease excludes, names who holds, and cannot be had on a file that cannot carry it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lease_helpers import (
    CPU,
    as_user,
    can_be,
    can_hide_processes,
    can_mount,
    finish,
    flock_holder,
    heard,
    is_free,
    kill,
    python,
)

from tachograph.errors import LeaseUnavailableError, TachographError
from tachograph.holders import find_holders
from tachograph.lease import acquire
from tachograph.leasecommand import status_table
from tachograph.lockfile import default_lease_folder, file_system_type, prepare_folder
from tachograph.processes import printable, read_stat

HOLD = """
lease = acquire(CPU, Path(sys.argv[1]), study="stars", run="fast-seed1", max_wait_s=20, max_hold_s=60)
tell("held", lease.token)
sys.stdin.read()
lease.release()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "leases"


@pytest.fixture
def lock(folder: Path) -> Path:
    return folder / "cpu-0.lock"


def refusal(folder: Path, max_wait_s: float = 0.0, say: Callable[[str], None] = lambda sentence: None) -> str:
    """The sentence with which an acquisition is refused for want of the device."""
    with pytest.raises(LeaseUnavailableError) as caught:
        acquire(CPU, folder, max_wait_s=max_wait_s, max_hold_s=60, say=say)
    assert caught.value.exit_code == 75
    return str(caught.value)


def test_lease_excludes_flock_and_says_held_then_free(folder: Path, lock: Path) -> None:
    """flock(1) is kept out while we hold, the file says who, and after release both say free."""
    with acquire(CPU, folder, study="stars", run="fast-seed1", max_wait_s=0, max_hold_s=60) as lease:
        assert not is_free(lock)
        record = json.loads(lock.read_text())
        assert record["state"] == "held"
        assert (record["pid"], record["uid"]) == (os.getpid(), os.getuid())
        assert (record["study"], record["run"]) == ("stars", "fast-seed1")
        stat = read_stat(os.getpid())
        assert stat is not None
        assert record["start_ticks"] == stat.start_ticks
        assert not lease.nested
    assert is_free(lock)
    assert json.loads(lock.read_text())["state"] == "free"
    assert find_holders(lock) == []
    assert lease.as_record()["contended"] is False


def test_files_are_for_everybody_whatever_the_umask(folder: Path, lock: Path) -> None:
    """Under umask 077 the folder is still 0755 and the file 0666, or other users could not share the lock."""
    holder = python("os.umask(0o077)\n" + HOLD, folder)
    heard(holder)
    assert folder.stat().st_mode & 0o777 == 0o755
    assert lock.stat().st_mode & 0o777 == 0o666
    finish(holder)


def test_refusal_names_the_lease_that_holds(folder: Path) -> None:
    """Refused with exit code 75 and a sentence: process, command, run, study, since when, until when."""
    holder = python(HOLD, folder)
    heard(holder)
    sentence = refusal(folder)
    record = json.loads((folder / "cpu-0.lock").read_text())
    for part in (f"pid {holder.pid} ", "run fast-seed1 of study stars", record["since"], record["deadline"]):
        assert part in sentence
    finish(holder)


def test_refusal_names_a_user_of_flock(folder: Path, lock: Path) -> None:
    """A program that knows only flock(1) is named by process number and command."""
    holder = flock_holder(lock)
    sentence = refusal(folder)
    assert f"pid {holder.pid} (flock {lock} sh -c" in sentence
    assert "left over" not in sentence
    finish(holder)


def test_waiting_speaks_at_once_and_ends_with_the_holder(folder: Path, lock: Path) -> None:
    """The first sentence comes before any waiting; when the holder goes, the lease is ours."""
    holder = flock_holder(lock)
    said: list[str] = []

    def say(sentence: str) -> None:
        said.append(sentence)
        finish(holder)

    with acquire(CPU, folder, max_wait_s=20, max_hold_s=60, say=say) as lease:
        assert f"pid {holder.pid} " in said[0]
        assert len(said) == 1
        record = lease.as_record()
        assert record["contended"] is True
        assert [h["pid"] for h in record["waited_for"]] == [holder.pid]
        assert 0 < record["waited_s"] < 20


def test_waiting_speaks_again_every_thirty_seconds(
    folder: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder is named again after each period (shortened here), and not at each try."""
    monkeypatch.setattr("tachograph.patience.SAY_EVERY_SECONDS", 0.2)
    monkeypatch.setattr("tachograph.patience.POLL_SECONDS", 0.01)
    holder = flock_holder(lock)
    said: list[str] = []
    refusal(folder, max_wait_s=1.0, say=said.append)
    assert 3 <= len(said) <= 6
    finish(holder)


def test_old_text_of_a_dead_holder_means_nothing(folder: Path, lock: Path) -> None:
    """After SIGKILL of a holder the text says "held" for ever; the kernel says free, and that counts."""
    holder = python(HOLD, folder)
    heard(holder)
    kill(holder)
    assert json.loads(lock.read_text())["state"] == "held"
    assert find_holders(lock) == []
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60):
        pass


def test_orphan_with_the_inherited_lock_holds_and_is_named(folder: Path, lock: Path) -> None:
    """I20: the owner that /proc/locks names is dead, the lock lives on in a child: that one is named."""
    holder = python(
        """
        lease = acquire(CPU, Path(sys.argv[1]), study="stars", run="fast-seed1", max_wait_s=0, max_hold_s=60)
        child = subprocess.Popen(["sleep", "60"], pass_fds=lease.descriptors)
        tell(child.pid)
        sys.stdin.read()
        """,
        folder,
    )
    orphan = int(heard(holder))
    kill(holder)
    assert not is_free(lock)
    sentence = refusal(folder)
    assert f"pid {orphan} (sleep 60), run fast-seed1 of study stars" in sentence
    assert "left over from a lease whose owner has ended" in sentence
    os.kill(orphan, signal.SIGKILL)
    with acquire(CPU, folder, max_wait_s=10, max_hold_s=60):
        pass


def test_orphan_with_the_token_alone_holds_and_is_named(folder: Path, lock: Path) -> None:
    """A worker that did not inherit the file is left when all else is killed: flock says free, we do not."""
    holder = python(
        """
        worker = "import signal, subprocess as s; print(s.Popen(['sleep', '9']).pid, flush=1); signal.pause()"
        lease = acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
        supervise([sys.executable, "-c", worker], lease=lease, log_path=None, max_hold_s=60)
        """,
        folder,
    )
    worker = int(heard(holder))
    kill(holder)
    deadline = time.monotonic() + 10
    while not is_free(lock) and time.monotonic() < deadline:
        time.sleep(0.01)  # the trainer dies with its supervisor
    assert is_free(lock)
    said: list[str] = []
    sentence = refusal(folder, max_wait_s=0.6, say=said.append)
    assert f"pid {worker} (sleep 9)" in sentence
    assert "carries its token" in sentence
    assert f"pid {worker} " in said[0]
    assert is_free(lock)  # a refused acquisition leaves nothing locked
    os.kill(worker, signal.SIGKILL)
    with acquire(CPU, folder, max_wait_s=10, max_hold_s=60):
        pass


def test_nested_lease_proceeds(folder: Path, lock: Path) -> None:
    """D15: a program under the lease that asks for the same lease gets it at once, and does not free it."""
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60) as lease:
        inner = python(
            """
            with acquire(CPU, Path(sys.argv[1]), max_wait_s=5, max_hold_s=60) as lease:
                tell(lease.nested, lease.token)
            """,
            folder,
            **lease.environment(),
        )
        nested, token = heard(inner).split()
        finish(inner)
        assert nested == "True"
        assert token.startswith(lease.token + ".")
        assert not is_free(lock)


def test_nested_leases_take_turns(folder: Path) -> None:
    """Two programs under one outer lease take turns: the second waits, and names the first."""
    inner = """
        lease = acquire(CPU, Path(sys.argv[1]), max_wait_s=20, max_hold_s=60, say=tell)
        tell("held", lease.nested, bool(lease.waited_for))
        sys.stdin.read()
        lease.release()
        """
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60) as lease:
        first = python(inner, folder, **lease.environment())
        assert heard(first) == "held True False"
        second = python(inner, folder, **lease.environment())
        said = heard(second)
        assert f"held by pid {first.pid} (" in said
        assert "same outer lease" in said
        finish(first)
        assert heard(second) == "held True True"
        kill(second)  # its turn ends with it
        third = python(inner, folder, **lease.environment())
        assert heard(third) == "held True False"
        finish(third)


def test_turn_stays_with_a_program_whose_supervisor_was_killed(folder: Path) -> None:
    """Under an outer lease too, what is left over keeps its turn until it ends."""
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60) as lease:
        first = python(
            """
            lease = acquire(CPU, Path(sys.argv[1]), max_wait_s=20, max_hold_s=60)
            child = subprocess.Popen(["sleep", "60"], pass_fds=lease.descriptors)
            tell(child.pid)
            sys.stdin.read()
            """,
            folder,
            **lease.environment(),
        )
        orphan = int(heard(first))
        kill(first)
        second = python(
            """
            try:
                acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
            except Exception as error:
                tell(error)
            """,
            folder,
            **lease.environment(),
        )
        assert f"held by pid {orphan} (sleep 60)" in heard(second)
        finish(second)
        os.kill(orphan, signal.SIGKILL)


def test_token_of_a_dead_lease_gives_no_free_pass(folder: Path, lock: Path) -> None:
    """A token whose owner has ended does not nest: the device is taken properly, or refused."""
    holder = python(HOLD, folder)
    token = heard(holder).split()[1]
    kill(holder)
    flock = flock_holder(lock)
    late = python(
        """
        try:
            acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
        except Exception as error:
            tell(type(error).__name__)
        """,
        folder,
        TACHOGRAPH_LEASE=token,
    )
    assert heard(late) == "LeaseUnavailableError"
    finish(late)
    finish(flock)


def test_started_under_flock_is_told_at_once(folder: Path, lock: Path) -> None:
    """`flock LOCK program` that asks for the same lock could wait for ever: it is told so without waiting."""
    folder.mkdir()
    inner = python(
        """
        try:
            acquire(CPU, Path(sys.argv[1]), max_wait_s=1000, max_hold_s=60)
        except Exception as error:
            tell(error)
        """,
        folder,
        wrap=["flock", str(lock)],
    )
    assert "could never end" in heard(inner)
    finish(inner)


def test_second_lease_in_one_process_is_an_error(folder: Path) -> None:
    """Asking twice in one process is a mistake of the caller, and never a deadlock."""
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60):
        refused = (LeaseUnavailableError, TachographError)
        with pytest.raises(refused, match=r"already holds|could never end|still taken"):
            acquire(CPU, folder, max_wait_s=0.1, max_hold_s=60)


def test_removed_lock_file_is_reported(folder: Path, lock: Path) -> None:
    """If somebody removes the file that we hold, exclusion is no longer sure, and the record says so."""
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60) as lease:
        lock.unlink()
        lock.touch(0o666)
    assert lease.as_record()["lock_file_replaced"] is True


def test_removed_lock_file_does_not_let_a_second_program_in(folder: Path, lock: Path) -> None:
    """If somebody removes the file of a running lease, flock(1) sees a free file, and we see the program."""
    holder = python(
        """
        lease = acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
        supervise(["sh", "-c", "echo $$; exec sleep 60"], lease=lease, log_path=None, max_hold_s=60)
        """,
        folder,
    )
    program = int(heard(holder))
    lock.unlink()
    sentence = refusal(folder)
    assert f"pid {program} (" in sentence
    assert "lock file has been removed" in sentence
    holder.terminate()
    finish(holder)


def test_lock_files_are_leases_of_their_own(folder: Path, tmp_path: Path) -> None:
    """Another lease folder is another lease: its holders, tokens and nesting do not reach over here."""
    with acquire(CPU, tmp_path / "other", max_wait_s=0, max_hold_s=60) as outer:
        inner = python(
            """
            with acquire(CPU, Path(sys.argv[1]), max_wait_s=5, max_hold_s=60) as lease:
                tell(lease.nested)
            """,
            folder,
            **outer.environment(),
        )
        assert heard(inner) == "False"
        finish(inner)


def test_lock_on_a_replaced_file_is_tried_again(
    folder: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock on a file that was replaced between opening and locking excludes nobody: take the new file."""
    import filelock._native._unix as unix

    genuine = unix.lock_fd_nonblocking
    replaced = []

    def replace_once(fd: int) -> bool:
        if not replaced:
            replaced.append(os.fstat(fd).st_ino)
            lock.rename(folder / "old")
            lock.touch(0o666)
        return genuine(fd)

    monkeypatch.setattr(unix, "lock_fd_nonblocking", replace_once)
    with acquire(CPU, folder, max_wait_s=10, max_hold_s=60):
        assert not is_free(lock)
        assert lock.stat().st_ino != replaced[0]


def make_folder(path: Path) -> None:
    path.mkdir()


def make_link(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this user may not make a device node")


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (make_folder, "a folder"),
        (make_link, "a symbolic link"),
        (make_pipe, "a named pipe"),
        (make_device, "a device"),
    ],
)
def test_what_is_no_file_is_refused(
    folder: Path, lock: Path, make: Callable[[Path], None], word: str
) -> None:
    """D15: a lock file of another kind is refused at once, by name."""
    folder.mkdir()
    make(lock)
    started = time.monotonic()
    with pytest.raises(TachographError, match=word) as caught:
        acquire(CPU, folder, max_wait_s=60, max_hold_s=60)
    assert str(lock) in str(caught.value)
    assert time.monotonic() - started < 2


def test_folder_that_is_a_file_or_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    """A lease folder that is not one is named; so is a parent that is a file."""
    folder.write_text("")
    for place in (folder, folder / "below"):
        with pytest.raises(TachographError, match=str(place)):
            acquire(CPU, place, max_wait_s=0, max_hold_s=60)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(TachographError, match="symbolic link"):
        acquire(CPU, link, max_wait_s=0, max_hold_s=60)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs", "lustre"])
def test_remote_file_systems_are_refused(tmp_path: Path, kind: str) -> None:
    """flock(2) does not exclude across clients: the kind of file system is read from the mount table."""
    table = tmp_path / "mountinfo"
    table.write_text(
        "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
        f"30 27 0:9 / {tmp_path}/net\\040share rw,relatime shared:1 - {kind} server:/x rw\n"
    )
    inside = tmp_path / "net share" / "leases"
    inside.mkdir(parents=True)
    assert file_system_type(inside, table) == kind
    assert file_system_type(tmp_path, table) == "ext4"
    with pytest.raises(TachographError, match=kind):
        prepare_folder(inside / "cpu-0.lock", table)
    prepare_folder(tmp_path / "leases" / "cpu-0.lock", table)


IN_TMPFS = """
try:
    lease = acquire(CPU, Path("/mnt/leases"), max_wait_s=0, max_hold_s=60)
    tell("held")
except Exception as error:
    tell(getattr(error, "exit_code", None), error)
"""


@pytest.mark.parametrize(
    ("prepare", "word"),
    [
        ("mount -o nr_inodes=1 -t tmpfs none /mnt", "No space left"),
        ("mount -o nr_inodes=2 -t tmpfs none /mnt", "No space left"),
        ("mount -o size=4k -t tmpfs none /mnt; head -c 4096 /dev/zero > /mnt/x", "No space left"),
        ("mount -o ro -t tmpfs none /mnt", "Read-only"),
        ("mount -t tmpfs none /mnt; mkdir /mnt/leases; mount -o remount,ro /mnt", "Read-only"),
    ],
)
def test_full_and_read_only_folders_are_clear_errors(prepare: str, word: str) -> None:
    """Without room for the file or its text there is no lease, only a sentence with path and reason."""
    if not can_mount():
        pytest.skip("this user cannot mount a file system here")
    process = python(IN_TMPFS, wrap=["unshare", "-m", "sh", "-c", f'{prepare}; exec "$0" "$@"'])
    said = heard(process)
    finish(process)
    assert said.startswith("2 ")
    assert word in said
    assert "/mnt/leases" in said


def test_three_users_share_one_lease(tmp_path: Path) -> None:
    """The folder and file that one user has made serve two others, and each sees who holds."""
    users = [65534, 12345, 0]
    if not all(can_be(uid) for uid in users):
        pytest.skip("this user cannot become another, or others cannot read the sources")
    tmp_path.chmod(0o1777)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    folder = tmp_path / "shared"
    for uid in users:
        holder = python(HOLD, folder, wrap=as_user(uid))
        heard(holder)
        for other in users:
            late = python(
                """
                try:
                    acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
                except Exception as error:
                    tell(type(error).__name__, error)
                """,
                folder,
                wrap=as_user(other),
            )
            said = heard(late)
            finish(late)
            assert said.startswith("LeaseUnavailableError"), said
            assert f"pid {holder.pid} " in said
            assert "run fast-seed1 of study stars" in said
        finish(holder)
    assert folder.stat().st_uid == users[0]


def test_file_of_another_user_that_is_closed_to_us(tmp_path: Path) -> None:
    """A lock file that we may not open is an error that says which mode is expected, not a holder."""
    if not can_be(65534):
        pytest.skip("this user cannot become another, or others cannot read the sources")
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    tmp_path.chmod(0o755)
    lock = tmp_path / "cpu-0.lock"
    lock.touch()
    lock.chmod(0o644)
    late = python(
        """
        try:
            acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
        except Exception as error:
            tell(error.exit_code, error)
        """,
        tmp_path,
        wrap=as_user(65534),
    )
    said = heard(late)
    finish(late)
    assert said.startswith("2 lock file")
    assert "expected a file of mode 0666" in said


def test_holder_in_another_namespace_is_said_to_be_unseen(folder: Path, lock: Path) -> None:
    """From within a container the holder outside cannot be named; the sentence says why."""
    if not can_hide_processes():
        pytest.skip("this user cannot make a process namespace")
    holder = flock_holder(lock)
    inside = python(
        """
        try:
            acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
        except Exception as error:
            tell(error)
        """,
        folder,
        wrap=["unshare", "-m", "-p", "-f", "--mount-proc"],
    )
    assert "/proc does not show" in heard(inside)
    finish(inside)
    finish(holder)


def test_text_of_others_cannot_drive_the_terminal(folder: Path, lock: Path) -> None:
    """Control characters in a record or a command do not reach our sentence; garbage is no record."""
    assert printable("a\x1b[31mb\nc\x07") == "a [31mb c"
    holder = python(HOLD, folder)
    heard(holder)
    record = json.loads(lock.read_text())
    record["study"] = "evil\x1b[2J"
    lock.write_text(json.dumps(record))
    assert "\x1b" not in refusal(folder)
    lock.write_bytes(b"\xff" * 10_000)
    assert f"pid {holder.pid} " in refusal(folder)
    finish(holder)


def test_arguments_of_others_are_not_kept(folder: Path, lock: Path) -> None:
    """A command line may hold a secret: the terminal shows it as ps(1) does, the record does not."""
    folder.mkdir()
    holder = subprocess.Popen(
        ["flock", lock, "sh", "-c", "echo held; cat", "--api-key=canary"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert heard(holder) == "held"
    said: list[str] = []

    def say(sentence: str) -> None:
        said.append(sentence)
        finish(holder)

    with acquire(CPU, folder, max_wait_s=20, max_hold_s=60, say=say) as lease:
        assert "canary" in said[0]
        assert "canary" not in json.dumps(lease.as_record()) + lock.read_text()
        assert lease.as_record()["waited_for"][0]["program"] == "flock"


def test_default_folder_is_used_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder the device's own default folder is made, and the status finds it."""
    tmp_path.chmod(0o1777)
    monkeypatch.setattr("tachograph.lockfile.DEFAULT_PARENT", tmp_path)
    monkeypatch.setattr("tachograph.leasecommand.DEFAULT_PARENT", tmp_path)
    with acquire(CPU, max_wait_s=0, max_hold_s=60) as lease:
        assert lease.path == tmp_path / "tachograph-lease-cpu-0" / "cpu-0.lock"
        [row] = [line for line in status_table(None, None).splitlines() if line.startswith("cpu-0")]
        assert f" held     pid {os.getpid()} " in row


def test_default_folder_is_per_device_and_needs_no_root() -> None:
    """The default is one folder per device in /var/tmp, which every user of the host may create."""
    folder = default_lease_folder("gpu-0000:03:00.0")
    assert folder == Path("/var/tmp/tachograph-lease-gpu-0000:03:00.0")
    assert os.stat(folder.parent).st_mode & 0o1777 == 0o1777


STRESS = """
folder, work, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
tachograph.patience.POLL_SECONDS = 0.002
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
        "test_lease.STRESS", blunt + STRESS.replace("os.sched_yield()", "__import__('time').sleep(.01)")
    )
    with pytest.raises(AssertionError, match=r"FileExistsError|FileNotFoundError"):
        stress(tmp_path, processes=4, rounds=20, flock_loops=0)


@pytest.mark.slow
def test_many_more_processes_never_overlap(tmp_path: Path) -> None:
    """The same with eight processes, two loops of flock(1) and 200 holds each."""
    stress(tmp_path, processes=8, rounds=200, flock_loops=2)
