"""A cool-down between timed runs: each finds the device about as cool as the first did (statistics.md, 3.4).

It happens under the lease, before the program starts, and is part of no measurement.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tachograph.host.device import Device
from tachograph.host.sensors import Reading, gauges, gpu_gauges
from tachograph.host.tools import Unknown
from tachograph.models import AnyStudy, MachineStudy
from tachograph.models.study import CoolDown
from tachograph.study.planning import PlannedRun
from tachograph.study.state import StudyState

POLL_SECONDS = 5.0
TIMED = ("run", "aa")


@dataclass(frozen=True)
class Cooled:
    """``celsius`` as the program started, ``first_celsius`` before the first timed run; None where nobody knows.

    ``reached``: whether the registered temperature was reached, None where that is unknown; ``reason`` why not.
    """

    celsius: float | None
    first_celsius: float | None
    waited_seconds: float
    reached: bool | None
    reason: str | None

    def as_record(self) -> dict[str, Any]:
        return asdict(self)


def registered_for(planned: PlannedRun, study: AnyStudy) -> CoolDown | None:
    """The cool-down before this run; None where none is registered, or the run is in no comparison."""
    return None if isinstance(study, MachineStudy) or planned.role not in TIMED else study.design.cool_down


def longest_wait(planned: PlannedRun, study: AnyStudy) -> float:
    """Seconds for which this run may hold the device before it starts."""
    registered = registered_for(planned, study)
    return 0.0 if registered is None else registered.max_minutes * 60


def temperature(device: Device, root: Path = Path("/")) -> Reading:
    """Degrees Celsius of the card, or of the processor's hottest sensor where the study runs on it."""
    if device.kind == "cpu":
        return gauges(root)["cpu_temperature"]
    return gpu_gauges(device, root)["gpu_temperature"]


def first_celsius(state: StudyState, planned: list[PlannedRun]) -> float | None:
    """The temperature before the earliest timed run of the study that knew one; None before any."""
    timed = {run.key for run in planned if run.role in TIMED}
    told = [event.get("start_celsius") for event in state.events if event.get("run") in timed]
    return next((celsius for celsius in told if celsius is not None), None)


def cool_down(
    registered: CoolDown,
    first: float | None,
    look: Callable[[], Reading],
    say: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Cooled:
    """Wait until ``look`` gives at most ``first`` and the registered degrees; not at all where ``first`` is None."""
    started = time.monotonic()
    until = started + registered.max_minutes * 60
    told = False
    while True:
        now = look()
        waited = time.monotonic() - started
        if isinstance(now, Unknown):
            return Cooled(None, first, waited, None, now.reason)
        if first is None or now <= first + registered.degrees:
            return Cooled(now, first, waited, True, None)
        left = until - time.monotonic()
        if left <= 0:
            reason = f"{now:.1f} °C after {waited:.0f} s, registered at most {first:.1f} + {registered.degrees:g} °C"
            return Cooled(now, first, waited, False, reason)
        if not told:
            say(f"cooling down: {now:.1f} °C, the first timed run started at {first:.1f} °C; at most {left:.0f} s")
            told = True
        sleep(min(POLL_SECONDS, left))
