"""The examples in the documents are executed, not only read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from tachograph.evidence.decision import decide
from tachograph.evidence.design import Design as PlannedDesign
from tachograph.evidence.design import check_design
from tachograph.evidence.verdicts import CurveVerdict, ParityVerdict, SpeedVerdict
from tachograph.models import Checker, Configuration, DecisionRule, MachineStudy, Metric, Study, Trainer
from tachograph.models.study import Design

REPOSITORY = Path(__file__).parents[1]


def test_least_trainer_and_study_of_the_documents_are_valid():
    """Somebody who copies the two files from config/README.md gets no error."""
    text = (REPOSITORY / "config" / "README.md").read_text()
    blocks = [re.sub(r"(?m)^    ", "", block) for block in re.findall(r"(?m)((?:^    .*\n|^\n)+)", text)]
    files = [tomllib.loads(block) for block in blocks if block.strip().startswith("schema =")]
    assert [file["schema"] for file in files] == ["trainer/1", "study/1"]
    Trainer.model_validate(files[0])
    Study.model_validate(files[1])


def documented() -> set[str]:
    """The words that config/README.md sets as code, in a line or in an example."""
    text = (REPOSITORY / "config" / "README.md").read_text()
    code = [*re.findall(r"`([^`\n]+)`", text), *re.findall(r"(?m)^    .*$", text)]
    return set(re.findall(r"\w+", " ".join(code)))


@pytest.mark.parametrize("model", [Study, Trainer, Checker, MachineStudy, Configuration])
def test_every_key_of_a_file_is_in_the_documents(model):
    """A key that somebody may write is one that somebody can read about."""
    schema = model.model_json_schema(by_alias=True)
    keys = {key for table in (schema, *schema.get("$defs", {}).values()) for key in table.get("properties", {})}
    assert keys - documented() == set()


def section(title: str) -> str:
    """What stands under a heading of config/README.md."""
    text = (REPOSITORY / "config" / "README.md").read_text()
    return re.split(r"(?m)^## ", text.split(f"\n## {title}\n", 1)[1])[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every table row in ``text``."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def defaults(model: type[BaseModel], place: str = "") -> dict[str, object]:
    """Key of a file -> value that it has where it is left out."""
    return {
        f"{place}{field.alias or name}": field.get_default(call_default_factory=True)
        for name, field in model.model_fields.items()
        if not field.is_required()
    }


def test_defaults_of_the_least_study_are_those_of_the_models():
    """Every key that a study, its design, its rule or a curve may leave out is told with the value that it then has."""
    expected = defaults(Study) | defaults(Design, "design.") | defaults(DecisionRule, "decision.")
    expected |= defaults(Metric, "curves.")
    del expected["settings"]  # belongs to the trainer
    told: dict[str, str] = {}
    for names, value, *_ in rows(section("The least that works")):
        found = re.findall(r"`([^`]+)`", names)
        values = [one.strip() for one in value.split(",")]
        told |= dict(zip(found, values * (len(found) if len(values) == 1 else 1), strict=True))
    assert told.keys() == expected.keys()
    for key, value in told.items():
        if value == "none":
            assert expected[key] in (None, {}), key
        else:
            found = (
                expected[key].model_dump(exclude_none=True) if isinstance(expected[key], BaseModel) else expected[key]
            )
            assert tomllib.loads(f"value = {value.strip('`')}")["value"] == found, key


def test_least_study_leaves_out_what_is_told():
    """The two tables speak of keys that the example does not have."""
    example = re.search(r'(?m)^    schema = "study/1"\n(?:^    .*\n|^\n)+', section("The least that works"))
    study = tomllib.loads(re.sub(r"(?m)^    ", "", example[0]))
    assert set(study["design"]) == {name for name, field in Design.model_fields.items() if field.is_required()}
    assert not {"decision", "curves", "prediction", "device"} & set(study)


def test_what_seeds_can_show_is_what_the_design_check_says():
    """The table of p_min and of δ* to be expected, for margins of two and three SD between seeds."""
    table = [row for row in rows(section("How curves are judged")) if row[0].isdigit()]
    assert [row[0] for row in table] == ["1", "2", "3", "4", "6", "10"]
    for seeds, p_min, *stars in table:
        for star, margin in zip(stars, (2.0, 3.0), strict=True):
            design = PlannedDesign(int(seeds), int(seeds), int(seeds), paired_curves=True, margins={"loss": margin})
            found = check_design(design)
            assert found.p_min == pytest.approx(float(p_min), abs=5e-4)
            assert ("–" if found.delta_star is None else f"{found.delta_star:.2f}") == star


def test_every_verdict_on_curves_is_explained():
    """The fixed vocabulary, each word with when it is said and whether it may be adopted, as the rule decides."""
    table = {row[0]: row[2] for row in rows(section("How curves are judged")) if row[0] in set(CurveVerdict)}
    assert table.keys() == set(CurveVerdict)
    for verdict, adopted in table.items():
        judged = decide(SpeedVerdict.GAIN, CurveVerdict(verdict), ParityVerdict.PASS).decision
        assert judged == {"yes": "ADOPT", "no: REJECT": "REJECT"}.get(adopted, "HOLD")


def test_candidate_of_the_documents_is_valid():
    """Somebody who copies the example of a candidate into a study that names its arm gets no error."""
    text = (REPOSITORY / "config" / "README.md").read_text()
    example = re.search(r"(?m)(?:^    .*\n)*^    \[candidates\.compile\]\n(?:^    .*\n)*", text)
    candidate = tomllib.loads(re.sub(r"(?m)^    ", "", example[0]))["candidates"]
    study = tomllib.loads((REPOSITORY / "config/studies/quickstart.toml").read_text())
    del study["decision"]
    Study.model_validate({**study, "candidates": candidate})
