"""Write the JSON schemas of all files under config/: python workflow/scripts/write_schemas.py

The schema of a record is written by hand; what the record of a machine study shares with it is copied.
"""

import json
from pathlib import Path
from typing import Any

from tachograph.files import pretty_json
from tachograph.models import Checker, Configuration, MachineStudy, Study, Trainer

FOLDER = Path(__file__).parents[1] / "schemas"
MODELS = {
    "study": Study,
    "trainer": Trainer,
    "machine": MachineStudy,
    "checker": Checker,
    "configuration": Configuration,
}
OWN = ("schema", "registration", "preflight")  # sections that a machine study fills otherwise


def schemas() -> dict[str, str]:
    """File name -> text of the schema, JSON Schema draft 2020-12."""
    found = {}
    for name, model in MODELS.items():
        schema: dict[str, Any] = model.model_json_schema(by_alias=True)
        dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
        found[f"{name}.schema.json"] = pretty_json({**dialect, **schema})
    found["machine-record.schema.json"] = pretty_json(machine_record())
    return found


def machine_record() -> dict[str, Any]:
    """The schema of a machine study's record, with the sections of the same name as in any other record."""
    record = json.loads((FOLDER / "record.schema.json").read_text(encoding="utf-8"))
    machine: dict[str, Any] = json.loads((FOLDER / "machine-record.schema.json").read_text(encoding="utf-8"))
    for part in ("properties", "$defs"):
        own = {name: value for name, value in machine[part].items() if name in OWN or name not in record[part]}
        machine[part] = {name: record[part].get(name) for name in machine[part]} | own
    return machine


if __name__ == "__main__":
    for name, text in schemas().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
