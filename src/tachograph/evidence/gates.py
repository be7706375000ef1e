"""The gates: whether a run counts. Each can fail, and an exception while judging is a failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tachograph.evidence.columns import Missing
from tachograph.evidence.findings import Kind
from tachograph.evidence.history import History
from tachograph.evidence.judging import judged
from tachograph.wording import counted, share, verb

EXIT_STATUS = "exit status"
MAX_BAD_CLOCK_SHARE = 0.5
# Gates that speak of what the training computed, and not of how it was measured (statistics.md, 3.2, verdict table).
OF_THE_OUTPUT = frozenset({"iterations", "finite metrics", "work unit", "work", "zero work"})


@dataclass(frozen=True)
class Check:
    """One gate: its name, whether the run passed, and what was found."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class Expected:
    """What the registration demands of a run.

    ``first_iteration``: the number of the first one, None where the trainer may start anywhere.
    ``zero_work_floor``: every value of a zero-work column must exceed it. ``resume_allowed``: a run that was
    interrupted and resumed may count. ``cache`` is the registered policy ("cold", "warm"), None for none.
    """

    iterations: int
    work_unit: str
    metrics: tuple[str, ...] = ()
    first_iteration: int | None = None
    zero_work_floor: float = 0.0
    resume_allowed: bool = False
    cache: str | None = None


@dataclass(frozen=True)
class Ended:
    """How the process ended: ``exit_code`` None if a signal ended it; ``cache`` None where unknown."""

    exit_code: int | None
    signal: str | None = None
    cache: str | None = None


@dataclass(frozen=True)
class Judgement:
    """All checks of a run; ``reason`` is the first failed one in a sentence, None for a valid run."""

    checks: tuple[Check, ...]

    @property
    def valid(self) -> bool:
        return bool(self.checks) and all(check.ok for check in self.checks)

    @property
    def reason(self) -> str | None:
        if not self.checks:
            return "no gate was judged"
        failed = next((check for check in self.checks if not check.ok), None)
        return None if failed is None else f"{failed.name}: {failed.detail}"


def judge(history: History | None, ended: Ended, expected: Expected, unreadable: str = "") -> Judgement:
    """Judge one run. ``history`` None: it could not be read, ``unreadable`` says why."""
    checks = [_guarded(EXIT_STATUS, lambda: _exit(ended))]
    if history is None:
        checks.append(Check("history", False, unreadable or "there is no history"))
        return Judgement(tuple(checks))
    gates: list[tuple[str, Callable[[], tuple[bool, str]]]] = [
        ("iterations", lambda: _iterations(history, expected)),
        ("columns", lambda: _columns(history)),
        ("finite metrics", lambda: _finite(history, expected.metrics)),
        ("durations", lambda: _durations(history)),
        ("work unit", lambda: _unit(history, expected)),
        ("work", lambda: _work(history)),
        ("zero work", lambda: _zero_work(history, expected)),
        ("clock", lambda: _clock(history)),
        ("resume", lambda: _resume(history, expected)),
        ("cache", lambda: _cache(ended, expected)),
    ]
    checks += [_guarded(name, gate) for name, gate in gates]
    return Judgement(tuple(checks))


def _guarded(name: str, gate: Callable[[], tuple[bool, str]]) -> Check:
    found = judged("it", gate)
    if found.result is None:
        return Check(name, False, found.reason or "it was not judged")
    ok, detail = found.result
    return Check(name, ok, detail)


def _exit(ended: Ended) -> tuple[bool, str]:
    if ended.signal is not None or ended.exit_code is None:
        return False, f"ended by {ended.signal or 'an unknown cause'}"
    return ended.exit_code == 0, f"exit code {ended.exit_code}"


def _iterations(history: History, expected: Expected) -> tuple[bool, str]:
    found, planned = len(history.curve_rows), expected.iterations
    if found != planned:
        torn = ", the last line is torn" if Kind.TORN_TAIL in history.counts else ""
        return False, f"{found} of {counted(planned, 'registered iteration')}{torn}"
    first = int(history.iteration.min(initial=2**62))
    if expected.first_iteration is not None and first != expected.first_iteration:
        return False, f"the first iteration is {first}, registered {expected.first_iteration}"
    if history.counts.get(Kind.MISSING):
        return False, f"{counted(history.counts[Kind.MISSING], 'iteration is', 'iterations are')} missing in between"
    return True, f"{found} of {counted(planned, 'registered iteration')}"


