"""Check a record wherever it lies: is it what was sealed, and do its numbers follow from its raw files?"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from tachograph import __version__
from tachograph.analysis.study import analyse
from tachograph.analysis.tables import as_csv, table
from tachograph.errors import TachographError
from tachograph.files import canonical_json, digest, parse_json, read_json
from tachograph.record.document import MACHINE_SCHEMA, SCHEMA, analysis_in
from tachograph.record.exports.crate import CRATE, crate_text, parts_of
from tachograph.record.exports.views import views
from tachograph.record.manifest import manifest_findings, read_manifest
from tachograph.record.outcome import OUTCOME, outcome
from tachograph.record.page import page
from tachograph.record.readme import readme
from tachograph.study.layout import StudyFolder
from tachograph.wording import fault

TOLERANCE = 1e-9  # relative: another processor or numpy may round the last digits of a sum differently
SHOWN = 20
TOLD = frozenset({"deviations", "reservations", "remarks", "not_measured"})  # lists of sentences: a version's own words
MISSING = object()


def verify(folder: Path) -> list[str]:
    """Everything that is wrong with the record in ``folder``, one sentence each; empty if it holds.

    The seal is checked both ways (missing, altered, unlisted files), then the analysis is computed again from the
    raw files and every number of ``record.json``, every table, the page and what is made for other people's tools
    (crate, statement, benchmark files) are compared with it. Figures are covered by the seal alone: their bytes depend
    on the version of matplotlib. So is what belongs to the version that wrote a record, when another version reads it:
    pages, words (among them which deviations it tells), columns and sections that one of the two lacks.
    Raises TachographError if there is no record to check.
    """
    found = manifest_findings(folder)
    try:
        record = read_json(folder / "record.json")
        if not isinstance(record, dict) or record.get("schema") not in (SCHEMA, MACHINE_SCHEMA):
            return [*found, f"record.json: it does not say schema {SCHEMA!r} or {MACHINE_SCHEMA!r}"]
        found += _registration(folder)
        analysis = parse_json(canonical_json(analyse(StudyFolder(folder))))
        found += _numbers(record, analysis)
        found += _texts(folder, record, analysis)
        found += _surroundings(folder, record)
    except TachographError as error:
        found.append(str(error))
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OSError) as error:
        found.append(f"it cannot be recomputed, as a file of it lacks or holds what no record does: {fault(error)}")
    return found


def _registration(folder: Path) -> list[str]:
    """The frozen contents must have the hashes that name them, and each amendment must hold its predecessor's."""
    registration = read_json(StudyFolder(folder).sealed_registration)
    found = []
    entries = [registration["original"], *registration["amendments"]]
    for number, entry in enumerate(entries):
        name = "the original" if number == 0 else f"amendment {number}"
        if digest(entry["content"]) != entry["sha256"]:
            found.append(f"ledger/registration.json: {name}: its content does not have the SHA-256 that it states")
        if number and entry["previous"] != digest(entries[number - 1]):
            found.append(f"ledger/registration.json: {name}: it does not follow the entry before it")
    return found


def _numbers(record: dict[str, Any], analysis: dict[str, Any]) -> list[str]:
    found = []
    for place, held, computed in _differences(analysis_in(record), analysis, "", _is_ours(record)):
        found.append(f"record.json: {place}: it says {_shown(held)}, the raw files give {_shown(computed)}")
        if len(found) == SHOWN:
            return [*found, "record.json: … and perhaps more"]
    return found


def _is_ours(record: dict[str, Any]) -> bool:
    """Whether this very version of tachograph wrote the record."""
    return bool(record["generator"]["version"] == __version__)


def _differences(held: Any, computed: Any, place: str, ours: bool) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(held, dict) and isinstance(computed, dict):
        keys = held.keys() | computed.keys() if ours else held.keys() & computed.keys()
        for key in sorted(keys if ours else keys - TOLD):
            inner = f"{place}.{key}" if place else key
            yield from _differences(held.get(key, MISSING), computed.get(key, MISSING), inner, ours)
    elif not ours and _is_words(held) and _is_words(computed):
        return
    elif isinstance(held, list) and isinstance(computed, list) and len(held) == len(computed):
        for number, (a, b) in enumerate(zip(held, computed, strict=True)):
            yield from _differences(a, b, f"{place}[{number}]", ours)
    elif not _same(held, computed) and (ours or not (_is_prose(held) and _is_prose(computed))):
        yield place, held, computed


def _is_prose(value: Any) -> bool:
    """A sentence, as against a verdict, a hash, a path or an id: several words, not all in capitals."""
    return isinstance(value, str) and " " in value and not value.isupper()


def _is_words(value: Any) -> bool:
    """A list of sentences, however many."""
    return isinstance(value, list) and all(map(_is_prose, value))


def _same(held: Any, computed: Any) -> bool:
    if isinstance(held, bool) or isinstance(computed, bool):
        return held is computed
    if isinstance(held, float) or isinstance(computed, float):
        numbers = isinstance(held, int | float) and isinstance(computed, int | float)
        return numbers and math.isclose(held, computed, rel_tol=TOLERANCE, abs_tol=1e-15)
    return type(held) is type(computed) and bool(held == computed)


def _shown(value: Any) -> str:
    text = "nothing" if value is MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"


def _texts(folder: Path, record: dict[str, Any], analysis: dict[str, Any]) -> list[str]:
    """Tables, preflight and pages must be what the content of record.json gives; compared as they would be written."""
    ours = _is_ours(record)
    tables = {name: table(analysis_in(record), Path(name).stem) for name in record["tables"]}
    expected: dict[str, str] = {}
    if ours:
        expected |= {name: as_csv(frame) for name, frame in tables.items()}
        expected["record.md"] = page(record)
        expected["README.md"] = readme(record)
        expected[OUTCOME] = outcome(record)
        expected |= views(record)
        expected[CRATE] = crate_text(record, parts_of(folder, read_manifest(folder)))
    found = []
    for name, text in expected.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != text.encode():
            found.append(f"{name}: it is not what record.json gives")
    if not ours:
        found += [
            f"{name}: it is not what record.json gives"
            for name in tables
            if not _same_columns(folder / name, tables[name])
        ]
    for place, _, _ in _differences(read_json(folder / "preflight.json"), analysis["preflight"], "", ours):
        found.append(f"preflight.json: {place}: it is not what the raw files give")
    return found


def _surroundings(folder: Path, record: dict[str, Any]) -> list[str]:
    """The copies of workflow, schemas and study file must be those that record.json names, where it names any."""
    sealed, named = read_manifest(folder), record.get("workflow", {"files": {}})["files"]
    return [
        f"{name}: it is not the file that record.json names" for name, sha in named.items() if sealed.get(name) != sha
    ]


def _same_columns(path: Path, expected: pd.DataFrame) -> bool:
    """Whether a table holds what is expected in the columns that both have, words apart."""
    if not path.is_file():
        return False
    held, fresh = pd.read_csv(path, dtype=str), pd.read_csv(io.StringIO(as_csv(expected)), dtype=str)
    both = [name for name in held.columns if name in fresh.columns]
    if len(held) != len(fresh) or not both:
        return False
    pairs = ((a, b) for name in both for a, b in zip(held[name], fresh[name], strict=True))
    return all(a == b or (pd.isna(a) and pd.isna(b)) or (_is_prose(a) and _is_prose(b)) for a, b in pairs)
