"""What a record holds for other people's tools, read by those tools where there are any."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pyperf
import pytest
from tachograph_study import STUB, validators_python

from tachograph.files import read_json, sha256_file, write_json
from tachograph.record.exports.mlperf import system_description
from tachograph.record.manifest import write_manifest
from tachograph.record.verify import verify
from tachograph.study.layout import StudyFolder

REPOSITORY = Path(__file__).parents[3]


def run_pyperf(folder: Path, *arguments: str) -> str:
    """The words of the real program; it must succeed."""
    command = [sys.executable, "-m", "pyperf", *arguments]
    done = subprocess.run(command, cwd=folder / "tables", capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pyperf_compares_the_arms(recorded: StudyFolder) -> None:
    """`pyperf compare_to` pairs the benchmarks by name and prints the factors between the means of the arms.

    Which of them it calls significant is for pyperf and the machine's mood to decide; it names the others as hidden.
    """
    files = ("throughput-reference.pyperf.json", "throughput-fast.pyperf.json")
    words = run_pyperf(recorded.record, "compare_to", *files)
    suites = [pyperf.BenchmarkSuite.load(str(recorded.record / "tables" / name)) for name in files]
    names = suites[0].get_benchmark_names()
    assert names == suites[1].get_benchmark_names()
    assert names == ["end to end, whole run", "iteration, retained", "collection, retained"]
    for name in names:
        assert name in words
        slow, fast = (suite.get_benchmark(name).mean() for suite in suites)
        printed = re.search(rf"^{name}: .*: ([\d.]+)x faster", words, re.MULTILINE)
        assert printed is None or float(printed[1]) == pytest.approx(slow / fast, abs=0.006)


def test_values_are_seconds_per_unit_of_work_of_each_run(recorded: StudyFolder) -> None:
    """One value per counted run of the blocks: seconds over work of its table, so the inverse of its rate."""
    record = read_json(recorded.record / "record.json")
    suite = pyperf.BenchmarkSuite.load(str(recorded.record / "tables/throughput-fast.pyperf.json"))
    rates = [
        run["rates"]["stage"]["retained"]["value"]
        for run in record["runs"]
        if (run["role"], run["arm"]) == ("run", "fast")
    ]
    benchmark = suite.get_benchmark("collection, retained")
    assert len(rates) == 2
    assert benchmark.get_values() == pytest.approx([1 / rate for rate in rates], rel=1e-12)
    assert [run.get_metadata()["tachograph_run"] for run in benchmark.get_runs()] == [
        "run-fast-seed0",
        "run-fast-seed1",
    ]
    assert "seconds per environment steps" in benchmark.get_metadata()["description"]


def test_pyperf_shows_every_table(recorded: StudyFolder) -> None:
    """`pyperf show` reads each benchmark file, that of the component alone too."""
    names = sorted(path.name for path in (recorded.record / "tables").glob("*.pyperf.json"))
    assert names == ["component.pyperf.json", "throughput-fast.pyperf.json", "throughput-reference.pyperf.json"]
    for name in names:
        assert re.search(r"[\d.]+ (ns|us|ms|sec)\b", run_pyperf(recorded.record, "show", "-q", name))


# Required fields of the submission checker of MLPerf Inference (v1.0 and later); power submissions need more.
MLPERF = {
    "division", "submitter", "status", "system_name", "number_of_nodes", "host_processor_model_name",
    "host_processors_per_node", "host_processor_core_count", "host_memory_capacity", "host_storage_capacity",
    "host_storage_type", "accelerators_per_node", "accelerator_model_name", "accelerator_memory_capacity",
    "framework", "operating_system", "system_type", "other_software_stack", "host_processor_frequency",
    "host_processor_caches", "host_memory_configuration", "host_processor_interconnect", "host_networking",
    "host_networking_topology", "accelerator_frequency", "accelerator_host_interconnect",
    "accelerator_interconnect", "accelerator_interconnect_topology", "accelerator_memory_configuration",
    "accelerator_on-chip_memories", "cooling", "hw_notes", "sw_notes",
}  # fmt: skip


def test_system_description_has_the_fields_of_mlperf(recorded: StudyFolder) -> None:
    """Every required field is there; what the machine told is in it, what nobody knows is empty."""
    described = read_json(recorded.record / "machine/mlperf_system.json")
    machine = read_json(recorded.record / "machine.json")
    assert described.keys() >= MLPERF
    assert described["host_processor_model_name"] == machine["cpu"]
    assert described["host_processor_core_count"] == machine["cpus_physical"]
    assert described["accelerators_per_node"] == 0
    unknown = ("division", "submitter", "status", "cooling", "host_storage_type", "accelerator_model_name")
    assert {described[field] for field in unknown} == {""}


def test_accelerator_is_described_and_unknown_facts_stay_empty(recorded: StudyFolder) -> None:
    """A GPU by its name and memory; a fact that is null with a reason is no value."""
    record = read_json(recorded.record / "record.json")
    record["machine"]["device"] |= {"kind": "cuda", "description": "NVIDIA H200"}
    record["machine"]["torch"] = {"cuda": "13.0", "hip": None, "device": {"memory_bytes": 139 * 2**30}}
    record["machine"]["driver"] = {"nvidia driver": "570.86.15"}
    record["machine"]["lscpu"] = {"Socket(s)": "2", "CPU max MHz": "3700.0000", "L1d": "64 KiB", "L2 cache": "2 MiB"}
    record["machine"]["cpus_physical"] = {"value": None, "reason": "not reported by the kernel"}
    described = system_description(record)
    assert (described["accelerators_per_node"], described["accelerator_model_name"]) == (1, "NVIDIA H200")
    assert described["accelerator_memory_capacity"] == "139.0 GiB"
    assert "nvidia driver 570.86.15, CUDA 13.0" in described["other_software_stack"]
    assert described["host_processors_per_node"] == 2
    assert described["host_processor_frequency"] == "3700 MHz at most"
    assert described["host_processor_caches"] == "L1d 64 KiB, L2 2 MiB"
    assert described["host_processor_core_count"] == ""


def test_statement_names_every_raw_output(recorded: StudyFolder) -> None:
    """in-toto Statement v1: subjects are the files of all attempts, with the hashes that the files have."""
    statement = read_json(recorded.record / "provenance.intoto.json")
    record = read_json(recorded.record / "record.json")
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    outside = {one["path"]: one["sha256"] for one in record["external"]}
    inside = {name: sha256_file(recorded.record / name) for name in subjects.keys() - outside.keys()}
    on_disk = {p.relative_to(recorded.record).as_posix() for p in recorded.record.glob("attempts/*/*/*")}
    assert set(inside) == on_disk
    assert subjects == {**inside, **outside}
    definition, details = statement["predicate"]["buildDefinition"], statement["predicate"]["runDetails"]
    assert definition["externalParameters"]["registration"]["sha256"] == record["registration"]["sha256"]
    assert {one["name"] for one in definition["resolvedDependencies"]} >= {
        "workflow/Snakefile",
        "code of the trainer stub",
    }
    assert details["metadata"]["invocationId"] == f"urn:uuid:{record['record_id']}"
    assert details["metadata"]["startedOn"] <= details["metadata"]["finishedOn"] == record["created"]


def test_statement_is_one_for_its_own_project(recorded: StudyFolder, tmp_path: Path) -> None:
    """The bindings of in-toto read statement and SLSA predicate without an unknown field; a lost digest is noticed."""

    def validate(path: Path) -> subprocess.CompletedProcess[str]:
        program = Path(__file__).parent / "validators" / "validate_statement.py"
        command = [str(validators_python()), str(program), str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    path = recorded.record / "provenance.intoto.json"
    done = validate(path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(list(recorded.path.glob("attempts/*/*/*")))
    statement = read_json(path)
    statement["subject"][3]["digest"] = {}
    write_json(tmp_path / "damaged.json", statement)
    assert "At least one digest required (subject 3)" in validate(tmp_path / "damaged.json").stderr


def test_record_brings_its_schemas_and_its_study(recorded: StudyFolder) -> None:
    """record.json is valid under the schema beside it; study and trainer file are those that were executed."""
    record = read_json(recorded.record / "record.json")
    jsonschema.validate(record, read_json(recorded.record / "schemas/record.schema.json"))
    assert (recorded.record / "registration/study.toml").read_bytes() == (STUB / "study.toml").read_bytes()
    study = tomllib.loads((recorded.record / "registration/study.toml").read_text())
    jsonschema.validate(
        json.loads(json.dumps(study, default=str)), read_json(recorded.record / "schemas/study.schema.json")
    )
    assert (recorded.record / "workflow/Snakefile").read_bytes() == (REPOSITORY / "Snakefile").read_bytes()
    assert "workflow/rules/runs.smk" in record["workflow"]["files"]
    assert record["workflow"]["files"]["workflow/envs/requirements.txt"] == sha256_file(
        REPOSITORY / "envs/requirements.txt"
    )


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("ro-crate-metadata.json", "CompletedActionStatus", "FailedActionStatus"),
        ("provenance.intoto.json", '"sha256"', '"sha512"'),
        ("tables/throughput-fast.pyperf.json", '"values"', '"warmups"'),
        ("machine/mlperf_system.json", '"cooling": ""', '"cooling": "liquid"'),
    ],
)
def test_forged_export_with_a_new_seal_is_found(
    recorded: StudyFolder, tmp_path: Path, name: str, old: str, new: str
) -> None:
    """A file for other tools that says something else than record.json is found although its hash fits."""
    record = Path(shutil.copytree(recorded.record, tmp_path / "record"))
    text = (record / name).read_text()
    assert old in text
    (record / name).write_text(text.replace(old, new))
    write_manifest(record)
    assert f"{name}: it is not what record.json gives" in verify(record)
