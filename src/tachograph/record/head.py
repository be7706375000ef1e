"""The beginning of the page: the result in one sentence, the registration, the machine and its load, the commands."""

from __future__ import annotations

import shlex
from typing import Any

from tachograph.record.markdown import UNKNOWN, code, significant, table, text
from tachograph.study.status import execution_command
from tachograph.wording import counted, share

Record = dict[str, Any]
GIB = 1024.0**3


def result(record: Record) -> str:
    """What the study found, in one sentence per arm; it never says more than the sections below."""
    sentences = [_headline(record, one) for one in record["factors"] if one["headline"]]
    if not sentences:
        sentences = ["This study has one arm, so it compares nothing; its rates are below."]
    if record["reservations"] and record["factors"]:
        speak = "reason given below the factors speaks", "reasons given below the factors speak"
        said = counted(len(record["reservations"]), *speak)
        sentences.append(f"**With reservations**: {said} against relying on them.")
    if record["remarks"]:
        said = counted(len(record["remarks"]), "remark")
        sentences.append(f"**With {said}**, given below the factors, that must be read with them.")
    sentences += [
        f"Curves of {text(one['arm'])}: **{one['verdict']}** ({text(one['sentence'])})."
        for one in record["curve_verdicts"]
    ]
    sentences += [_prediction(record["prediction"])] if record["prediction"]["registered"] else []
    if record["status"] != "complete":
        count = record["counts"]
        sentences.append(
            f"**Incomplete**: {share(count['counted'], count['planned'], 'planned run', 'counts', 'count')}."
        )
    return " ".join(sentences)


def _headline(record: Record, one: dict[str, Any]) -> str:
    stage, arm = text(record["registration"]["trainer"]["stage"]), text(one["numerator"])
    if one["factor"] is None:
        return f"**No factor for {arm}**: {text(one.get('reason', UNKNOWN))}."
    if not record["steadiness"]["headline"]:
        why = text("; ".join(record["steadiness"]["no_headline"]))
        return f"**No headline factor for {arm}**: {why}; the factors below describe these runs and nothing else."
    interval = ""
    if one["low"] is not None:
        interval = f", {one['confidence']:.0%} interval {one['low']:.2f} to {one['high']:.2f}"
    note = f"; {text(one['note'])}" if one["note"] else ""
    rests_on = counted(len(one["pairs"]), "block")
    few = f" in {rests_on}" if one["note"] else ""  # a weak interval is said with the figure, not after it
    return (
        f"**{arm} is {one['factor']:.2f}x as fast as {text(one['denominator'])} in {stage}{few}** "
        f"({text(one['unit'])}, {text(one['window'])}, {rests_on}{interval}{note})."
    )


def _prediction(one: dict[str, Any]) -> str:
    quantity = one["quantity"].replace("_", " ")
    interval = "" if one["low"] is None else f" ({significant(one['low'])} to {significant(one['high'])})"
    predicted = f"Predicted was a {quantity} of {significant(one['value'])}{interval}"
    if one["measured"] is None:
        return f"{predicted}: **{one['verdict']}** ({text(one['reason_not_tested'])})."
    return (
        f"{predicted}, measured {significant(one['measured'])}: **{one['verdict']}** {_rests_on(one)}; measured over "
        f"predicted {one['ratio']:.2f}."
    )


def _rests_on(one: dict[str, Any]) -> str:
    """What a verdict on a prediction rests on: how many blocks or runs, in how many sessions, which interval."""
    low, high = one["interval"]
    interval = "without an interval"
    if low is not None:
        interval = f"by a {one['confidence']:.0%} interval of {significant(low)} to {significant(high)}"
    told = f"on n = {one['n']} {text(one['n_of'])} in one session, {interval}"
    if not one["note"]:
        return told
    told += f" that is {text(one['note'])}" if one["note"].startswith("uninformative") else f" ({text(one['note'])})"
    if one["resolution"] is None:
        return told
    return (
        f"{told}: with the registered spread of {one['assumed_spread']:.0%} between blocks, {one['n']} blocks are not "
        f"expected to show a difference smaller than {one['resolution']:.2f} times"
    )


def introduction(record: Record) -> str:
    """The paragraph under the title: which registration, when, where."""
    held, machine = record["registration"], record["machine"]
    starts = [one["started_at"] for one in record["attempts"]]
    ran = f"run {min(starts)[:10]}" if starts else "not run"
    if starts and max(starts)[:10] != min(starts)[:10]:
        ran = f"run {min(starts)[:10]} to {max(starts)[:10]}"
    memory = machine["memory_bytes"] / GIB
    return (
        f"Registration {code(held['id'])} (study {code(record['study']['name'])}, {held['kind']}), {ran} on "
        f"{text(_plain(machine['cpu']))}, {counted(machine['cpus_logical'], 'logical CPU')}, {memory:.1f} GiB "
        "of memory, "
        f"device {code(machine['device']['name'])} ({text(machine['device']['description'])}), "
        f"{text(machine['system'])} {text(machine['kernel'])}. Workflow commit {_commit(held['git_now']['workflow'])}, "
        f"trainer commit {_commit(held['git_now']['trainer'])}. Every run held the lease of the device "
        f"{code(machine['device']['physical_id'])}, at most {_longest_hold(record)} of the {_limit(record)} allowed."
    )


def _plain(value: Any) -> str:
    """A fact of the machine, or why it is not known."""
    if isinstance(value, dict) and "reason" in value:
        return f"{UNKNOWN} ({value['reason']})"
    return UNKNOWN if value is None else str(value)


def _commit(git: dict[str, Any]) -> str:
    if git["commit"] is None:
        return f"{UNKNOWN} ({text(git['reason'])})"
    return code(git["commit"][:12]) + (" with uncommitted changes" if git["dirty"] else "")


