"""An in-toto Statement v1 with an SLSA provenance v1 predicate: what made the raw outputs. It is not signed.

Formats: https://in-toto.io/Statement/v1 and https://slsa.dev/provenance/v1.
"""

from __future__ import annotations

from typing import Any

from tachograph.record.exports.uris import BUILD_TYPE, BUILDER

Record = dict[str, Any]


def statement(record: Record) -> dict[str, Any]:
    """Subjects are all files that all attempts left, as they were hashed when the attempt ended."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": f"attempts/{one['run']}/{one['attempt']:03d}/{file}", "digest": {"sha256": sha}}
            for one in record["attempts"]
            for file, sha in sorted(one["files"].items())
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {"buildDefinition": _definition(record), "runDetails": _details(record)},
    }


def _definition(record: Record) -> dict[str, Any]:
    held, machine = record["registration"], record["machine"]
    return {
        "buildType": BUILD_TYPE,
        "externalParameters": {
            "study": record["study"]["name"],
            "registration": {"id": held["id"], "sha256": held["sha256"], "registered_at": held["registered_at"]},
            "runs": record["commands"],
        },
        "internalParameters": {"machine": machine["id"], "device": machine["device"]},
        "resolvedDependencies": _dependencies(record),
    }


def _dependencies(record: Record) -> list[dict[str, Any]]:
    """Repositories by their commits, the trainer's code by its fingerprint, the workflow's files by their hashes."""
    held = record["registration"]
    found = [
        {
            "name": f"repository of the {name}, at registration",
            "digest": {"gitCommit": git["commit"]},
            "annotations": {"dirty": git["dirty"], "diff_sha256": git["diff_sha256"]},
        }
        for name, git in sorted(held["git_now"].items())
        if git["commit"] is not None
    ]
    found += [
        {"name": f"code of the trainer {held['trainer']['name']}", "digest": {"tachographFingerprint": code}}
        for code in held["trainer"]["code"]
    ]
    return found + [
        {"name": name, "digest": {"sha256": sha}} for name, sha in sorted(record["workflow"]["files"].items())
    ]


def _details(record: Record) -> dict[str, Any]:
    generator, machine = record["generator"], record["machine"]
    versions = {
        "tachograph": generator["version"],
        "snakemake": machine["packages"].get("snakemake"),
        "python": machine["python"]["version"],
    }
    starts = [one["started_at"] for one in record["attempts"]]
    return {
        "builder": {"id": BUILDER, "version": {name: value for name, value in versions.items() if value}},
        "metadata": {
            "invocationId": f"urn:uuid:{record['record_id']}",
            "startedOn": min(starts, default=record["registration"]["registered_at"]),
            "finishedOn": record["created"],
        },
    }
