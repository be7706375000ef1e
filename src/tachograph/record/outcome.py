"""``outcome.toml``: what became of a study, beside its record and inside it, as a study file would note it."""

from __future__ import annotations

import json
from typing import Any

from tachograph.record.decision import headline, why
from tachograph.record.document import MACHINE_SCHEMA

OUTCOME = "outcome.toml"
SCHEMA = "outcome/1"


def outcome(record: dict[str, Any]) -> str:
    """The outcome as TOML, from the content of ``record.json`` and from nothing else; what is unknown has no key."""
    if record["schema"] == MACHINE_SCHEMA:
        summary = record["summary"]
        return _table(None, {**_about(record), "verdict": summary["verdict"], "cells": summary["planned"]})
    held, section, predicted = record["registration"], record["decision"], record["prediction"]
    parts = [_table(None, _about(record))]
    arms = [name for name in held["arm_order"] if headline(record, name)]
    decided = {one["arm"]: one for one in section["arms"]}
    parts += [_table("[[arms]]", _arm(record, name, decided.get(name))) for name in arms]
    if predicted["registered"]:
        parts.append(_table("[prediction]", _prediction(predicted)))
    parts += [_table("[[candidates]]", _candidate(one)) for one in record.get("candidates", [])]
    return "\n".join(parts)


def _about(record: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "study": record["study"]["name"],
        "registration": record["registration"]["id"],
        "registration_sha256": record["registration"]["sha256"],
        "record": record["record_id"],
        "created": record["created"],
        "status": record["status"],
    }


def _candidate(one: dict[str, Any]) -> dict[str, Any]:
    measured = one["measured"] or {}
    entry = {"candidate": one["name"], "against": one["against"], "verdict": one["verdict"], "reason": one["reason"]}
    return {**entry, "why": one["sentence"], **{key: measured.get(key) for key in ("part", "factor", "low", "high")}}


def _arm(record: dict[str, Any], arm: str, decided: dict[str, Any] | None) -> dict[str, Any]:
    measured = headline(record, arm)
    entry = {"arm": arm, "reference": measured["denominator"]}
    if decided is None:
        entry["why"] = record["decision"]["reason"]
    else:
        entry |= {"decision": decided["decision"], "why": why(decided)}
        entry |= {key: decided[key] for key in ("speed", "curves", "parity")}
    keys = ("factor", "low", "high", "confidence", "label", "window", "unit")
    return {
        **entry,
        **{key: measured.get(key) for key in keys},
        "blocks": len(measured["pairs"]),
        "note": _note(record, measured),
    }


def _note(record: dict[str, Any], measured: dict[str, Any]) -> str | None:
    """What weakens the factor: an interval of few blocks, or runs of which none is a headline."""
    notes = [*record["steadiness"]["no_headline"], measured.get("note")]
    return "; ".join(note for note in notes if note) or None


def _prediction(predicted: dict[str, Any]) -> dict[str, Any]:
    low, high = predicted.get("interval") or (None, None)
    return {
        "verdict": predicted["verdict"],
        "arm": predicted["arm"],
        "quantity": predicted["quantity"],
        "predicted": predicted["value"],
        "predicted_low": predicted["low"],
        "predicted_high": predicted["high"],
        "measured": predicted["measured"],
        "measured_low": low,
        "measured_high": high,
        "measured_over_predicted": predicted["ratio"],
        "n": predicted.get("n"),
        "n_of": predicted.get("n_of"),
    }


def _table(header: str | None, values: dict[str, Any]) -> str:
    lines = [] if header is None else [header]
    lines += [f"{key} = {_value(value)}" for key, value in values.items() if value is not None]
    return "\n".join(lines) + "\n"


def _value(value: str | float | bool) -> str:
    """A TOML value. A JSON string is a TOML one but for DEL, which TOML wants escaped; finite floats are alike."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")
