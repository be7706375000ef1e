"""One attempt at a planned run: made under the lease, kept whatever becomes of it, sealed when it ends."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tachograph import __version__
from tachograph.errors import TachographError
from tachograph.execution.cellfile import KEPT, MEASURED, cell_file
from tachograph.execution.cooldown import Cooled
from tachograph.execution.environment import portable, recorded, redacted, run_environment
from tachograph.execution.judging import Judgement, judge, says_not_finite
from tachograph.execution.outcome import not_started
from tachograph.execution.parenthood import plainly
from tachograph.execution.progress import Progress
from tachograph.execution.supervise import Outcome, supervise
from tachograph.execution.turns import BASE, evidence, make_turns, turn_folder
from tachograph.files import digest, sha256_file, write_json
from tachograph.host.device import Device
from tachograph.host.driver import driver_version
from tachograph.host.machine import distributions, installed_packages
from tachograph.host.sampler import HostSampler
from tachograph.lease.acquire import Lease
from tachograph.lease.processes import boot_id, own_start_ticks, printable
from tachograph.models import Program, Trainer
from tachograph.study.fingerprint import module_folder
from tachograph.study.gitstate import git_state
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.planning import PlannedRun, resolve_command
from tachograph.study.seal import put_back, seal, stray
from tachograph.study.state import read_state
from tachograph.study.status import write_status
from tachograph.wording import counted

LOG = "trainer.log"
RUN = "run.json"


@dataclass(frozen=True)
class MadeAttempt:
    """What is left of an attempt: its number, how it ended, whether it is valid, and the seal of its files."""

    number: int
    outcome: Outcome
    judgement: Judgement
    files: dict[str, str]

    @property
    def sentence(self) -> str:
        """How it went, for people."""
        if self.judgement.validity == "valid":
            return "finished"
        return f"{self.outcome.status}: {self.judgement.reason}"


def _shows_progress(planned: PlannedRun) -> bool:
    return planned.trains or planned.in_turn


def own_process() -> dict[str, Any]:
    """This process, told apart from a later one with the same number."""
    return {"pid": os.getpid(), "start_ticks": own_start_ticks(), "boot_id": boot_id(), "host": socket.gethostname()}


def make_attempt(
    planned: PlannedRun,
    trainer: Program,
    folder: StudyFolder,
    lease: Lease,
    root: Path,
    say: Callable[[str], None],
    no_time: str | None = None,
    cooled: Cooled | None = None,
) -> MadeAttempt:
    """Run the program once under ``lease`` and seal what it wrote. The ledger gets a line before and one after.

    ``cooled`` is how the device had cooled down before, where that is registered. ``no_time`` is why it is not run at
    all: an attempt without a process, so that nothing is missing in silence.
    """
    ledger = Ledger(folder.ledger)
    number = _next_number(folder, planned.key)
    # The line comes before the folder: a folder of which the ledger does not tell would be taken for a lost line.
    ledger.append(
        "started",
        run=planned.key,
        attempt=number,
        identity=planned.identity,
        process=own_process(),
        block=planned.block,
    )
    place = folder.attempts / planned.key / f"{number:03d}"
    place.mkdir(parents=True)
    with contextlib.suppress(TachographError):  # the page is a courtesy: a full disk may still have room for the run
        write_status(folder)
    result = place / Path(planned.target).name
    out = place if planned.trains else place / MEASURED if planned.role == "cell" else result
    first_out = place / turn_folder(1, BASE) if planned.in_turn else out
    command = resolve_command(planned, out=str(first_out), device=lease.device.name)
    kernels = folder.path.parent.resolve() / ".kernels"
    environment = run_environment(planned, kernels)
    sampler = HostSampler(lease.device)
    first_rows: list[float] = []  # when the first iteration of each program was seen while it ran, monotonic

    def start(plan: PlannedRun, out: Path, seed: int, limit: float) -> Outcome:
        progress = None
        if isinstance(trainer, Trainer) and _shows_progress(plan):
            progress = Progress(plan, trainer.history, out, say)

        def tick(pid: int) -> None:
            sampler.tick(pid)
            if progress:
                progress()

        outcome = supervise(
            resolve_command(plan, out=str(out), device=lease.device.name, seed=seed),
            lease=lease,
            cwd=root,
            env=run_environment(plan, kernels),
            log_path=place / LOG,
            max_hold_s=limit,
            on_tick=tick,
        )
        if progress:
            first_rows.extend([progress.first_row_at] if progress.first_row_at is not None else [])
            progress()  # after the program: a row that is seen only now tells no time at which it worked
        return outcome

    sampler.start()
    if no_time:
        outcome = not_started("time_limit", no_time)
    elif planned.in_turn:
        assert isinstance(trainer, Trainer)
        outcome = make_turns(planned, trainer, result, lease.device.kind, start)
    else:
        outcome = start(planned, out, planned.seed, planned.max_hold_seconds)
    sampler.stop()
    lost = put_back(place)
    if isinstance(trainer, Trainer) and planned.trains:
        result = trainer.history.path_in(place)
    reason = _reason(outcome, place / LOG)
    reason = redacted(reason, environment, planned) if reason else None
    if planned.role == "cell":
        words = redacted(_last_line(place / LOG), environment, planned)
        write_json(result, cell_file(planned, outcome, place / MEASURED, words))
    if planned.trains and says_not_finite(trainer, outcome.status, outcome.exit_code):
        result.touch()  # a result, even where the trainer gave up before its first row
    strange = lost or stray(place)
    if strange:
        judgement = Judgement("invalid", strange)
    else:
        lived = outcome.ended_monotonic - outcome.started_monotonic
        judgement = judge(planned, trainer, result, outcome.status, reason, outcome.exit_code, lived)
    sealed = seal(place)
    facts = {
        "schema": "run/1",
        "generator": {"name": "tachograph", "version": __version__},
        "study": planned.study,
        "run": planned.as_dict(),
        "attempt": number,
        # Relative to the working directory, which is that of the Snakefile.
        "command": [portable(part, root) for part in command],
        "environment": {name: portable(value, root) for name, value in recorded(environment, planned).items()},
        "device": asdict(lease.device),
        "code": {"fingerprint": planned.code, "git": _trainer_git(trainer, root)},
        "software": _software(lease.device),
        "process": own_process(),
        "outcome": outcome.as_record(),
        "lease": lease.as_record(),
        "host": sampler.summary(first_rows[0] if planned.trains and first_rows else None),
        **({"cool_down": cooled.as_record()} if cooled else {}),
        "validity": judgement.validity,
        "reason": judgement.reason,
        "checks": judgement.checks,
        "ingest": judgement.ingest,
        "result": result.relative_to(place).as_posix(),
        "evidence": [name for name in sealed if name in (evidence(result) if planned.in_turn else KEPT)],
        "files": sealed,
    }
    write_json(place / RUN, facts)
    files = {**sealed, RUN: sha256_file(place / RUN)}
    ledger.append(
        "ended",
        run=planned.key,
        attempt=number,
        status=outcome.status,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        validity=judgement.validity,
        reason=judgement.reason,
        gate=judgement.gate,
        files=files,
        hold_seconds=time.monotonic() - lease.since_monotonic,
        wait_seconds=lease.waited_s,
        started_monotonic=outcome.started_monotonic,
        ended_monotonic=outcome.ended_monotonic,
        **({"start_celsius": cooled.celsius} if cooled else {}),
    )
    return MadeAttempt(number, outcome, judgement, files)


def _software(device: Device) -> dict[str, str | None]:
    """What the run was made with; the digest stands for all that is installed, which machine.json lists once."""
    python, everything = platform.python_version(), distributions()
    packages = {**installed_packages(everything), **driver_version(device), "all packages": digest(everything)[:16]}
    return {"python": python, **packages}


def _next_number(folder: StudyFolder, key: str) -> int:
    """The number of a new attempt; numbers are never used twice."""
    told = [attempt.number for attempt in read_state(folder).attempts.get(key, [])]
    there = [int(path.name) for path in (folder.attempts / key).glob("[0-9]*") if path.name.isdecimal()]
    return max([*told, *there], default=0) + 1


def _reason(outcome: Outcome, log: Path) -> str | None:
    """Why the trainer did not finish, with its own last words if it failed."""
    if outcome.status == "finished":
        return None
    if outcome.status == "failed":
        return f"{outcome.reason}: {_last_line(log)}"
    if outcome.signal == "SIGKILL" and outcome.oom_kills:
        return f"{outcome.reason}, while the kernel killed {counted(outcome.oom_kills, 'process')} for want of memory"
    return outcome.reason


def _last_line(log: Path) -> str:
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - 4096))
            lines = stream.read().decode(errors="replace").split("\n")
    except OSError:
        return "no log"
    return printable(plainly(next((line for line in reversed(lines) if line.strip()), "no output")), 300)


def _trainer_git(trainer: Program, root: Path) -> dict[str, Any]:
    """Git state of the repository that the trainer's code lies in."""
    for module in trainer.code.modules:
        place = module_folder(module)
        if place:
            return git_state(place)
    return git_state(root)
