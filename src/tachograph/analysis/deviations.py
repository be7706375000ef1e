"""Deviations from the registration, collected by the program and not remembered by a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tachograph.analysis.disturbance import foreign_cpus, loaded, quiet, warming
from tachograph.analysis.mixed import mixed
from tachograph.analysis.sealed import Sealed, SealedStudy, intact
from tachograph.evidence.clocks import wall_clock_step
from tachograph.evidence.contention import HEATING
from tachograph.evidence.ingest import DEVIATIONS
from tachograph.wording import counted

BEFORE, AFTER = "before results were known", "after results were known"


def deviations(
    sealed: SealedStudy, runs: list[dict[str, Any]], order: dict[str, Any], stages: dict[str, Any]
) -> list[dict[str, Any]]:
    """Every deviation as ``{"id", "kind", "run", "what_happened", "when_noticed", "effect"}``.

    ``runs``, ``order`` and ``stages`` are the sections of the analysis of these names.
    """
    found = [
        *_amendments(sealed),
        *_attempts(sealed),
        *_judged_anew(sealed),
        *_order(order),
        *_findings(runs),
        *_said(runs),
        *_waits(sealed),
        *_contention(sealed),
        *_warming(sealed),
        *_clock_steps(sealed),
        *_cooling(sealed),
        *_incidents(sealed),
        *_environments(sealed),
        *_threads(sealed),
        *_profiles(stages),
    ]
    return _numbered(found)


def of_any_study(sealed: Sealed, order: dict[str, Any]) -> list[dict[str, Any]]:
    """The deviations that any kind of study can have; ``order`` is the section of the analysis of this name."""
    found = [
        *_amendments(sealed),
        *_attempts(sealed),
        *_order(order),
        *_waits(sealed),
        *_clock_steps(sealed),
        *_incidents(sealed),
        *_environments(sealed),
    ]
    return _numbered(found)


def _numbered(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": f"D{number}", **one} for number, one in enumerate(found, start=1)]


def _entry(
    kind: str, what: str, *, run: str | None = None, when: str | None = None, effect: str = ""
) -> dict[str, Any]:
    return {"kind": kind, "run": run, "what_happened": what, "when_noticed": when, "effect": effect}


def _amendments(sealed: Sealed) -> Iterator[dict[str, Any]]:
    for number, one in enumerate(sealed.registration["amendments"], start=1):
        keys = ", ".join(change["key"] for change in one["changes"]) or "nothing but the planned runs"
        yield _entry(
            "amendment",
            f"amendment {number} of {one['at']} changed {keys}: {one['reason']}",
            when=AFTER if one["results_known"] else BEFORE,
            effect="runs made under the earlier registration count only where the amendment does not concern them",
        )


def _attempts(sealed: Sealed) -> Iterator[dict[str, Any]]:
    """Attempts that were discarded, failed or were not ended."""
    for key, tries in sealed.state.attempts.items():
        for one in tries:
            name = f"attempt {one.number}"
            if one.discarded:
                told = {True: "; a record had told its numbers", False: "; no record had told its numbers"}
                yield _entry(
                    "discarded",
                    f"{name} was discarded at {one.discarded['at']}: {one.discarded['reason']}"
                    + ("" if one.validity == "valid" else f"; it was invalid: {one.reason}")
                    + told.get(one.discarded["in_record"], ""),
                    run=key,
                    when=AFTER if one.discarded["known"] else BEFORE,
                    effect="another attempt may count in its place; both are listed among the attempts",
                )
                if not intact(sealed.folder, one):
                    yield _entry(
                        "damaged",
                        f"a file of {name} is no longer as it was sealed",
                        run=key,
                        effect="it is left out of the record, and no headline with the first valid attempts is given",
                    )
            elif one.status is None:
                yield _entry("unfinished", f"{name} has no end in the ledger", run=key, effect="it does not count")
            elif one.validity != "valid":
                yield _entry(one.status, f"{name}: {one.reason}", run=key, effect="it gives no number anywhere")


def _judged_anew(sealed: Sealed) -> Iterator[dict[str, Any]]:
    """Attempts that an amendment of the trainer file made valid or invalid, and failed ones that were left at that."""
    for event in sealed.state.events:
        if event["event"] == "judged" and "settled" in event:
            yield _entry(
                "settled",
                f"the failure of attempt {event['attempt']} was taken as the result at {event['at']}: "
                f"{event['settled']} ({event['reason']})",
                run=event["run"],
                effect=_effect_of_settling(sealed, event["run"], event["attempt"]),
            )
        elif event["event"] == "judged":
            before = event["before"]
            was = before["validity"] + (f" ({before['reason']})" if before["reason"] else "")
            now = event["validity"] + (f" ({event['reason']})" if event["reason"] else "")
            yield _entry(
                "judged again",
                f"attempt {event['attempt']} was {was}, is {now} by the amended trainer file, judged at {event['at']}",
                run=event["run"],
                when=AFTER,
                effect="its files are the same; whether it counts has changed",
            )


def _effect_of_settling(sealed: Sealed, key: str, attempt: int) -> str:
    """What a settled failure still does: nothing once another attempt counts, or none of its plan is asked for."""
    run = next((one for one in sealed.planned if one.key == key), None)
    standing = None if run is None else sealed.state.settled(run)
    if run is None:
        return "none any more: the run is no longer planned"
    if standing is None:
        return "none any more: the attempt was discarded, or made of another plan of the run"
    if standing.counts:
        return f"none any more: attempt {standing.number} counts"
    if standing.number != attempt:
        return f"none any more: attempt {standing.number} stands in its place, and is invalid"
    return "the run is invalid and gives no number anywhere"


def _order(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for sentence in order["deviations"]:
        yield _entry("order", sentence, effect="a drift of the machine may no longer cancel between the arms")


def _findings(runs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for run in runs:
        for finding in run["findings"]:
            if finding["kind"] not in DEVIATIONS:
                continue  # it describes the file and touches no number
            yield _entry("history", f"{finding['kind']}: {finding['sentence']}", run=run["run"])


def _said(runs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What really ran must not change within a run, nor between the runs of an arm."""
    by_arm: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for column, values in run["said"].items():
            if len(values) > 1:
                yield _entry("changed within a run", f"{column} was {', then '.join(values)}", run=run["run"])
            by_arm.setdefault((run["arm"], column), set()).update(values)
    for (arm, column), values in by_arm.items():
        if len(values) > 1:
            yield _entry("mixed", f"{column} differs between runs of arm {arm}: {', '.join(sorted(values))}")


