"""The fixed vocabulary of verdicts. A record uses these words and no others."""

from __future__ import annotations

from enum import StrEnum


class CurveVerdict(StrEnum):
    """Do the arms learn the same?"""

    INVALID = "INVALID"
    IDENTICAL = "IDENTICAL"
    MATCHED = "MATCHED"
    MATCHED_DIFFERENT = "MATCHED WITH DETECTABLE DIFFERENCE"
    NOT_MATCHED = "NOT MATCHED"
    SIZE_UNRESOLVED = "DIFFERENT, SIZE UNRESOLVED"
    INCONCLUSIVE = "INCONCLUSIVE"
    NO_VERDICT = "NO VERDICT"


class SpeedVerdict(StrEnum):
    """Is the fast arm faster by at least the registered minimum effect?"""

    GAIN = "GAIN"
    NO_GAIN = "NO GAIN"
    UNRESOLVED = "UNRESOLVED"
    PROVISIONAL = "PROVISIONAL"  # GAIN or NO GAIN under conditions that forbid to rely on it
    INVALID = "INVALID"  # beyond the registered ceiling while no numerics parity is shown
    NO_VERDICT = "NO VERDICT"


class ParityVerdict(StrEnum):
    """Do the arms compute the same function, judged against double precision?"""

    PASS = "PASS"
    FAIL = "FAIL"
    REFERENCE_BROKEN = "REFERENCE BROKEN"
    REFERENCE_NOT_REPEATABLE = "REFERENCE NOT REPEATABLE"
    NOT_REGISTERED = "NOT REGISTERED"
    NO_VERDICT = "NO VERDICT"


class PredictionVerdict(StrEnum):
    CONFIRMED = "CONFIRMED"
    REFUTED = "REFUTED"
    UNRESOLVED = "UNRESOLVED"
    NOT_TESTED = "NOT TESTED"


class Decision(StrEnum):
    ADOPT = "ADOPT"
    REJECT = "REJECT"
    HOLD = "HOLD"


def told(subject: str, verdict: StrEnum, why: str = "") -> str:
    """A verdict as a sentence about ``subject`` (such as ``the curves``), with its ground: no bare label."""
    plural = subject.endswith("s")
    is_, gives = ("are", "give") if plural else ("is", "gives")
    sentence = f"{subject} {gives if verdict == 'NO VERDICT' else is_} {verdict}"
    return f"{sentence}: {why}" if why else sentence


class CandidateVerdict(StrEnum):
    """What became of a candidate."""

    KEPT = "KEPT"
    REJECTED = "REJECTED"
    NOT_RUN = "NOT RUN"  # this device cannot run it, so nothing is said about it
    NO_VERDICT = "NO VERDICT"


class Reason(StrEnum):
    """Why a candidate was rejected or, of the last one, why nothing can be said of it."""

    INVALID_OUTPUT = "invalid-output"
    NO_GAIN = "no-gain"
    NOT_MATCHED = "not-matched"
    SUPERSEDED = "superseded"
    NUMERICS_NOT_SHOWN = "numerics-not-shown"
