"""The record: sealed, complete, recomputable; every altered byte is found and named."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tachograph_study import derive, execute_study, lay_out, make, one_arm

from tachograph.analysis.sealed import read_sealed
from tachograph.analysis.study import sections
from tachograph.cli import main
from tachograph.errors import TachographError
from tachograph.files import read_json, sha256_file, write_json
from tachograph.record.build import write_record
from tachograph.record.manifest import MANIFEST, read_manifest, write_manifest
from tachograph.record.verify import verify
from tachograph.study.integrity import damaged_files
from tachograph.study.layout import StudyFolder
from tachograph.study.state import read_state

REPOSITORY = Path(__file__).parents[3]
SCHEMA = REPOSITORY / "workflow/schemas/record.schema.json"


@pytest.fixture
def copy(recorded: StudyFolder, tmp_path: Path) -> Path:
    """A copy of the record alone, far from its study."""
    return Path(shutil.copytree(recorded.record, tmp_path / "elsewhere"))


def test_sha256sum_accepts_the_manifest(copy: Path) -> None:
    """coreutils, in its strict mode, finds every file as it was sealed; the list is sorted and covers all."""
    command = ["sha256sum", "-c", "--strict", "--quiet", MANIFEST]
    assert subprocess.run(command, cwd=copy, check=False).returncode == 0
    names = list(read_manifest(copy))
    assert names == sorted(names, key=str.encode)
    on_disk = {p.relative_to(copy).as_posix() for p in copy.rglob("*") if p.is_file()}
    assert on_disk == {*names, MANIFEST}


def test_copied_record_verifies(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A record in another place verifies without its study; the command exits 0."""
    assert verify(copy) == []
    assert main(["verify", str(copy)]) == 0
    assert "every number follows" in capsys.readouterr().out


def test_every_flipped_byte_is_found_and_named(copy: Path) -> None:
    """Flip one byte in each file in turn, the manifest too: the seal names that very file."""
    for path in sorted(p for p in copy.rglob("*") if p.is_file()):
        name = path.relative_to(copy).as_posix()
        before = path.read_bytes()
        place = len(before) // 2
        path.write_bytes(before[:place] + bytes([before[place] ^ 1]) + before[place + 1 :])
        try:
            findings = verify(copy)
        except TachographError as error:
            findings = [str(error)]
        path.write_bytes(before)
        assert findings, name
        assert name == MANIFEST or any(finding.startswith(f"{name}: it was altered") for finding in findings), name
    assert verify(copy) == []


def test_missing_and_unlisted_files_are_found(copy: Path) -> None:
    """A file that is gone and a file that came in are both named."""
    (copy / "tables/runs.csv").rename(copy / "tables/more.csv")
    findings = "\n".join(verify(copy))
    assert "tables/runs.csv: it is listed in SHA256SUMS but not there" in findings
    assert "tables/more.csv: it is there but not listed" in findings