def _incidents(sealed: Sealed) -> Iterator[dict[str, Any]]:
    """What happened around single runs: locks, leftovers, other programs, sampling."""
    for key, run in sealed.runs.items():
        lease, outcome, host = run.facts["lease"], run.facts["outcome"], run.facts["host"]
        if lease["lock_file_replaced"]:
            yield _entry(
                "lock replaced",
                "the lock file was removed or replaced while the run held it",
                run=key,
                effect="another program may have used the device meanwhile",
            )
        if outcome["survivors_killed"]:
            yield _entry(
                "left over",
                f"{counted(outcome['survivors_killed'], 'process')} outlived the trainer and had to be ended",
                run=key,
            )
        for process in host["gpu_processes"]["processes"]:
            memory = "" if process["mib"] is None else f", {process['mib']:,.0f} MiB"
            seen = ", ".join(process["seen"])
            yield _entry(
                "foreign GPU process",
                f"{process['name']} (pid {process['pid']}{memory}) used the GPU, seen {seen} the run",
                run=key,
                effect="the run may be slower than it would be alone",
            )
        for error in host["errors"]:
            yield _entry("sampling", f"the host could not be sampled: {error}", run=key)


def _clock_steps(sealed: Sealed) -> Iterator[dict[str, Any]]:
    """Counted jobs during which the host's wall clock was set, or the host slept, by two clocks of the supervisor."""
    steps = {key: wall_clock_step(run.facts["outcome"]) for key, run in sealed.runs.items()}
    told = [f"{key} {step:+.1f} s" for key, step in steps.items() if step]
    if told:
        yield _entry(
            "clock",
            f"the wall clock of the host stepped against the monotonic clock during a job: {', '.join(told)}",
            effect="none where the trainer times by a monotonic clock; else a duration of these jobs holds the step",
        )


