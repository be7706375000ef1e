"""Write the JSON schemas of all files under config/: python workflow/scripts/write_schemas.py"""

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


def schemas() -> dict[str, str]:
    """File name -> text of the schema, JSON Schema draft 2020-12."""
    found = {}
    for name, model in MODELS.items():
        schema: dict[str, Any] = model.model_json_schema(by_alias=True)
        dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
        found[f"{name}.schema.json"] = pretty_json({**dialect, **schema})
    return found


if __name__ == "__main__":
    for name, text in schemas().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
