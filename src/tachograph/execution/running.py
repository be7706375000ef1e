"""From a planned run to its published target: what one job of the workflow does."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.execution.attempt import make_attempt
from tachograph.execution.cooldown import Cooled, cool_down, first_celsius, longest_wait, registered_for, temperature
from tachograph.execution.publishing import publish
from tachograph.execution.unchanged import refuse_edited_code
from tachograph.files import read_json
from tachograph.host.device import Device
from tachograph.lease.acquire import acquire
from tachograph.models import AnyStudy, MachineStudy, Program
from tachograph.scripting import forced_targets
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.planning import PlannedRun
from tachograph.study.recordkeeping import discard_attempt, set_record_aside
from tachograph.study.recovery import close_abandoned
from tachograph.study.registration import current_study, read_registration
from tachograph.study.state import StudyState, read_state
from tachograph.study.status import write_status
from tachograph.wording import share


@dataclass(frozen=True)
class Host:
    """Where the run is made: the device, the folder of lock files, and the patience in seconds."""

    device: Device
    lease_folder: Path | None
    max_wait_seconds: float


class RunFailedError(TachographError):
    """The run was tried and does not count; its files are kept."""

    exit_code = 1


def read_plan(path: Path) -> PlannedRun:
    """The plan that the rule ``plan_run`` wrote. Raises TachographError if it is not one."""
    try:
        return PlannedRun.from_dict(read_json(path))
    except (TypeError, KeyError) as error:
        raise TachographError(f"{path}: not a planned run: {error}") from None


def is_forced(planned: PlannedRun, folder: StudyFolder, rule: str) -> bool:
    """Whether the user asked for this run to be made again (``snakemake TARGET -f``, ``-F``, ``-R RULE``)."""
    own = {(folder.path / file).resolve() for file in (planned.target, planned.run_file)}
    return any(name in ("*", rule) or Path(name).resolve() in own for name in forced_targets())


def execute(
    planned: PlannedRun, folder: StudyFolder, host: Host, *, forced: bool, say: Callable[[str], None], root: Path
) -> None:
    """Make the run if it is not already there, and publish its target.

    A run that counts, or that failed a gate, and was made of exactly this plan is published again without touching
    the device, whatever made Snakemake start the job. Raises :class:`RunFailedError` if the attempt has no result and
    :class:`LeaseUnavailableError` if the device stays taken.
    """
    ledger = Ledger(folder.ledger)
    study, trainer, everything = _registered(folder)
    planned = _as_registered(planned, everything)
    ledger.append("requested", run=planned.key, forced=forced)
    before = read_state(folder).settled(planned)
    if before and not forced:
        publish(planned, before, folder)
        say(f"{planned.study}: {planned.key} is there (attempt {before.number}), published again without a new run")
        return
    with acquire(
        host.device,
        host.lease_folder,
        study=planned.study,
        run=planned.key,
        max_wait_s=host.max_wait_seconds,
        max_hold_s=planned.max_hold_seconds + longest_wait(planned, study),
        say=say,
    ) as lease:
        close_abandoned(folder, [planned.key])
        meanwhile = read_state(folder).settled(planned)
        if meanwhile and (before is None or meanwhile.number != before.number):
            publish(planned, meanwhile, folder)
            say(f"{planned.study}: {planned.key} was made by another job meanwhile, published")
            return
        refuse_edited_code(planned, study, trainer, root)
        if before:
            discard_attempt(folder, planned.key, before.number, "forced rerun")
        else:
            set_record_aside(folder, f"{planned.key} is made")
        state = read_state(folder)
        left = None if forced else _seconds_left(planned, study, everything, state)
        no_time = None if left is None or left > 0 else _no_time(planned, study, left)
        if left is not None and 0 < left < planned.max_hold_seconds:
            planned = replace(planned, max_hold_seconds=left)
        say(no_time or _where_we_are(planned, everything, state, host.device))
        cooled = _cooled(planned, study, everything, state, host.device, say)
        made = make_attempt(planned, trainer, folder, lease, root, say, no_time, cooled)
    attempt = next(one for one in read_state(folder).attempts[planned.key] if one.number == made.number)
    if attempt.has_result:
        publish(planned, attempt, folder)
    write_status(folder)
    kept = folder.path / attempt.folder
    if not attempt.has_result:
        raise RunFailedError(f"{planned.study}: {planned.key} does not count: {made.sentence}; its files are in {kept}")
    if attempt.gate is not None:
        say(
            f"{planned.study}: {planned.key} is INVALID: {attempt.reason}; it gives no number and stands so in "
            f"the record; `snakemake {folder.path / planned.target} -f` makes it again; its files are in {kept}"
        )


def _cooled(
    planned: PlannedRun,
    study: AnyStudy,
    everything: list[PlannedRun],
    state: StudyState,
    device: Device,
    say: Callable[[str], None],
) -> Cooled | None:
    """Wait for the registered cool-down of a timed run. None where none is registered."""
    registered = registered_for(planned, study)
    if registered is None:
        return None
    return cool_down(
        registered,
        first_celsius(state, everything),
        lambda: temperature(device),
        lambda sentence: say(f"{planned.study}: {planned.key}: {sentence}"),
    )


def _seconds_left(
    planned: PlannedRun, study: AnyStudy, everything: list[PlannedRun], state: StudyState
) -> float | None:
    """What the other cells of a machine study left of the time registered for all. None without such a limit."""
    if not isinstance(study, MachineStudy) or study.total_seconds is None:
        return None
    held = [state.counted(run) for run in everything if run.key != planned.key]
    return study.total_seconds - sum(attempt.hold_seconds or 0.0 for attempt in held if attempt)


def _no_time(planned: PlannedRun, study: AnyStudy, left: float) -> str:
    """Why a cell of a machine study is not run: the time registered for all cells is used up."""
    assert isinstance(study, MachineStudy)
    assert study.total_seconds is not None
    return (
        f"{planned.study}: {planned.key} is not run: the cells before it took {study.total_seconds - left:.0f} s of "
        f"the {study.total_seconds:g} s registered for all"
    )


def _registered(folder: StudyFolder) -> tuple[AnyStudy, Program, list[PlannedRun]]:
    registration = read_registration(folder)
    if registration is None:
        raise TachographError(
            f"{folder.sealed_registration}: the study is not registered, expected rule register first"
        )
    return current_study(registration)


def _as_registered(planned: PlannedRun, everything: list[PlannedRun]) -> PlannedRun:
    """The registered entry of this run. Its plan file may be older: it is named by what determines the result, which
    the hold limit and the place in the order do not."""
    for run in everything:
        if (run.key, run.identity) == (planned.key, planned.identity):
            return run
    raise TachographError(
        f"{planned.study}: {planned.key} is registered with another plan than that of {planned.plan_file}; "
        "start snakemake again"
    )


def _where_we_are(planned: PlannedRun, everything: list[PlannedRun], state: StudyState, device: Device) -> str:
    """What starts, how much of the study is done, and what is still to come."""
    done = sum(state.settled(run) is not None for run in everything)
    left = [run.key for run in everything if state.settled(run) is None and run.key != planned.key]
    coming = f"then {', '.join(left[:3])}{' …' if len(left) > 3 else ''}" if left else "the last run"
    return (
        f"{planned.study}: {planned.key} starts on {device.physical_id}; "
        f"{share(done, len(everything), 'run', 'is', 'are')} done, {coming}"
    )


def say_on_terminal(sentence: str) -> None:
    """Progress goes to standard error, where Snakemake's own messages go; a lost terminal does not end a run."""
    with contextlib.suppress(OSError):
        print(sentence, file=sys.stderr, flush=True)
