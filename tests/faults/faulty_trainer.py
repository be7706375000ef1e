"""A trainer that can be caught in the act: at its third iteration it does what ``faults/ARM`` says.

Its word for where it is goes through the named pipe ``faults/at``, and it goes on at a byte in ``faults/go``. From its
start to its end it occupies ``$WITNESS/device`` by a lock of its own, which knows nothing of the lease; a second
trainer at the same time writes OVERLAP into ``$WITNESS/journal``.
"""

import argparse
import fcntl
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from tachograph.instrument import HistoryWriter

AT, GO = Path("faults/at"), Path("faults/go")


def occupy(what: str) -> int:
    """Lock the device as the witness sees it; the lock ends with the last process that has it."""
    folder = Path(os.environ["WITNESS"])
    device = os.open(folder / "device", os.O_RDWR | os.O_CREAT, 0o644)
    word = "alone"
    try:
        fcntl.flock(device, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        word = "OVERLAP"
    journal = os.open(folder / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(journal, f"{word} {what} {os.getpid()}\n".encode())
    os.close(journal)
    return device


def say(text: str) -> None:
    """Tell the test where this is."""
    with AT.open("w") as pipe:
        pipe.write(text + "\n")


def stop_here(text: str) -> None:
    """Tell the test, and go on when it says so."""
    say(text)
    with GO.open("rb", buffering=0) as pipe:
        pipe.read(1)


def leave_child(device: int, inherit: bool) -> None:
    """Start a process in a session of its own that uses the device for as long as the test wants.

    ``inherit``: it has the lock of the lease, as a forked worker does; else only the token in its environment.
    """
    if inherit:
        if os.fork() == 0:
            os.setsid()
            stop_here(f"child {os.getpid()}")
            os._exit(0)
    else:
        wait = f"open({str(GO)!r}, 'rb', buffering=0).read(1)"
        code = f"import os; open({str(AT)!r}, 'w').write(f'child {{os.getpid()}}\\n'); {wait}"
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True, pass_fds=[device])


def act(planted: str, device: int, out: Path) -> None:
    """Do what the test has planted."""
    word, _, value = planted.partition(" ")
    if word in ("pause", "child", "worker"):
        if word != "pause":
            leave_child(device, inherit=word == "child")
        stop_here(f"trainer {os.getpid()}")
    elif word == "exit":
        sys.exit(value or "the trainer was told to fail")
    elif word == "deaf":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(600)
    elif word == "memory":  # as a container or a shell with a limit gives it
        resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
        bytearray(1 << 30)
    elif word == "oom":  # until the kernel kills it, in a group of processes with a limit
        Path(value, "cgroup.procs").write_text(str(os.getpid()))
        hoard = [bytearray(1 << 20) for _ in range(4096)]
        print(len(hoard))
    elif word == "file-limit":  # the file system refuses to let a file grow
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
    elif word == "full":  # a checkpoint that the disk has no room for
        fill(f"fill {value}")
        (out / "checkpoint.bin").write_bytes(bytes(1 << 20))
    elif word == "clock":  # somebody sets the clock
        set_before = time.time
        time.time = lambda: set_before() + float(value)
    elif word == "leave":
        leave_behind(value, out)
    elif word == "checkpoint":
        (out / "checkpoint.bin").write_bytes(bytes(range(256)) * 4 * int(value))


def leave_behind(what: str, out: Path) -> None:
    """Something among the results that is no file with a name."""
    if what == "link":
        (out / "elsewhere").symlink_to("/etc")
    elif what == "pipe":
        os.mkfifo(out / "pipe")
    elif what == "name":  # which is no text
        open(os.fsencode(out) + b"/\xff\n", "wb").close()
    elif what == "odd names":  # which are text, and might be taken for options, markup or commands
        for name in ("-rf", "a\nb", "$(touch run) ; <script>|`x`", "tränen"):
            (out / name).write_text(name)
    elif what == "another folder":
        out.rename(f"{out}-moved")
        out.symlink_to(os.environ["WITNESS"])


def fill(planted: str) -> None:
    """Take all but so many pages of the disk that this runs on, as the last act of the run."""
    word, _, pages = planted.partition(" ")
    if word != "fill":
        return
    ballast = os.open("ballast", os.O_WRONLY | os.O_CREAT)
    free = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
    os.posix_fallocate(ballast, 0, free - 4096 * int(pages))
    os.close(ballast)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    arm = os.environ["STUB_PATH"]
    device = occupy(f"{arm} {arguments.seed}")
    file = Path("faults") / arm
    planted = file.read_text().strip() if file.exists() else ""
    print(f"{arm}, seed {arguments.seed}", flush=True)  # its log
    pause = 0.004 if arm == "fast" else 0.008
    with open("trained.log", "a", encoding="utf-8") as log:  # the test's own count of what really ran
        log.write(f"{arm} {arguments.seed} {arguments.iterations}\n")
    generator = random.Random(arguments.seed)
    with HistoryWriter(arguments.out / "history.jsonl") as history:
        for iteration in range(1, arguments.iterations + 1):
            if iteration == 3:
                act(planted, device, arguments.out)
            start = time.monotonic()
            time.sleep(pause)
            seconds = time.monotonic() - start
            history.write(
                {
                    "iteration": iteration,
                    "steps": 1000,
                    "collection_seconds": seconds,
                    "iteration_seconds": seconds,
                    "loss": arguments.scale / iteration + 0.01 * generator.random(),
                    "device": "cpu",
                }
            )
    fill(planted)


main()
