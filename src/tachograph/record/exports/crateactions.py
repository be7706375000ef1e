"""What was done in a study, as actions of its crate: every attempt, the making of the record, and their order.

An attempt that does not count is a failed action whose ``error`` says why: it failed, was killed or interrupted, a
gate found its result invalid, or somebody discarded it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tachograph.record.exports.cratetools import (
    ENGINE,
    OPERATOR,
    RECORD_STEP,
    WORKFLOW,
    moment,
    reference,
    role_of,
    step,
    trainer,
)
from tachograph.record.exports.uris import TACHOGRAPH
from tachograph.study.planning import IDENTITY_CHARACTERS
from tachograph.wording import counted, share

Record = dict[str, Any]
Entity = dict[str, Any]
COMPLETED = "http://schema.org/CompletedActionStatus"
FAILED = "http://schema.org/FailedActionStatus"
ACTIVE = "http://schema.org/ActiveActionStatus"
WORKFLOW_RUN = "#execution"
ENGINE_RUN = "#engine-run"
MAKING = "#making-of-the-record"


def actions(record: Record, files: Collection[str]) -> list[Entity]:
    """Actions, and the entities that only they speak of (files kept outside, settings). ``files``: paths inside."""
    done = [(role_of(one["run"]), _name(one)) for one in record["attempts"]] + [(RECORD_STEP, MAKING)]
    controls = [_control(role, name) for role, name in done]
    return [
        _workflow_run(record),
        {
            "@id": ENGINE_RUN,
            "@type": "OrganizeAction",
            "name": f"Snakemake executes the study {record['study']['name']}",
            "instrument": reference(ENGINE),
            "agent": reference(OPERATOR),
            "object": reference(*(one["@id"] for one in controls)),
            "result": reference(WORKFLOW_RUN),
            "endTime": moment(record["created"]),
        },
        *controls,
        *(_attempt(record, one, files) for one in record["attempts"]),
        _making(record, files),
        *_outside(record),
        *_settings(record),
    ]


def _place(attempt: Record) -> str:
    return f"attempts/{attempt['run']}/{attempt['attempt']:03d}"


def _name(attempt: Record) -> str:
    return f"#{_place(attempt)}"


def _control(role: str, action: str) -> Entity:
    """The engine's control of one action, by the step that it belongs to."""
    return {
        "@id": f"#control/{action.removeprefix('#')}",
        "@type": "ControlAction",
        "name": f"step {role}: {action.removeprefix('#')}",
        "instrument": reference(step(role)),
        "object": reference(action),
    }


def _workflow_run(record: Record) -> Entity:
    counts = record["counts"]
    lacking = counts["planned"] - counts["counted"]
    starts = [one["started_at"] for one in record["attempts"]]
    return {
        "@id": WORKFLOW_RUN,
        "@type": "CreateAction",
        "name": f"execution of the study {record['study']['name']}",
        "description": f"{share(counts['counted'], counts['planned'], 'planned run', 'counts', 'count')}, "
        + counted(counts["attempts"], "attempt"),
        "instrument": reference(WORKFLOW),
        "agent": reference(OPERATOR),
        "object": reference("ledger/registration.json", "machine.json"),
        "result": reference("record.json", "record.md"),
        "startTime": moment(min(starts, default=record["registration"]["registered_at"])),
        "endTime": moment(record["created"]),
        **_status(
            f"{counted(lacking, 'planned run has', 'planned runs have')} no attempt that counts" if lacking else None
        ),
    }


def _status(error: str | None) -> Entity:
    return {"actionStatus": COMPLETED} if error is None else {"actionStatus": FAILED, "error": error}


