"""The page of a machine study: what was found first, then the tables, with a box of what was not measured."""

from __future__ import annotations

import json
from typing import Any

from tachograph.record import head, trust
from tachograph.record.machine_speed import lasts, speed
from tachograph.record.machine_tables import correctness, environments, repeats, right_for, selftest
from tachograph.record.markdown import code, table, text
from tachograph.wording import counted

Record = dict[str, Any]
STATUS = {"FAIL": "unfit", "INCOMPLETE": "incomplete", "WARN": "support-only", "PASS": "support-only"}


def parts(record: Record) -> list[str]:
    """The parts of the page, in order."""
    return [
        front_matter(record),
        f"# {text(record['study']['title'])}",
        findings(record),
        box(record),
        "## The machine",
        machine(record),
        "## Is it right",
        correctness(record),
        "## Does it repeat",
        repeats(record),
        "## How fast is it",
        speed(record),
        "## Does it last",
        lasts(record),
        "## With and without a workaround",
        environments(record),
        "## What may be compared with this machine",
        right_for(record),
        "## What this check would have caught",
        selftest(record),
        "## Registration",
        registration(record),
        head.commands(record),
        "## Planned and done",
        planned(record),
        trust.counts(record),
        "## Provenance",
        trust.provenance(record),
        "## Deviations from the registration",
        trust.deviations(record),
        "## Where the time went",
        trust.time(record),
        "## How to verify",
        trust.verification(record),
    ]


def front_matter(record: Record) -> str:
    """YAML for a site: every field follows from the record.

    ``status``: support-only (a machine study supports others and claims nothing itself), incomplete, or unfit.
    ``evidence``: committed, if workflow and checker came from clean commits when the study was registered, else
    uncommitted. ``reads``: performance only where every rate was taken under the registered quiet condition, else
    diagnostic.
    """
    git = record["registration"]["git_now"]
    clean = all(one["commit"] is not None and not one["dirty"] for one in git.values())
    rated = [*record["rows"]["matmul"], *record["rows"]["training"]]
    quiet = bool(rated) and all(row["held_back"] is None for row in rated)
    values = {
        "title": record["study"]["title"],
        "summary": record["findings"][0],
        "status": STATUS[record["summary"]["verdict"]],
        "evidence": "committed" if clean else "uncommitted",
        "reads": "performance" if quiet else "diagnostic",
        "verdict": record["summary"]["verdict"],
    }
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
    return "\n".join(["---", *lines, "---"])


def findings(record: Record) -> str:
    """What was found, the verdict first and in bold."""
    first, *rest = record["findings"]
    because = record["summary"]["because"]
    why = f" Because of: {text('; '.join(because))}." if because else ""
    return "\n\n".join([f"**{text(first)}**{why}", "\n".join(f"- {text(sentence)}" for sentence in rest)])


def box(record: Record) -> str:
    """A quoted box, so that nobody takes this check for more than it is."""
    lines = [f"> - {text(one['what'])}: {text(one['why'])}" for one in record["not_measured"]]
    return "\n".join(["> **What was not measured**", ">", *lines])


def machine(record: Record) -> str:
    """What the probe found; what is unknown is said to be, with its reason."""
    probe = record["probe"]
    if probe is None:
        return "The probe has no result."
    facts, unknown = probe["facts"], probe["unknown"]
    rows = [[text(name), text(_value(facts, unknown, place))] for name, place in SHOWN.items()]
    rows += [[f"device {index}", text(_device(device))] for index, device in enumerate(facts["devices"])]
    if not facts["devices"]:
        rows.append(["devices", "none was found"])
    torch = facts.get("torch") or {}
    seen = torch.get("devices") or []
    rows += [[f"torch's device {index}", text(_device(device))] for index, device in enumerate(seen)]
    rows += [["library with threads", text(_pool(pool))] for pool in torch.get("thread_pools", [])]
    rows += [[f"attention in {dtype}", text(_short(kernels))] for dtype, kernels in torch.get("attention", {}).items()]
    copies = torch.get("library_copies") or {}
    twice = "; ".join(f"{name}: {', '.join(paths)}" for name, paths in copies.items())
    rows.append(["two copies of one library", text(twice or "none")])
    rows.append(["environment that matters", text(_pairs(facts["environment"]) or "nothing set")])
    reasons = "\n".join(f"- {code(place)}: {text(reason)}" for place, reason in sorted(unknown.items()))
    return "\n\n".join(
        [
            f"{code(probe['id'])}, taken {text(probe['taken'])}; the engine, which "
            f"looked before the first cell, knows it as {code(record['machine']['id'])}.",
            table(["", ""], rows),
            f"Not given, and why:\n\n{reasons}" if reasons else "",
        ]
    )


SHOWN = {
    "processor": "processor.model",
    "processors, logical": "processor.logical",
    "processors, usable here": "processor.usable",
    "limit of the control group": "processor.control_group_limit",
    "hypervisor": "processor.hypervisor",
    "governor": "processor.governor",
    "memory, bytes": "memory.total_bytes",
    "kernel": "system.kernel",
    "interpreter": "interpreter.version",
    "torch": "torch.version",
    "CUDA runtime": "torch.cuda",
    "HIP runtime": "torch.hip",
    "NumPy": "torch.numpy",
    "oneDNN built in": "torch.onednn.built_in",
    "torch's BLAS, built in": "torch.blas",
    "torch's vector instructions": "torch.cpu_capability",
    "torch's threads": "torch.threads",
    "nvidia-smi": "nvidia_smi",
    "device files, and whether this user can open them": "device_files_open",
}