def _longest_hold(record: Record) -> str:
    holds = [one["hold_seconds"] for one in record["attempts"] if one["hold_seconds"] is not None]
    return f"{max(holds):.1f} s" if holds else UNKNOWN


def _limit(record: Record) -> str:
    """For how long a run may hold the device, the registered cool-down before it included."""
    cool_down = record["registration"]["design"].get("cool_down")
    wait = cool_down["max_minutes"] * 60 if cool_down else 0.0
    return f"{wait + max(run['max_seconds'] for run in record['planned_runs']):,.0f} s"


def registration(record: Record) -> str:
    """Question, arms, design, and what was frozen when."""
    held = record["registration"]
    design = held["design"]
    rows = [
        ["question", text(held["question"])],
        ["registered", f"{held['date']}, frozen {held['registered_at']}"],
        ["SHA-256 of the registration", code(held["sha256"])],
        ["proof of that time", text(held["timestamp_proof"]["detail"])],
        ["results known when frozen", known_before(held)],
        ["amendments", str(len(held["amendments"])) if held["amendments"] else "none"],
        ["trainer", f"{code(held['trainer']['name'])}: {text(held['trainer']['title'])}"],
        ["settings", _pairs(held["settings"])],
        ["threads of the trainer", str(held["threads"])],
        ["iterations, seeds", f"{design['iterations']}; {', '.join(map(str, design['seeds']))}"],
        ["order", f"{design['order']}, one block per seed"],
        [
            "warm-up",
            f"{counted(design['warmup'], 'iteration of each run is', 'iterations of each run are')} left out of "
            "the headline",
        ],
    ]
    if design["window"]:
        rows.append(["second window", "iterations {} to {}".format(*design["window"])])
    if cool_down := design.get("cool_down"):
        rows.append(
            [
                "cool-down",
                f"each run of the blocks, and the repeat, waits until the device is at most {cool_down['degrees']:g} "
                f"°C warmer than before the first of them, {cool_down['max_minutes']:g} minutes at most",
            ]
        )
    if held["prediction"]:
        rows.append(["reason of the prediction", text(held["prediction"]["reason"])])
    for name in held["arm_order"]:
        arm = held["arms"][name]
        what = [text(arm["title"])]
        if arm["environment"]:
            what.append(_pairs(arm["environment"]))
        if arm["settings"]:
            what.append(_pairs(arm["settings"]))
        if arm["arguments"]:
            what.append(code(shlex.join(arm["arguments"])))
        rows.append([f"arm {code(name)}", "; ".join(what)])
    rules = [
        f"When it stops: {text(held['stopping_rule'])}.",
        f"What is left out: {text('; '.join(held['exclusion_rules']))}.",
    ]
    return "\n\n".join([table(["", ""], rows), *rules])


def known_before(held: dict[str, Any]) -> str:
    """What is known of results at the time of freezing: what lay in the results folder, and nothing else."""
    if held["data_seen_before"]:
        return "results of this study were in its results folder when it was frozen"
    return "no result of this study was in its results folder when it was frozen; of other places nothing is known"


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(code(f"{key}={value}") for key, value in sorted(values.items())) or "none"


def machine(record: Record) -> str:
    """The machine's facts and the load on it while the runs went on."""
    facts = record["machine"]
    packages = ", ".join(f"{text(name)} {text(version)}" for name, version in facts["packages"].items() if version)
    sentences = [
        f"Machine {code(facts['id'])}: {counted(facts['cpus_usable'], 'usable CPU')}, governor "
        f"{text(_plain(facts['governor']))}, "
        f"hypervisor {_yes(facts['hypervisor'])}, limit of the control group {text(_plain(facts['cgroup_cpu_max']))}.",
        f"Software: Python {text(facts['python']['version'])}, {packages}.",
        load(record),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _yes(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else text(_plain(value))


LOAD = {"load_1min": "load average (1 minute)", "cpu_foreign": "processors busy with other programs"}


def load(record: Record) -> str:
    """What else went on at the host during training runs of any role: other people's work moves wall time."""
    sentences = []
    for name, what in LOAD.items():
        known = [
            run["host"]["quantities"][name]
            for run in record["runs"]
            if "max" in run["host"]["quantities"].get(name, {})
        ]
        if not known:
            sentences.append(f"{what}: {UNKNOWN}")
            continue
        means = [one["mean"] for one in known]
        sentences.append(
            f"{what} {min(means):.2f} in the quietest run, {max(means):.2f} in the busiest, at most "
            f"{max(one['max'] for one in known):.2f}"
        )
    programs = {
        run["host"]["gpu_processes"]["status"]
        for run in record["runs"]
        if run["device"]["kind"] != "cpu" or run["host"]["gpu_processes"]["status"] == "contaminated"
    }
    sentences += [f"other programs on the GPU: {', '.join(sorted(programs))}"] if programs else []
    return f"While the training runs went on: {'; '.join(sentences)}."


def commands(record: Record) -> str:
    """The whole study in one command, and what each run was, as a reader would type it."""
    lines = [
        "The study as a whole:",
        "",
        "```",
        execution_command(record["study"]["name"], str(record["registration"]["threads"])),
        "```",
        "",
        "Its runs, in registered order:",
        "",
        "```",
        *(_line(one) for one in record["commands"]),
        "```",
    ]
    return "\n".join(lines)


def _line(one: dict[str, Any]) -> str:
    variables = {"OMP_NUM_THREADS": str(one["threads"]), **one["environment"]}
    given = " ".join(f"{key}={shlex.quote(value)}" for key, value in sorted(variables.items()))
    return f"{given} {shlex.join(one['command'])}".replace("```", "'''").replace("\n", " ")