def _attempt(record: Record, attempt: Record, files: Collection[str]) -> Entity:
    outside = {one["path"] for one in record["external"]}
    paths = [f"{_place(attempt)}/{file}" for file in attempt["files"]]
    results = [path for path in paths if path in files] + [_outside_name(path) for path in paths if path in outside]
    plan = f"plan/{attempt['run']}.{attempt['identity'][:IDENTITY_CHARACTERS]}.json"
    entity = {
        "@id": _name(attempt),
        "@type": "CreateAction",
        "name": f"{attempt['run']}, attempt {attempt['attempt']}",
        "description": _about(attempt),
        "instrument": reference(trainer(record)),
        "agent": reference(OPERATOR),
        "object": reference(*([plan] if plan in files else []), "ledger/registration.json"),
        "startTime": moment(attempt["started_at"]),
        "endTime": moment(attempt["ended_at"]) if attempt["ended_at"] else None,
        "result": reference(*results) if results else None,
        "environment": reference(*_setting_names(record, attempt)) or None,
    }
    if attempt["status"] == "running":
        entity["actionStatus"] = ACTIVE
    else:
        entity |= _status(_error(attempt))
    return {key: value for key, value in entity.items() if value is not None}


def _about(attempt: Record) -> str:
    parts = [f"{attempt['status']}, {attempt['validity'] or 'not judged'}"]
    parts.append("counts" if attempt["counts"] else "does not count")
    if not attempt["current_plan"]:
        parts.append("made of an earlier version of the study")
    return "; ".join(parts)


def _error(attempt: Record) -> str | None:
    """Why an attempt does not count, or None if it ended well and nobody took it out."""
    parts = []
    if attempt["status"] != "finished":
        parts.append(attempt["status"].replace("_", " "))
    if attempt["exit_code"]:
        parts.append(f"exit code {attempt['exit_code']}")
    if attempt["signal"]:
        parts.append(f"signal {attempt['signal']}")
    if attempt["status"] == "finished" and attempt["validity"] != "valid":
        parts.append("invalid")
    if parts and attempt["reason"]:
        parts.append(attempt["reason"])
    if attempt["discarded"]:
        parts.append(f"discarded: {attempt['discarded']['reason']}")
    return "; ".join(parts) or None


def _making(record: Record, files: Collection[str]) -> Entity:
    """The analysis and the writing of the record: its inputs are the results that count."""
    counted = [
        f"{_place(one)}/{file}"
        for one in record["attempts"]
        for file in one["files"]
        if one["counts"] and f"{_place(one)}/{file}" in files
    ]
    made = ["record.json", "record.md", *record["tables"], *record["figures"]]
    return {
        "@id": MAKING,
        "@type": "CreateAction",
        "name": "analysis, tables, figures and record",
        "description": "from the sealed files of the attempts that count",
        "instrument": reference(TACHOGRAPH),
        "agent": reference(OPERATOR),
        "object": reference("ledger/registration.json", "ledger/ledger.jsonl", *counted),
        "result": reference(*(name for name in made if name in files)),
        "endTime": moment(record["created"]),
        "actionStatus": COMPLETED,
    }


def _outside_name(path: str) -> str:
    return f"#outside/{path}"


def _outside(record: Record) -> list[Entity]:
    """Outputs that stay with the study (checkpoints, logs of the trainer): named, hashed, not enclosed."""
    found = []
    for one in record["external"]:
        entity = {
            "@id": _outside_name(one["path"]),
            "@type": "CreativeWork",
            "name": one["path"],
            "description": "kept in the folder of the study, not in this record",
            "sha256": one["sha256"],
        }
        if one["bytes"] is not None:
            entity["contentSize"] = str(one["bytes"])
        found.append(entity)
    return found


def _setting_names(record: Record, attempt: Record) -> list[str]:
    if not attempt["current_plan"]:
        return []  # the environment of an earlier plan is in the attempt's run.json
    return [
        _setting_name(one["run"], name)
        for one in record["commands"]
        for name in one["environment"]
        if one["run"] == attempt["run"]
    ]


def _setting_name(run: str, variable: str) -> str:
    return f"#environment/{run}/{variable}"


def _settings(record: Record) -> list[Entity]:
    """The registered environment variables of each planned run."""
    return [
        {"@id": _setting_name(one["run"], name), "@type": "PropertyValue", "name": name, "value": value}
        for one in record["commands"]
        for name, value in one["environment"].items()
    ]