def _value(facts: dict[str, Any], unknown: dict[str, str], place: str) -> str:
    found: Any = facts
    for part in place.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if found is None:
        reason = next((why for name, why in unknown.items() if name == place or place.startswith(f"{name}.")), None)
        return f"not given ({reason})" if reason else "not given"
    if isinstance(found, dict):
        return _pairs(found) or "none is there"
    if isinstance(found, bool):
        return "yes" if found else "no"
    return f"{found:,}" if isinstance(found, int) else str(found)


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(values.items()))


def _short(kernels: dict[str, str]) -> str:
    """Kernel by backend, or the cause of a refusal without the sentence that the library wrote."""
    return _pairs({backend: said.partition(" (")[0] for backend, said in kernels.items()})


def _device(device: dict[str, Any]) -> str:
    """Known facts of a device; kernels of its attention backends by format are in the probe's file."""
    return _pairs({name: value for name, value in device.items() if value is not None and name != "attention"})


def _pool(pool: dict[str, Any]) -> str:
    kernel = f", kernels for {pool['architecture']}" if pool.get("architecture") else ""
    version = pool.get("version") or "of unknown version"
    place = str(pool.get("filepath") or "").rpartition("site-packages/")[2]
    return (
        f"{pool['internal_api']} {version}, {counted(pool['num_threads'], 'thread')}{kernel}"
        f"{f' ({place})' if place else ''}"
    )


def planned(record: Record) -> str:
    """What the planned runs are: the probe, the cells, and the cells with a planted fault."""
    faults = sum(row["planted"] for row in record["selftest"]["rows"])
    return (
        f"One run each for the probe, {counted(record['summary']['planned'], 'cell')} and "
        f"{counted(faults, 'cell')} with a planted fault.{_unfinished(record)}"
    )


def _unfinished(record: Record) -> str:
    """Whether the attempts that did not finish, which the counts below name, are the provoked ones."""
    faulty = {row["cell"] for row in record["rows"]["cells"] if row["fault"] is not None}
    provoked = {run["run"] for run in record["planned_runs"] if run["arm"] in faulty}
    unfinished = [one["run"] for one in record["attempts"] if one["status"] != "finished"]
    if not unfinished:
        return ""
    planted = sum(run in provoked for run in unfinished)
    return f" Of {counted(len(unfinished), 'attempt')} that did not finish, {planted} had a planted fault."


def registration(record: Record) -> str:
    """What was frozen when, and under which conditions a rate counts."""
    held = record["registration"]
    quiet = held["quiet"]
    total = f"{held['total_seconds']:g} s for all cells" if held["total_seconds"] else "no limit for all cells together"
    rows = [
        ["question", text(held["question"])],
        ["registered", f"{held['date']}, {held['kind']}, frozen {held['registered_at']}"],
        ["SHA-256 of the registration", code(held["sha256"])],
        ["results known when frozen", head.known_before(held)],
        ["proof of the time", text(held["timestamp_proof"]["detail"])],
        ["when it stops", text(held["stopping_rule"])],
        ["what is left out", text("; ".join(held["exclusion_rules"]))],
        ["amendments", str(len(held["amendments"])) if held["amendments"] else "none"],
        ["checker", f"{code(held['trainer']['name'])}: {text(held['trainer']['title'])}"],
        ["threads a cell starts with", str(held["threads"])],
        ["time limits", f"{held['cell_seconds']:g} s for a cell unless it has its own; {total}"],
        [
            "quiet host",
            f"other programs use at most {quiet['foreign_share']:.0%} of the processors, the hypervisor takes at most "
            f"{quiet['stolen_share']:.0%}, both on average through a cell; other rates are held back",
        ],
        ["what is held to what", text(_bounds(held["bounds"]))],
        ["declared peaks, TFLOP/s", text(_peaks(held["peaks"])) or "none"],
    ]
    rows += [[f"arm {code(name)}", _arm(arm)] for name, arm in held["arms"].items()]
    return table(["", ""], rows)


def _bounds(bounds: dict[str, Any]) -> str:
    gates = "; ".join(
        f"{name} {gate['factor']:g} and {gate['tolerance'] / 10:.0e}" for name, gate in sorted(bounds["gates"].items())
    )
    return (
        "no element may be beyond its bound on rounding; a result without such a bound may have an error of a factor "
        f"times its baseline's plus a share of the reference, both by format: {gates}; excess that sums in half "
        f"precision explain is a warning from {bounds['widespread']:.0%} of the elements; a rate needs blocks of "
        f"{bounds['block_seconds']:g} s; a window is steady if its second half is at most {bounds['drift']:.0%} "
        f"slower and its parts spread by at most {bounds['spread']:.0%}; a burst block counts at "
        f"{bounds['clock_share']:.0%} of the highest clock; a soak is a warning below {bounds['soak_speed']:.0%} of "
        "its first speed"
    )


def _peaks(peaks: dict[str, dict[str, float]]) -> str:
    return "; ".join(f"{device}: {_pairs(by_format)}" for device, by_format in sorted(peaks.items()))


def _arm(arm: dict[str, Any]) -> str:
    variables = ", ".join(code(f"{name}={value}") for name, value in sorted(arm["environment"].items()))
    return f"{text(arm['title'])}{'; ' + variables if variables else ''}"
