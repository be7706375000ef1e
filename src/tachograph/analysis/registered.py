"""Who registered a study and when, with the chain of its amendments: the same for every kind of study."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.sealed import SealedMachine, SealedStudy
from tachograph.study.registration import current


def registered(sealed: SealedStudy | SealedMachine) -> dict[str, Any]:
    """Identity, question, hashes and times of the registration that holds."""
    original, held = sealed.registration["original"], current(sealed.registration)
    study = sealed.study
    return {
        "id": study.registration.id,
        "date": study.registration.date.isoformat(),
        "question": study.registration.question,
        "kind": study.registration.kind,
        "file": "ledger/registration.json",
        "sha256": held["sha256"],
        "original_sha256": original["sha256"],
        "registered_at": original["at"],
        "data_seen_before": original["results_known"],
        "git": original["git"],
        "git_now": held["git"],
        "amendments": [
            {key: one[key] for key in ("at", "sha256", "previous", "reason", "results_known", "changes")}
            for one in sealed.registration["amendments"]
        ],
    }
