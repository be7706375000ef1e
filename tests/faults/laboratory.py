"""A study whose trainer can be caught in the act, and what must hold after whatever was done to it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from study_project import Project, make_project
from tachograph.files import sha256_file
from tachograph.study.layout import StudyFolder
from tachograph.study.planning import PlannedRun
from tachograph.study.registration import current_study, read_registration
from tachograph.study.state import StudyState, counts, read_state

TRAINER = Path(__file__).with_name("faulty_trainer.py")
FAST = "results/toy/runs/fast/seed0/history.jsonl"
REFERENCE = "results/toy/runs/reference/seed0/history.jsonl"
HANDSHAKE_SECONDS = 60.0


@dataclass
class Laboratory(Project):
    """The study ``toy`` with one block (``reference`` then ``fast``), its witness, and the trainer's two pipes."""

    witness: Path = Path()

    def __post_init__(self) -> None:
        self.at = self.go = -1
        self.started: list[subprocess.Popen[str]] = []

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "WITNESS": str(self.witness)}

    @property
    def folder(self) -> StudyFolder:
        return StudyFolder(self.path / "results" / "toy")

    def state(self) -> StudyState:
        return read_state(self.folder)

    def planned(self) -> list[PlannedRun]:
        registration = read_registration(self.folder)
        assert registration is not None
        return current_study(registration)[2]

    # The trainer's pipes

    def plant(self, arm: str, fault: str) -> None:
        """Let the next run of ``arm`` meet this fault, and open the pipes that it may use."""
        super().plant(arm, fault)
        if self.at < 0:
            for name in ("at", "go"):
                os.mkfifo(self.path / "faults" / name)
            # Open for both, so that neither end ever finds the other one closed.
            self.at = os.open(self.path / "faults/at", os.O_RDWR | os.O_NONBLOCK)
            self.go = os.open(self.path / "faults/go", os.O_RDWR | os.O_NONBLOCK)

    def heal(self) -> None:
        """Remove the faults; the pipes stay for those who still wait at them."""
        for file in (self.path / "faults").glob("*"):
            if not file.is_fifo():
                file.unlink()

    def caught(self, count: int = 1) -> dict[str, int]:
        """Wait until ``count`` processes have said where they are: name to process number."""
        said: dict[str, int] = {}
        text = ""
        end = time.monotonic() + HANDSHAKE_SECONDS
        while len(said) < count:
            left = end - time.monotonic()
            assert left > 0, f"only {said} came to the pipe"
            assert not all(p.poll() is not None for p in self.started) or left > HANDSHAKE_SECONDS - 30, self.told()
            if not select.select([self.at], [], [], min(left, 1.0))[0]:
                continue
            text += os.read(self.at, 4096).decode()
            for line in text.splitlines():
                name, _, pid = line.partition(" ")
                said[name] = int(pid)
        return said

    def release(self, count: int = 1) -> None:
        """Let ``count`` waiting processes go on."""
        os.write(self.go, b"x" * count)

    # Snakemake

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start Snakemake in a session of its own, with its output in a file: see :meth:`told`."""
        number = len(self.started)
        with (self.path / f"snakemake-{number}.out").open("w") as out:
            process = subprocess.Popen(
                self.command(*arguments),
                cwd=self.path,
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def run_as(self, user: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake to its end behind the words of a command that changes the user."""
        return subprocess.run(
            [*user, *self.command(*arguments)],
            cwd=self.path,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )

    def told(self, number: int = -1) -> str:
        """What the Snakemake that was started as this one has printed so far."""
        return (self.path / f"snakemake-{number % len(self.started)}.out").read_text()

    def wait_until_told(self, words: str, number: int = -1) -> None:
        """Wait until this Snakemake has printed these words."""
        end = time.monotonic() + HANDSHAKE_SECONDS
        while words not in self.told(number):
            assert time.monotonic() < end, f"{words!r} was not printed:\n{self.told(number)}"
            assert self.started[number].poll() is None or words in self.told(number), self.told(number)
            time.sleep(0.05)

    def ended(self, process: subprocess.Popen[str]) -> int:
        """Wait for the end of a Snakemake; its exit code."""
        try:
            return process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            left = [psutil.Process(pid) for pid in tree(process.pid)]
            lines = [f"{one.pid} {one.status()} {' '.join(one.cmdline())}" for one in left]
            told = self.told(self.started.index(process))
            raise AssertionError("\n".join(["Snakemake does not end:", *lines, told])) from None

    def wait_until_closed(self) -> None:
        """Wait until the job that a killed Snakemake has left behind has told how its attempt ended."""
        end = time.monotonic() + HANDSHAKE_SECONDS
        while None in self.statuses():
            assert time.monotonic() < end, "the attempt was not ended"
            time.sleep(0.05)

    def places(self) -> set[str]:
        """The working directory of this laboratory's programs."""
        return {str(self.path.resolve())}

    def end_everything(self) -> None:
        """Kill what is left of this laboratory, and close the pipes."""
        for process in psutil.process_iter(["cwd"]):
            with contextlib.suppress(psutil.Error):
                cwd = process.info["cwd"]
                if cwd in self.places():
                    process.kill()
        for started in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait(timeout=30)
        for descriptor in (self.at, self.go):
            if descriptor >= 0:
                os.close(descriptor)
        self.at = self.go = -1

    # What must hold

    def goes_on(self, *targets: str) -> str:
        """The one documented command succeeds, everything it was to make is there; returns what it printed."""
        self.heal()
        done = self.snakemake("--cores", "2", *(targets or (FAST, REFERENCE)))
        assert done.returncode == 0, done.stdout
        self.check()
        number = counts(self.planned(), self.state())
        assert number["counted"] == number["planned"] == 2, number
        return done.stdout

    def check(self) -> None:
        """Nothing was lost, mixed or made by two at once, whatever happened."""
        assert "OVERLAP" not in self.journal(), self.journal()
        state = self.state()  # raises if the chain of the ledger is broken
        for key, event in state.published.items():
            if key in state.requested:
                continue
            for name, sha in event["files"].items():
                assert sha256_file(self.folder.path / name) == sha, f"{name} is not what was published"
        for run in self.planned():
            self._check_pair(run)
        for tries in state.attempts.values():
            for attempt in tries:
                for name, sha in attempt.files.items():
                    path = self.folder.path / attempt.folder / name
                    assert sha256_file(path) == sha, f"{path} is not what was sealed"
        for path in self.folder.path.rglob("*.json"):
            json.loads(path.read_text())

    def _check_pair(self, run: PlannedRun) -> None:
        """What stands under a final name is whole, and run.json fits the history beside it."""
        target, run_file = self.folder.path / run.target, self.folder.path / run.run_file
        if target.exists():
            rows = target.read_text().splitlines()
            assert [json.loads(row)["iteration"] for row in rows] == list(range(1, run.amount + 1))
            if run_file.exists():
                facts = json.loads(run_file.read_text())
                assert facts["files"][facts["result"]] == sha256_file(target)

    def journal(self) -> str:
        path = self.witness / "journal"
        return path.read_text() if path.exists() else ""

    def statuses(self, key: str = "run-fast-seed0") -> list[str | None]:
        """How the attempts at a run ended, oldest first."""
        return [attempt.status for attempt in self.state().attempts.get(key, [])]

    def status(self) -> str:
        """The page of ``tachograph status``."""
        done = self.tachograph("status", "toy")
        assert done.returncode == 0, done.stdout
        return done.stdout

    def copy_to(self, path: Path) -> Laboratory:
        """A copy of the study with locks and a witness of its own."""
        shutil.copytree(self.path, path, symlinks=True)
        (path / "witness").mkdir(exist_ok=True)
        copy = Laboratory(path, path / "witness")
        copy.edit("config/config.yaml", str(self.path / "locks"), str(path / "locks"))
        return copy


def make_laboratory(path: Path) -> Laboratory:
    """A study that was never executed."""
    make_project(path)
    shutil.copy(TRAINER, path / "stub" / "stub_trainer.py")
    (path / "witness").mkdir()
    made = Laboratory(path, path / "witness")
    made.edit("config/studies/toy.toml", "seeds = [0, 1]", "seeds = [0]")
    return made


def parent(pid: int) -> int:
    """The parent of a process: of a trainer it is the job that supervises it."""
    return psutil.Process(pid).ppid()


def tree(pid: int) -> list[int]:
    """A process and everything below it."""
    process = psutil.Process(pid)
    return [pid, *(child.pid for child in process.children(recursive=True))]


def facts_of(path: Path) -> Any:
    return json.loads(path.read_text())
