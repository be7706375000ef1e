"""A record read back for a comparison, and the named facts by which two records are alike or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.files import canonical_json, read_json
from tachograph.record.document import MACHINE_SCHEMA, SCHEMA
from tachograph.record.manifest import manifest_findings
from tachograph.study.layout import StudyFolder
from tachograph.wording import fault

COMPUTING = ("torch", "numba", "numpy")  # packages whose version is part of what is measured


@dataclass(frozen=True)
class Facts:
    """What a record is about. Values are texts or numbers that can be compared and shown.

    ``measured``: what was measured, ``where``: on what. Factors of records that agree in both estimate the same
    quantity. ``other`` facts are told where they differ and forbid nothing.
    """

    measured: dict[str, Any]
    where: dict[str, Any]
    other: dict[str, Any]

    @property
    def all(self) -> dict[str, Any]:
        return {**self.measured, **self.where, **self.other}


@dataclass(frozen=True)
class ReadRecord:
    """A sealed record. ``days`` (UTC) and ``boot`` say in which session its blocks ran; ``histories`` are SHA-256."""

    folder: Path
    content: dict[str, Any]
    facts: Facts
    boot: str
    days: frozenset[str]
    histories: frozenset[str]

    def other_session(self, other: ReadRecord) -> bool:
        """Whether both ran in different boots or on different days."""
        return self.boot != other.boot or not self.days & other.days


def read_record(path: Path) -> ReadRecord:
    """Read a record folder, or the standing record of a study's folder.

    Raises TachographError with one sentence if there is no record, or if it is not as it was sealed.
    """
    standing = StudyFolder(path).record
    folder = standing if standing.is_dir() else path
    if not (folder / "record.json").is_file():
        raise TachographError(f"{path}: found no record.json, expected a record folder or the folder of its study")
    content = read_json(folder / "record.json")
    if isinstance(content, dict) and content.get("schema") == MACHINE_SCHEMA:
        raise TachographError(f"{folder}: found the record of a machine study, expected those of training studies")
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise TachographError(f"{folder / 'record.json'}: it does not say schema {SCHEMA!r}, so it is no record")
    altered = manifest_findings(folder)
    if altered:
        raise TachographError(f"{folder}: {altered[0]}; a record that was altered is not compared")
    try:
        return _read(folder, content)
    except (KeyError, TypeError, AttributeError) as error:
        raise TachographError(f"{folder / 'record.json'}: it is not complete: {fault(error)}") from None


def _read(folder: Path, content: dict[str, Any]) -> ReadRecord:
    blocks = {run["run"] for run in content["runs"] if run["role"] == "run"}
    starts = [one["started_at"] for one in content["attempts"] if one["counts"] and one["run"] in blocks]
    return ReadRecord(
        folder,
        content,
        _facts(content),
        content["machine"]["boot_id"],
        frozenset(start[:10] for start in starts),
        frozenset(run["history"]["sha256"] for run in content["runs"] if run["role"] == "run"),
    )


def _facts(content: dict[str, Any]) -> Facts:
    held, machine = content["registration"], content["machine"]
    design, trainer, packages = held["design"], held["trainer"], machine["packages"]
    measured = {
        "trainer": trainer["name"],
        "code of the trainer": ", ".join(one[:12] for one in trainer["code"]),
        "stage": f"{trainer['stage']} ({trainer['work_unit']})",
        "settings": _shown(held["settings"]),
        **{f"arm {name}": _arm(held["arms"][name]) for name in held["arm_order"]},
        "reference arm": design["reference"],
        "iterations": design["iterations"],
        "warm-up": design["warmup"],
        "threads": held["threads"],
        **{name: packages.get(name) for name in COMPUTING},
    }
    where = {
        "processor": _shown(machine["cpu"]),
        "usable CPUs": machine["cpus_usable"],
        "device": f"{machine['device']['kind']}: {machine['device']['description']}",
    }
    other = {
        "study": content["study"]["name"],
        "registration": held["sha256"][:12],
        "seeds": ", ".join(map(str, design["seeds"])),
        "minimum effect": content["decision"].get("rule", {}).get("minimum_effect"),
        "host": machine["host"],
        "kernel": machine["kernel"],
        "governor": _shown(machine["governor"]),
        "Python": machine["python"]["version"],
        "tachograph": content["generator"]["version"],
        "boot": machine["boot_id"][:8],
        "reservations": len(content["reservations"]),
    }
    return Facts(measured, where, other)


def _arm(arm: dict[str, Any]) -> str:
    """What makes an arm; its title does not."""
    return canonical_json({key: arm[key] for key in ("environment", "settings", "arguments") if arm[key]})


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def differing(records: list[ReadRecord], kind: str = "all") -> list[str]:
    """Names of the facts (``measured``, ``where``, ``other`` or ``all``) in which the records do not all agree."""
    each = [getattr(record.facts, kind) for record in records]
    names = dict.fromkeys(name for facts in each for name in facts)
    return [name for name in names if len({canonical_json(facts.get(name)) for facts in each}) > 1]