def _columns(history: History) -> tuple[bool, str]:
    if Kind.SCHEMA_CHANGE in history.counts:
        told = next(f.sentence for f in history.findings if f.kind is Kind.SCHEMA_CHANGE)
        return False, told
    return True, "the same columns in every row"


def _finite(history: History, metrics: Sequence[str]) -> tuple[bool, str]:
    sparse = set(history.spec.sparse)
    for name in metrics:
        kinds = history.missing[name][history.curve_rows]
        bad = kinds != Missing.PRESENT
        if name in sparse:
            bad &= (kinds != Missing.ABSENT) & (kinds != Missing.NULL)
        if bad.any():
            row = history.curve_rows[int(np.argmax(bad))]
            kind = Missing(history.missing[name][row]).name.lower().replace("_", " ")
            where = f"iteration {history.iteration[row]} (line {history.line[row]})"
            return False, f"{name!r} is {kind} in {counted(int(bad.sum()), 'iteration')}, first in {where}"
    return True, f"{counted(len(metrics), 'registered metric is', 'registered metrics are')} finite in every row"


def _durations(history: History) -> tuple[bool, str]:
    for name, seconds in history.durations.items():
        bad = ~np.isfinite(seconds)
        if bad.any():
            return False, f"{name} is missing in {counted(int(bad.sum()), 'row')}, first in line {_line(history, bad)}"
    return True, "every duration is a number"


def _unit(history: History, expected: Expected) -> tuple[bool, str]:
    found = history.spec.work_unit
    return found == expected.work_unit, f"counts {found!r}, registered {expected.work_unit!r}"


def _work(history: History) -> tuple[bool, str]:
    bad = ~(history.work > 0)
    if len(history) == 0 or bad.any():
        first = f", first in line {_line(history, bad)}" if len(history) else ""
        return False, f"{int(bad.sum())} of {counted(len(history), 'iteration')} did no work{first}"
    return True, f"{history.work.sum():,.0f} {history.spec.work_unit} in all"


def _zero_work(history: History, expected: Expected) -> tuple[bool, str]:
    for name in history.spec.zero_work:
        bad = ~(history.columns[name] > expected.zero_work_floor)
        if len(history) == 0 or bad.any():
            first = f", first in line {_line(history, bad)}" if len(history) else ""
            return False, (
                f"{name!r} is not above {expected.zero_work_floor:g} in {int(bad.sum())} of "
                f"{counted(len(history), 'iteration')}{first}"
            )
    return (
        True,
        f"{counted(len(history.spec.zero_work), 'column stays', 'columns stay')} above {expected.zero_work_floor:g}",
    )


def _clock(history: History) -> tuple[bool, str]:
    bad = int((~history.clock_ok).sum())
    if bad == 0:
        return True, "every duration is possible"
    ok = bad <= MAX_BAD_CLOCK_SHARE * len(history)
    return (
        ok,
        f"{share(bad, len(history), 'row', 'has', 'have')} an impossible duration and "
        f"{verb(bad, 'gives', 'give')} no rate",
    )


def _resume(history: History, expected: Expected) -> tuple[bool, str]:
    if len(history.segments) <= 1:
        return True, "one session"
    detail = f"{len(history.segments)} sessions, {counted(history.wasted, 'iteration')} executed more than once"
    return expected.resume_allowed, detail + ("" if expected.resume_allowed else "; no resume was registered")


def _cache(ended: Ended, expected: Expected) -> tuple[bool, str]:
    if expected.cache is None:
        return True, "no cache policy is registered"
    found = "unknown" if ended.cache is None else ended.cache
    return found == expected.cache, f"cache was {found}, registered {expected.cache}"


def _line(history: History, bad: np.ndarray) -> int:
    return int(history.line[int(np.argmax(bad))])
