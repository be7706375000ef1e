"""The README of a record: what lies where, and how to check it."""

from __future__ import annotations

from typing import Any

from tachograph.record.markdown import code, text

TEXT = """# Record of study {study}

{title}. Record {record_id} of {created}, about everything in this folder.

| file | what it is |
|---|---|
| `record.md` | the page to read |
| `outcome.toml` | the decision, the measured factor and what became of the prediction, for programs and study files |
| `record.json` | every number of the page, strict JSON, schema `{schema}` |
| `ledger/registration.json` | the study as it was frozen before its first run, with all amendments |
| `ledger/ledger.jsonl` | one line per event; each holds the SHA-256 of the line before |
| `plan/` | one file per planned run: all that determines it |
| `attempts/` | what every attempt measured, and `run.json`: how it was made |
| `machine.json`, `preflight.json` | facts of the machine, checks before the first timed run |
| `tables/`, `figures/` | the tables as CSV, the figures as SVG and PNG |
| `SHA256SUMS` | the seal |

The folder may be moved or copied. To check that nothing was altered:

```
sha256sum -c --strict --quiet SHA256SUMS
```

To recompute every number of `record.json` and `record.md` from the raw files here, with Tachograph installed:

```
tachograph verify .
```

Files that were too large or not ours to copy (checkpoints, logs of the trainer) are named with their SHA-256 in
`record.json` under `external`.
"""


def readme(record: dict[str, Any]) -> str:
    """The text of ``README.md``."""
    return TEXT.format(
        schema=record["schema"],
        study=text(record["study"]["name"]),
        title=text(record["study"]["title"]),
        record_id=code(record["record_id"]),
        created=record["created"],
    )
