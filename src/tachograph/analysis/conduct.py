"""By which rules a study was conducted: what proves its time, when it stops, what is left out of it."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.sealed import SealedStudy

STOPPING = (
    "every planned run is made, to its registered length, and no measured value decides whether another one is made; "
    "a run that failed, was killed or was interrupted is tried again when the workflow is started again, one that went "
    "to its end and failed a gate only when somebody asks for it"
)
BY_STATUS = "an attempt whose process failed, was killed or interrupted, or was ended at the time limit does not count"
BY_DISCARD = "an attempt that somebody discarded does not count; reason and time are on the ledger and a deviation"


def conduct(sealed: SealedStudy) -> dict[str, Any]:
    """``timestamp_proof``, ``stopping_rule`` and ``exclusion_rules`` of the section ``registration``.

    The rules are those of the engine, the same for every study; ``exclusion_rules`` also name the gates by which the
    runs of this study were judged.
    """
    single = [run for run in sealed.runs.values() if not run.planned.in_turn]  # others' checks are runs, not gates
    gates = dict.fromkeys(check["name"] for run in single for check in run.facts["checks"])
    in_turn = "; nor does a candidate of which one run fails one" if len(single) < len(sealed.runs) else ""
    return {
        "timestamp_proof": timestamp_proof(sealed.registration["original"]["git"]["workflow"]),
        "stopping_rule": STOPPING,
        "exclusion_rules": [
            BY_STATUS,
            *([f"an attempt that fails a gate does not count: {', '.join(gates)}{in_turn}"] if gates else []),
            BY_DISCARD,
        ],
    }


def timestamp_proof(git: dict[str, Any]) -> dict[str, str]:
    """What stands for the time of the registration: a clean commit, if others can date it, or nothing."""
    if git["commit"] is None or git["dirty"]:
        return {"kind": "none", "detail": "only the clock of the machine"}
    detail = f"commit {git['commit'][:12]}, clean: a proof where it holds the study and others had it before the runs"
    return {"kind": "git", "detail": detail}
