"""The README of a record: what lies where, and how to check it."""

from __future__ import annotations

from typing import Any

from tachograph.record.exports.throughput import benchmark_suites
from tachograph.record.markdown import code, text

THROUGHPUT = (
    "| `tables/*.pyperf.json` | seconds per unit of work, one value per run: `pyperf compare_to` two of them |\n"
)
TEXT = """# Record of study {study}

{title}. Record {record_id} of {created}, about everything in this folder (`./`).

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
{throughput}\
| `registration/` | the study and trainer file as they were written, where they still said what is registered |
| `workflow/`, `schemas/` | the rules, profile, configuration and pinned packages; the JSON schemas of the files |
| `machine/mlperf_system.json` | the machine in the fields of an MLPerf system description; empty is unknown |
| `provenance.intoto.json` | in-toto statement with SLSA provenance, not signed; its subjects are all raw outputs |
| `ro-crate-metadata.json` | this folder as an RO-Crate (Provenance Run Crate 0.5), all attempts included |
| `RAW.SHA256SUMS` | all raw output of the study, that outside of this folder too |
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
`record.json` under `external`. To check them, and the copies here, where the study was executed:

```
cd results/{name} && sha256sum -c --strict --quiet record/RAW.SHA256SUMS
```

To sign the seal, and to check a signature, whose file `SHA256SUMS.sig` may lie beside it:

```
ssh-keygen -Y sign -f KEY -n record SHA256SUMS
ssh-keygen -Y verify -f ALLOWED_SIGNERS -I WHO -n record -s SHA256SUMS.sig < SHA256SUMS
```
"""


def readme(record: dict[str, Any]) -> str:
    """The text of ``README.md``."""
    return TEXT.format(
        schema=record["schema"],
        throughput=THROUGHPUT if benchmark_suites(record) else "",
        study=text(record["study"]["name"]),
        name=record["study"]["name"],
        title=text(record["study"]["title"]),
        record_id=code(record["record_id"]),
        created=record["created"],
    )
