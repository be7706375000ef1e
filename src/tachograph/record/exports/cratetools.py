"""What acted in a study, as entities of its crate: the workflow, its steps, its tools and who started it."""

from __future__ import annotations

from typing import Any

from tachograph.record.exports.uris import TACHOGRAPH, trainer_uri

Record = dict[str, Any]
Entity = dict[str, Any]
WORKFLOW = "workflow/Snakefile"
ENGINE = "https://snakemake.github.io/"
LANGUAGE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
OPERATOR = "#operator"
RECORD_STEP = "record"
STEPS = {
    "parity": "do the arms compute the same function as in float64",
    "preflight": "is the reference the loop that it claims to be",
    "burnin": "warm the machine up; the run is not analysed",
    "baseline": "the reference alone, as it was before it had arms",
    "run": "one run of one arm in a block",
    "aa": "the reference again, with the same seed",
    "profile": "stages of one arm, or a component alone",
    "candidate": "one change alone, beside what it would replace",
    "cell": "one thing about the machine, in a process of its own",
    RECORD_STEP: "analyse the sealed files, write tables, figures and the record",
}


def reference(*names: str) -> Any:
    """What JSON-LD holds in place of these entities: one reference, or a list of them."""
    found = [{"@id": name} for name in names]
    return found[0] if len(found) == 1 else found


def moment(utc: str) -> str:
    """A time of the record, RFC 3339, with the offset that the profile's pattern wants instead of ``Z``."""
    return utc.removesuffix("Z") + "+00:00"


def step(role: str) -> str:
    """The ``@id`` of the step of the workflow that makes runs of this role."""
    return f"#step/{role}"


def trainer(record: Record) -> str:
    held = record["registration"]["trainer"]
    return trainer_uri(held["name"], held["code"])


def roles(record: Record) -> list[str]:
    """Roles with an attempt, in registered order; those of an earlier version of the study come last."""
    tried = {role_of(one["run"]) for one in record["attempts"]}
    planned = dict.fromkeys(one["role"] for one in record["planned_runs"])
    return [*(role for role in planned if role in tried), *sorted(tried - planned.keys())]


def role_of(run: str) -> str:
    """The role in the key of a run, ``ROLE-ARM-seedN``."""
    return run.split("-", 1)[0]


def tools(record: Record) -> list[Entity]:
    """Workflow, steps, engine, trainer, programs and operator."""
    machine, generator, held = record["machine"], record["generator"], record["registration"]
    used = [trainer(record)] if record["attempts"] else []
    steps = [*roles(record), RECORD_STEP]
    found: list[Entity] = [
        {
            "@id": WORKFLOW,
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
            "name": "Tachograph",
            "description": "Executes pre-registered throughput studies of training loops.",
            "version": generator["version"],
            "programmingLanguage": reference(LANGUAGE),
            "conformsTo": reference(BIOSCHEMAS),
            "hasPart": reference(*used, TACHOGRAPH),
            "step": reference(*map(step, steps)),
            "input": reference("#input/registration"),
            "output": reference("#output/record"),
        },
        {
            "@id": LANGUAGE,
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "url": reference(ENGINE),
        },
        {
            "@id": ENGINE,
            "@type": "SoftwareApplication",
            "name": "Snakemake",
            "url": ENGINE,
            "softwareVersion": machine["packages"].get("snakemake") or "unknown",
        },
        {
            "@id": TACHOGRAPH,
            "@type": "SoftwareApplication",
            "name": generator["name"],
            "description": "the study engine: judges attempts, analyses sealed files, writes the record",
            "softwareVersion": generator["version"],
        },
        {
            "@id": OPERATOR,
            "@type": "Organization",
            "name": f"operator of {machine['host']}",
            "description": "Whoever started the workflow on this machine; the record names no people.",
        },
        *_parameter("#input/registration", "the study as it was registered", "ledger/registration.json"),
        *_parameter("#output/record", "every number of the record", "record.json"),
    ]
    if used:
        found.append(
            {
                "@id": trainer(record),
                "@type": "SoftwareApplication",
                "name": held["trainer"]["name"],
                "description": held["trainer"]["title"],
                "softwareVersion": "code " + ", ".join(held["trainer"]["code"]),
            }
        )
    for position, role in enumerate(steps, start=1):
        found.append(
            {
                "@id": step(role),
                "@type": "HowToStep",
                "name": role,
                "description": STEPS.get(role, f"runs of the role {role}"),
                "position": str(position),
                "workExample": reference(TACHOGRAPH if role == RECORD_STEP else trainer(record)),
            }
        )
    return found


def _parameter(name: str, about: str, file: str) -> list[Entity]:
    """A parameter of the workflow that is a file, and the mark of that file."""
    return [
        {
            "@id": name,
            "@type": "FormalParameter",
            "additionalType": "File",
            "name": name.rsplit("/", 1)[1],
            "description": about,
            "workExample": reference(file),
        },
        {"@id": file, "exampleOfWork": reference(name)},
    ]