def edit_json(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(path.read_text())
    edit(content)
    write_json(path, content)


def test_forged_number_with_a_new_seal_is_found(copy: Path) -> None:
    """Somebody raises the headline factor and seals anew: the raw files give another number, which is shown."""

    def forge(record: dict[str, Any]) -> None:
        record["factors"][0]["factor"] = 40.0

    edit_json(copy / "record.json", forge)
    write_manifest(copy)
    findings = verify(copy)
    forged = "record.json: factors[0].factor: it says 40.0, the raw files give "
    assert any(finding.startswith((forged + "1.", forged + "2.")) for finding in findings)
    assert "record.md: it is not what record.json gives" in findings


def test_forged_page_or_table_with_a_new_seal_is_found(copy: Path) -> None:
    """A page or a table that says something else than record.json is found although its hash fits."""
    for name in ("record.md", "tables/factors.csv"):
        path = copy / name
        path.write_text(path.read_text().replace("fast", "slow"))
    write_manifest(copy)
    assert verify(copy) == [
        "tables/factors.csv: it is not what record.json gives",
        "record.md: it is not what record.json gives",
        "ro-crate-metadata.json: it is not what record.json gives",  # it holds the hashes of the other two
    ]


def test_forged_history_with_a_new_seal_is_found(copy: Path) -> None:
    """A history that was changed and sealed anew no longer fits the hash in the ledger."""
    path = copy / "attempts/run-fast-seed0/001/history.jsonl"
    path.write_text(path.read_text().replace('"steps": 640', '"steps": 6400'))
    write_manifest(copy)
    assert any("run-fast-seed0/001/history.jsonl: it was altered" in finding for finding in verify(copy))


def test_record_is_what_its_schema_says(copy: Path) -> None:
    """record.json is strict JSON, sorted, valid under the shipped schema; an unknown key is not."""
    text = (copy / "record.json").read_text()
    record = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert text == json.dumps(record, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(record, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**record, "verdict": "fine"}, schema)


def test_page_holds_the_sections_of_a_record(copy: Path) -> None:
    """Result first, then every section; full hashes verbatim; nothing in a title is read as a table."""
    page = (copy / "record.md").read_text()
    lines = page.splitlines()
    assert lines[0] == "# A stub with two paths \\| one of them slow"
    assert lines[2].startswith(("**HOLD fast**: ", "**ADOPT fast**: "))  # by how busy the machine is
    assert lines[2].endswith(" (exploratory study, one session).")
    assert lines[4].startswith("**fast is ")
    for title in (
        "Registration and machine", "Commands", "Stage table", "Throughput",
        "Phases, and what could still be won", "Factors", "Decision", "Matched curves",
        "Preflight",
        "Planned and done", "Provenance", "Deviations from the registration", "What was not measured",
        "How to verify",
    ):  # fmt: skip
        assert f"## {title}" in lines
    assert sha256_file(copy / "attempts/run-fast-seed0/001/history.jsonl") in page
    assert "speed on a GPU: every counted run used the CPU" in page


def test_no_log_of_the_trainer_is_copied(copy: Path) -> None:
    """The trainer's own log may hold anything: it is named by its hash and not copied."""
    assert not list(copy.rglob("*.log"))
    record = read_json(copy / "record.json")
    assert any(one["path"].endswith("trainer.log") and one["sha256"] for one in record["external"])


def test_same_content_keeps_the_standing_record(study: StudyFolder) -> None:
    """Writing the record again without a change keeps its id and its files, and piles up nothing."""
    before = sha256_file(study.record / MANIFEST)
    written = write_record(study, REPOSITORY)
    assert (written.kept, written.manifest_sha256) == (True, before)
    assert not study.records.exists()
    assert damaged_files(study, read_state(study), whole=True) == []


def test_new_content_sets_the_old_record_aside(study: StudyFolder) -> None:
    """A run made again: the old record moves whole, still verifies, and the new one says which it supersedes."""
    old = read_json(study.record / "record.json")["record_id"]
    execute_study(study.path.parents[1], forced="run-fast-seed0")
    assert not study.record.exists()
    assert verify(study.records / "001") == []
    make(study)
    record = read_json(study.record / "record.json")
    assert record["supersedes"]["record_id"] == old
    assert record["supersedes"]["folder"] == "records/001"
    assert "run-fast-seed0 is made again" in record["supersedes"]["why"]
    assert verify(study.record) == []


def test_edited_surroundings_alone_make_no_new_record(study: StudyFolder, tmp_path: Path) -> None:
    """Another comment or configuration: the standing record stays; the next one has the new files."""
    before = sha256_file(study.record / MANIFEST)
    repository = tmp_path / "repository"
    for name in ("Snakefile", "workflow/rules", "workflow/schemas", "profiles/default", "envs/requirements.txt"):
        source, target = REPOSITORY / name, repository / name
        target.parent.mkdir(parents=True, exist_ok=True)
        _ = shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)
    with (repository / "Snakefile").open("a") as stream:
        stream.write("# a comment\n")
    (study.path.parents[1] / "config/config.yaml").write_text("studies: [stub]\n")
    assert write_record(study, repository).kept
    assert sha256_file(study.record / MANIFEST) == before
    edit_json(study.machine, lambda machine: machine.update(host="another name"))
    derive(study)
    assert not write_record(study, repository).kept
    assert (study.record / "workflow/Snakefile").read_text().endswith("# a comment\n")
    assert (study.record / "workflow/config/config.yaml").read_text() == "studies: [stub]\n"
    assert verify(study.record) == []
    assert verify(study.records / "001") == []


