"""What the ledger says of a study: its attempts, which of them counts, and what is published."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tachograph.errors import TachographError
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.planning import PlannedRun
from tachograph.wording import fault

KEY = re.compile(r"[a-z]+-[A-Za-z0-9][A-Za-z0-9_-]*-seed[0-9]+")
ATTEMPT_STATUSES = ("finished", "failed", "killed", "time_limit", "interrupted")


@dataclass(frozen=True)
class Pruned:
    """A sealed file that `tachograph prune` removed: its size, and the line of the ledger (from 1) that says so."""

    bytes: int
    line: int

    @property
    def words(self) -> str:
        return f"pruned (ledger line {self.line})"


@dataclass
class Attempt:
    """One try at a run, as the ledger tells it. ``status`` is None while nothing says how it ended."""

    key: str
    number: int
    identity: str
    started_at: str
    process: dict[str, Any]
    status: str | None = None
    validity: str | None = None
    reason: str | None = None
    gate: str | None = None  # the gate that a result which could be read did not pass
    ended_at: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    hold_seconds: float | None = None
    discarded: dict[str, Any] | None = None
    pruned: dict[str, Pruned] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Relative to the study's folder."""
        return f"attempts/{self.key}/{self.number:03d}"

    @property
    def counts(self) -> bool:
        return self.validity == "valid" and self.discarded is None

    @property
    def has_result(self) -> bool:
        """Whether it is valid, or was read to the end and did not pass a gate."""
        return self.validity == "valid" or self.gate is not None

    @property
    def stands(self) -> bool:
        """Whether it is a result that nobody discarded."""
        return self.has_result and self.discarded is None


@dataclass
class StudyState:
    """The ledger of one study, read once."""

    events: list[dict[str, Any]]
    attempts: dict[str, list[Attempt]]
    published: dict[str, dict[str, Any]]
    requested: set[str]

    def counted(self, planned: PlannedRun) -> Attempt | None:
        """The attempt that counts for ``planned``: the first valid one that was made of exactly this plan."""
        for attempt in self.attempts.get(planned.key, []):
            if attempt.counts and attempt.identity == planned.identity:
                return attempt
        return None

    def settled(self, planned: PlannedRun) -> Attempt | None:
        """The attempt whose result stands for ``planned``: the one that counts, else the newest that failed a gate.

        A run that went to its end and failed a gate is an answer about its arm, and trying it again until it passes
        would be a choice among draws. So it stays invalid until it is discarded or asked for again.
        """
        tries = [a for a in self.attempts.get(planned.key, []) if a.stands and a.identity == planned.identity]
        return self.counted(planned) or (tries[-1] if tries else None)

    def open_failure(self, planned: PlannedRun) -> Attempt | None:
        """The newest attempt that says by its failure what ``planned`` does, while the run has no result; else None.

        Its program failed, was killed or hung, or wrote what cannot be read. An interrupted one says nothing about the
        run. This is what ``tachograph settle`` can let stand.
        """
        if self.settled(planned) is not None:
            return None
        tries = [a for a in self.attempts.get(planned.key, []) if a.identity == planned.identity]
        failed = [a for a in tries if a.discarded is None and a.status not in (None, "interrupted")]
        return failed[-1] if failed else None

    def run_status(self, planned: PlannedRun) -> str:
        """``counted``, ``invalid`` (tried, none valid) or ``missing``."""
        if self.counted(planned):
            return "counted"
        tried = [a for a in self.attempts.get(planned.key, []) if a.identity == planned.identity]
        return "invalid" if any(a.discarded is None and a.status for a in tried) else "missing"

    def latest(self, key: str) -> Attempt | None:
        tries = self.attempts.get(key)
        return tries[-1] if tries else None

    @property
    def any_finished(self) -> bool:
        """Whether the numbers of some run were already there to be known."""
        return any(attempt.has_result for tries in self.attempts.values() for attempt in tries)

    def last(self, *kinds: str) -> dict[str, Any] | None:
        """The newest event of one of these kinds."""
        return next((event for event in reversed(self.events) if event["event"] in kinds), None)


def read_state(folder: StudyFolder) -> StudyState:
    """Read the ledger. Raises TachographError if its chain is broken, or a line is damaged or lacks something."""
    state = StudyState(events=Ledger(folder.ledger).read(), attempts={}, published={}, requested=set())
    for line, event in enumerate(state.events, start=1):
        try:
            _fold(state, line, event)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TachographError(f"{folder.ledger}: line {line}: no event of a study: {fault(error)}") from None
    return state


def _fold(state: StudyState, line: int, event: dict[str, Any]) -> None:
    """Bring ``state`` up to date with one more line of the ledger."""
    kind, key = event["event"], event.get("run", "")
    if key and not KEY.fullmatch(key):
        raise ValueError(f"found the run {key!r}")
    for name in event.get("files", ()):
        if not name or name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"found the file {name!r}, expected one below the folder of the study")
    if kind == "requested":
        state.requested.add(key)
    elif kind == "published":
        state.requested.discard(key)
        state.published[key] = event
    elif kind == "started":
        state.attempts.setdefault(key, []).append(
            Attempt(
                key=key,
                number=event["attempt"],
                identity=event["identity"],
                started_at=event["at"],
                process=event["process"],
            )
        )
    elif kind in ("ended", "judged", "discarded", "pruned"):
        attempt = next((a for a in state.attempts[key] if a.number == event["attempt"]), None)
        if attempt is None:
            raise ValueError(f"found attempt {event['attempt']} of {key}, which was never started")
        if kind == "ended":
            attempt.status, attempt.validity = event["status"], event["validity"]
            attempt.reason, attempt.ended_at = event["reason"], event["at"]
            attempt.gate = event.get("gate")
            attempt.files, attempt.hold_seconds = event["files"], event["hold_seconds"]
        elif kind == "judged":
            attempt.validity, attempt.reason, attempt.gate = event["validity"], event["reason"], event["gate"]
        elif kind == "pruned":
            attempt.pruned |= {name: Pruned(size, line) for name, size in event["files"].items()}
        else:
            if state.published.get(key, {}).get("attempt") == attempt.number:
                state.requested.add(key)  # the discard withdraws the published copy
            attempt.discarded = {
                "reason": event["reason"],
                "at": event["at"],
                "known": event["numbers_known"],
                "in_record": event.get("in_record"),
            }


def counts(planned: Iterable[PlannedRun], state: StudyState) -> dict[str, Any]:
    """The two identities of run-lifecycle.md, as numbers.

    planned = counted + invalid + missing; attempts = finished + failed + killed + time_limit + interrupted (an
    attempt without an end in the ledger is named ``running``); discarded attempts are listed apart.
    """
    runs = {"counted": 0, "invalid": 0, "missing": 0}
    total = 0
    for run in planned:
        runs[state.run_status(run)] += 1
        total += 1
    tries = [attempt for group in state.attempts.values() for attempt in group]
    by_status = {status: sum(a.status == status for a in tries) for status in ATTEMPT_STATUSES}
    return {
        "planned": total,
        **runs,
        "attempts": len(tries),
        **by_status,
        "running": sum(a.status is None for a in tries),
        "discarded": sum(a.discarded is not None for a in tries),
    }