def _waits(sealed: Sealed) -> Iterator[dict[str, Any]]:
    waited = {
        key: run.facts["lease"]["waited_s"] for key, run in sealed.runs.items() if run.facts["lease"]["contended"]
    }
    if waited:
        seconds = ", ".join(f"{key} {value:.1f} s" for key, value in waited.items())
        yield _entry(
            "waited",
            f"the device was taken by others when a run wanted it: {seconds}",
            effect="none on the numbers, as the wait is part of no measurement; the machine was warm or busy before",
        )


def _contention(sealed: SealedStudy) -> Iterator[dict[str, Any]]:
    """Every counted job that was disturbed; the factors rest on the runs of the blocks alone."""
    bounds = quiet(sealed)
    limit = bounds["foreign_cpus"]
    busy = {key: foreign_cpus(run.facts["host"]) for key, run in sealed.runs.items()}
    found = {key: value for key, value in busy.items() if value is not None and value > limit}
    if found:
        blocks = [key for key in found if sealed.runs[key].planned.role == "run"]
        told = ", ".join(f"{key} {value:.2f}" for key, value in found.items())
        yield _entry(
            "contention",
            f"other programs kept more than {limit:g} processors busy, on average through a job: {told}",
            effect=f"these jobs may be slower than they would be alone; {_among(sealed, blocks)}",
        )
    over = [key for key, run in sealed.runs.items() if loaded(run.facts["host"], bounds)]
    if over:
        yield _entry(
            "contention",
            f"the load average exceeded the registered {bounds['load']:g}, or is unknown, during {', '.join(over)}",
            effect="these jobs may be slower than they would be alone",
        )


def _warming(sealed: Sealed) -> Iterator[dict[str, Any]]:
    """Counted jobs whose device had not come to its working temperature (statistics.md, 3.3)."""
    rising = {key: warming(run.facts["host"]) for key, run in sealed.runs.items()}
    told = [f"{part} in {key} {slope:.1f}" for key, parts in rising.items() for part, slope in parts.items()]
    if told:
        yield _entry(
            "warming",
            f"a temperature rose by {HEATING:g} °C per minute or more, on average through a job: {', '.join(told)}",
            effect="clocks can fall as a device warms up, so the ends of these jobs may be slower than their starts",
        )


def _cooling(sealed: Sealed) -> Iterator[dict[str, Any]]:
    """Timed runs that started without the registered cool-down (statistics.md, 3.4)."""
    for key, run in sealed.runs.items():
        cooled = run.facts.get("cool_down")
        if cooled and cooled["reached"] is not True:
            what = "the device had not cooled down" if cooled["reached"] is False else "its temperature is unknown"
            yield _entry(
                "cool-down",
                f"{what}: {cooled['reason']}",
                run=key,
                effect="the run may have started warmer than others, and so at other clocks",
            )


def _among(sealed: Sealed, blocks: list[str]) -> str:
    """Which runs of the blocks, on which the factors rest, are among disturbed jobs."""
    if not blocks:
        return "no run of the blocks is among them"
    if len(blocks) == sum(run.planned.role == "run" for run in sealed.runs.values()):
        return "every run of the blocks is among them"
    return f"among them are runs of the blocks: {', '.join(blocks)}"


def _environments(sealed: Sealed) -> Iterator[dict[str, Any]]:
    for sentence in mixed(sealed):
        yield _entry("mixed", sentence, effect="a difference may come from this")


def _threads(sealed: Sealed) -> Iterator[dict[str, Any]]:
    """Counted runs whose environment says another number of threads than is registered."""
    for key, run in sealed.runs.items():
        threads = run.facts["environment"].get("OMP_NUM_THREADS")
        if threads != str(run.planned.threads):
            yield _entry("threads", f"OMP_NUM_THREADS was {threads}, registered are {run.planned.threads}", run=key)


def _profiles(stages: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for arm, summary in stages["arms"].items():
        for sentence in summary["warnings"]:
            yield _entry("profile", f"profile of arm {arm}: {sentence}")
    for one in stages["checks"]:
        if one["sentence"]:
            yield _entry("profile", one["sentence"], effect="none on the headline, which rests on the training runs")