def test_no_workflow_no_record(study: StudyFolder, tmp_path: Path) -> None:
    """Without a Snakefile to copy: one sentence that names it, and nothing has changed."""
    shutil.move(study.record, tmp_path / "record")
    with pytest.raises(TachographError, match=r"Snakefile: the file is not there"):
        write_record(study, tmp_path)
    assert not study.record.exists()
    assert not list(study.path.glob(".record.*"))


def test_study_file_that_says_something_else_is_not_copied(study: StudyFolder) -> None:
    """A study file that was edited after the runs is not passed off as the registered one."""
    path = study.path.parents[1] / "config/studies/stub.toml"
    path.write_text(path.read_text().replace("value = 4.0", "value = 2.0"))
    shutil.rmtree(study.record)
    write_record(study, REPOSITORY)
    assert not (study.record / "registration").exists()
    assert verify(study.record) == []


def test_stale_analysis_is_refused(study: StudyFolder) -> None:
    """An analysis.json that does not follow from the sealed files gives no record, and changes nothing."""
    edit_json(study.analysis, lambda analysis: analysis["factors"][0].update(factor=40.0))
    before = sha256_file(study.record / MANIFEST)
    with pytest.raises(TachographError, match=r"analysis.json: factors"):
        write_record(study, REPOSITORY)
    assert sha256_file(study.record / MANIFEST) == before
    assert not list(study.path.glob(".record.*"))


def test_altered_standing_record_is_not_built_over(study: StudyFolder) -> None:
    """A standing record that somebody edited is an error that names the file, not silently replaced."""
    path = study.record / "record.md"
    path.write_text(path.read_text() + "It is great.\n")
    with pytest.raises(TachographError, match=r"record.md: it was altered"):
        write_record(study, REPOSITORY)
    assert path.read_text().endswith("It is great.\n")


def test_links_are_refused(study: StudyFolder) -> None:
    """A table that is a link to somewhere else does not come into a record."""
    path = study.path / "figures/rates.svg"
    path.rename(study.path / "away.svg")
    path.symlink_to(study.path / "away.svg")
    with pytest.raises(TachographError, match=r"figures/rates.svg"):
        write_record(study, REPOSITORY)


def test_folder_without_record_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tachograph verify` on something else: one sentence, exit code not 0."""
    assert main(["verify", str(tmp_path)]) != 0
    assert "SHA256SUMS: the file is not there" in capsys.readouterr().err


MINIMAL = one_arm("One arm, one seed, nothing else", 4, 7)


def test_smallest_study_has_a_record(tmp_path: Path) -> None:
    """One arm, one run, no profile, no checks: the record says what there is, compares nothing, and verifies."""
    lay_out(tmp_path, lambda _: MINIMAL)
    folder = execute_study(tmp_path)
    make(folder)
    page = (folder.record / "record.md").read_text()
    assert "This study has one arm, so it compares nothing" in page
    assert "- the time of single stages: no profile is registered" in page
    assert "Not registered: parity, smoke." in page
    assert not (folder.record / "figures/factor.svg").exists()
    assert verify(folder.record) == []
    jsonschema.validate(read_json(folder.record / "record.json"), json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize(
    ("key", "spoil"),
    [
        ("profile-component-seed0", lambda content: content["rates"][0].pop("value")),
        ("profile-fast-seed0", lambda content: content.pop("total_seconds")),
    ],
)
def test_odd_file_of_a_trainer_costs_its_section_only(
    executed: Path, tmp_path: Path, key: str, spoil: Callable[[dict[str, Any]], None]
) -> None:
    """A profile or component file without its numbers: the section says so by file name, the rest stands."""
    sealed = read_sealed(StudyFolder(executed / "results/stub"))
    run = sealed.runs[key]
    content = run.content()
    spoil(content)
    path = tmp_path / run.path.name
    write_json(path, content)
    analysis = sections(replace(sealed, runs={**sealed.runs, key: replace(run, path=path)}))
    section = analysis["component" if "component" in key else "stages"]
    assert section["registered"]
    assert run.path.name in section["reason"]
    assert next(one for one in analysis["factors"] if one["headline"])["factor"] is not None
