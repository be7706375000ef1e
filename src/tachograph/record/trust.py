"""The end of the page: curves, preflight, counts, provenance, deviations, what is missing, how to verify."""

from __future__ import annotations

from typing import Any

from tachograph.record.markdown import UNKNOWN, code, figure, number, significant, table, text
from tachograph.wording import counted

Record = dict[str, Any]
MOST_SEEDS = 1000
CONSTANT = "no difference anywhere, so that it tells nothing"


def curves(record: Record) -> str:
    """Largest per-iteration differences as description with their false-alarm rate, and the verdict per arm."""
    if not record["curves"]:
        return "No metric is registered."
    rows = [_curve(metric, row) for metric in record["curves"] for row in metric["rows"]]
    headers = [
        "metric", "run vs reference of the same seed", "largest difference", "reference seeds among themselves",
        "ratio", "",
    ]  # fmt: skip
    parts = [
        "Maximum per-iteration absolute difference of each run to the reference run of the same seed, beside that of "
        "the other reference seeds to it.",
        table(headers, rows, right=(2, 3, 4)),
        _false_alarm(record),
        _hold_out(record),
        _margins(record),
        *(part for one in record["curve_verdicts"] for part in (_verdict(one), _windows(one), _noise(one))),
        _repeat(record["repeat"]),
        _endings(record),
        figure("curves", "Curves of all runs"),
    ]
    return "\n\n".join(part for part in parts if part)


def _curve(metric: dict[str, Any], row: dict[str, Any]) -> list[str]:
    pair = f"{code(row['run'])} vs {code(row['other'])}" if row["other"] else code(row["run"])
    if "reason" in row:
        return [text(metric["label"]), pair, UNKNOWN, UNKNOWN, "–", text(row["reason"])]
    constant = row["fast_max"] == row["reference_max"] == 0
    return [
        text(metric["label"]),
        pair,
        f"{significant(row['fast_max'])} (iteration {row['fast_iteration']})",
        "–" if row["reference_max"] is None else significant(row["reference_max"]),
        "–" if row["ratio"] is None or constant else f"{row['ratio']:.2f}",
        CONSTANT if constant else text(row["label"]),
    ]


def _false_alarm(record: Record) -> str:
    rates = {
        row["false_alarm"] for metric in record["curves"] for row in metric["rows"] if row.get("ratio") is not None
    }
    if not rates:
        return "With one reference run there is no envelope." if record["curve_verdicts"] else ""
    return (
        "The envelope is a description and no test: a run of an identical arm, if runs of one seed are no more alike "
        f"than runs of different seeds, lies outside of it with a probability of {max(rates):.0%} for each metric."
    )


def _verdict(one: dict[str, Any]) -> str:
    """The verdict with what the tests found, or why they could find nothing."""
    sentence = f"Verdict on {text(one['arm'])}: **{one['verdict']}**: {text(one['sentence'])}."
    if "difference" not in one:
        return sentence
    found = [
        f"{counted(one['reference_runs'], 'reference run')}, {counted(one['runs'], 'run')}, "
        f"{'' if one['paired'] else 'un'}paired"
    ]
    d, e = one["difference"], one["equivalence"]
    if "p" in d:
        found.append(f"test D ({text(d['method'])}): p = {d['p']:.3g}, smallest possible p = {d['p_min']:.3g}")
    known = {metric: value for metric, value in one.get("seed_correlation", {}).items() if value is not None}
    if known:
        told = ", ".join(f"{text(metric)} {value:+.2f}" for metric, value in known.items())
        found.append(f"correlation of the arms over seeds: {told}")
        if min(known.values()) < 0 and "conservative" in d.get("method", ""):
            found.append("where it is negative, relabelling is not conservative")
    if "delta_star" in e:
        found.append(f"test E ({text(e['method'])}): δ\\* = {e['delta_star']:.2f} of the registered margins")
    found += [
        f"{text(metric)} judged on the evaluated iterations {', '.join(map(str, iterations))}"
        for metric, iterations in one.get("evaluated", {}).items()
    ]
    return f"{sentence} {'; '.join(found)}; α = {one['alpha']:g}."


def _hold_out(record: Record) -> str:
    """With four reference runs or more it is known how good the envelope is on this very study."""
    failures = {
        metric["label"]: row["hold_out_failures"]
        for metric in record["curves"]
        for row in metric["rows"]
        if row.get("hold_out_failures") is not None
    }
    if not failures:
        return ""
    told = ", ".join(f"{text(label)} {count}" for label, count in failures.items())
    return f"Reference runs that lie outside of the envelope that the other reference runs draw: {told}."


def _margins(record: Record) -> str:
    """Where the registered margins come from: a verdict on curves is worth as much as they are."""
    lines = [
        f"- {text(metric['label'])}, ±{significant(metric['margin']['value'])}: {text(metric['margin']['reason'])}"
        for metric in record["curves"]
        if metric["margin"] is not None
    ]
    return "\n".join(["Reasons of the registered margins:", "", *lines]) if lines else ""


def _windows(one: dict[str, Any]) -> str:
    """Test E metric by metric and window by window: nothing is decided by the largest iteration alone."""
    cells = one.get("equivalence", {}).get("cells")
    if not cells:
        return ""
    rows = [
        [
            text(cell["metric"]),
            text(cell["window"]),
            significant(cell["difference"]),
            f"{significant(cell['low'])} to {significant(cell['high'])}",
            significant(cell["margin"]),
            _inside(cell),
            _seeds(cell["seeds_needed"]),
        ]
        for cell in cells
    ]
    headers = ["metric", "window", f"mean of {text(one['arm'])} less reference", "interval", "margin ±", "", "seeds"]
    return (
        f"Differences of window means with their {1 - 2 * one['alpha']:.0%} intervals. Seeds: per arm, to settle this "
        "difference with this spread; none where the difference itself exceeds the margin.\n\n"
        + table(headers, rows, right=(2, 3, 4, 6))
    )


def _inside(cell: dict[str, Any]) -> str:
    """Where the interval lies; of a metric that is the same in every run it tells nothing."""
    if cell["difference"] == cell["low"] == cell["high"] == 0:
        return "inside, no difference anywhere"
    return "inside" if cell["passes"] else "outside" if cell["outside"] else "open"


def _seeds(needed: int | None) -> str:
    """Seeds per arm; from the spread of a few runs no more than their order of magnitude is known."""
    if needed is None:
        return "none"
    return str(needed) if needed <= MOST_SEEDS else f"over {MOST_SEEDS:,}"


def _noise(one: dict[str, Any]) -> str:
    """What the same seed gives twice, beside what another seed gives."""
    noise = one.get("repeat_noise", {})
    if not noise.get("repeat_max"):
        return ""
    seeds = noise["seed_max"] or {}
    told = ", ".join(
        f"{text(metric)} {significant(value)}" + (f" against {significant(seeds[metric])}" if metric in seeds else "")
        for metric, value in noise["repeat_max"].items()
    )
    sentence = f"Largest difference of the reference run twice with one seed, against two seeds of it: {told}."
    if not noise["usable"]:
        sentence += " **It does not repeat, so that runs of the same seed are not taken for pairs.**"
    return sentence


def _repeat(section: dict[str, Any]) -> str:
    if not section["registered"]:
        return ""
    if section["identical"] is None:
        return f"Whether the reference repeats is unknown: {text(section['reason'])}."
    runs = " and ".join(code(run) for run in section["runs"])
    if section["identical"]:
        return f"The reference repeats: {runs} are identical, bit for bit, in {text(', '.join(section['columns']))}."
    first = section["first_difference"]
    where = f"iteration {first['iteration']}" if first["iteration"] is not None else "the number of iterations"
    values = " against ".join(str(value) for value in first["values"])
    return f"**The reference does not repeat**: {runs} differ first in {where}, {code(first['column'])}: {values}."


def _endings(record: Record) -> str:
    kinds = record["registration"]["trainer"]["endings"]
    if not record["endings"]:
        return ""
    rows = [
        [code(one["run"]), str(one["iterations"]), *(number(one["counts"][kind]) for kind in kinds)]
        for one in record["endings"]
    ]
    headers = ["run", "iterations", *(text(kind) for kind in kinds)]
    return "Endings, summed over each run:\n\n" + table(headers, rows, right=range(1, len(headers)))


def preflight(record: Record) -> str:
    """The verdict of each check, and what is not registered."""
    section = record["preflight"]
    parts = []
    if section["checks"]:
        rows = [
            [text(one["check"]), text(one["arm"]), f"**{one['verdict']}**", text(one["detail"])]
            for one in section["checks"]
        ]
        parts.append(table(["check", "arm", "verdict", "found"], rows))
    if section["tensors"]:
        parts.append(_tensors(section))
    if section["not_registered"]:
        parts.append(f"Not registered: {', '.join(section['not_registered'])}.")
    return "\n\n".join(parts)


def _tensors(section: dict[str, Any]) -> str:
    rows = [
        [
            text(one["arm"]),
            text(one["tensor"]),
            text(one["dtype"]),
            significant(one["rmse"]),
            significant(_allowed(one, section)),
            significant(one["max_abs_reference"]),
            significant(one["repeat_max"]),
            str(one["nonfinite_rows"]),
        ]
        for one in section["tensors"]
    ]
    headers = [
        "arm", "tensor", "type", "RMSE against float64", "allowed", "largest difference to the reference",
        "run twice", "rows not finite",
    ]  # fmt: skip
    return (
        f"Numerics on {counted(section['batches'], 'frozen batch')}. Allowed is, to the reference, what is registered "
        "for it; to another arm, twice the error of the reference (three times in half precision) and a tenth of the "
        "registered tolerance.\n\n" + table(headers, rows, right=range(3, 8))
    )


def _allowed(one: dict[str, Any], section: dict[str, Any]) -> float | None:
    """The limit that can fail: the reference is held to what is registered, never to its own error."""
    if one["arm"] != section["reference"]:
        limit: float | None = one["limit"]
        return limit
    return section["reference_bounds"].get(one["tensor"])


def counts(record: Record) -> str:
    """The two identities, and every attempt that does not simply count."""
    one = record["counts"]
    running = f" + {one['running']} running" if one["running"] else ""
    lines = [
        f"{counted(one['planned'], 'run')} planned = {one['counted']} counted + {one['invalid']} invalid + "
        f"{one['missing']} "
        "missing.",
        f"{counted(one['attempts'], 'attempt')} = {one['finished']} finished + {one['failed']} failed + "
        f"{one['killed']} killed + "
        f"{one['time_limit']} time\\_limit + {one['interrupted']} interrupted{running}; {one['discarded']} discarded.",
    ]
    rows = [
        [
            code(attempt["run"]),
            str(attempt["attempt"]),
            text(attempt["status"]),
            text(attempt["validity"] or UNKNOWN),
            text(attempt["discarded"]["reason"]) if attempt["discarded"] else "no",
            text(attempt["reason"] or ("" if attempt["current_plan"] else "made of an earlier version of the study")),
        ]
        for attempt in record["attempts"]
        if not attempt["counts"]
    ]
    text_of_rows = ""
    if rows:
        headers = ["run", "attempt", "status", "validity", "discarded", "reason"]
        text_of_rows = "Attempts that do not count:\n\n" + table(headers, rows, right=(1,))
    return "\n\n".join([" ".join(lines), *([text_of_rows] if text_of_rows else [])])


def provenance(record: Record) -> str:
    """Full hashes of everything the numbers come from, and the state of the code."""
    held, generator = record["registration"], record["generator"]
    lines = [
        f"Record {code(record['record_id'])}, written {record['created']} by {text(generator['name'])} "
        f"{text(generator['version'])}.",
    ]
    if record["supersedes"]:
        before = record["supersedes"]
        lines.append(
            f"It supersedes record {code(before['record_id'])} in {code(before['folder'])} (manifest SHA-256 "
            f"{code(before['manifest_sha256'])}), because {text(before['why'])}."
        )
    rows = [
        ["workflow, when registered", *_git(held["git"]["workflow"])],
        ["trainer, when registered", *_git(held["git"]["trainer"])],
    ]
    if held["git_now"] != held["git"]:
        rows += [
            ["workflow, last amendment", *_git(held["git_now"]["workflow"])],
            ["trainer, last amendment", *_git(held["git_now"]["trainer"])],
        ]
    rows.append(["workflow, this record", *_git(generator["git"])])
    fingerprints = ", ".join(code(one) for one in held["trainer"]["code"])
    files = [
        [code(f"{_folder(attempt)}/{file}"), code(sha), "yes" if attempt["counts"] else "no"]
        for attempt in record["attempts"]
        for file, sha in attempt["files"].items()
        if f"{_folder(attempt)}/{file}" not in {one["path"] for one in record["external"]}
    ]
    outside = [[code(one["path"]), code(one["sha256"]), _size(one)] for one in record["external"]]
    parts = [
        " ".join(lines),
        table(["code", "commit", "uncommitted changes"], rows),
        f"Registration: {code(held['file'])}, content SHA-256 {code(held['sha256'])}. Fingerprint of the trainer's "
        f"code: {fingerprints}.",
        "Raw output, sealed when each attempt ended; copies lie beside this page:",
        table(["file", "SHA-256", "counts"], files),
    ]
    if outside:
        parts.append("Kept outside of this record (logs of the trainer, checkpoints):")
        parts.append(table(["file", "SHA-256", "bytes"], outside, right=(2,)))
    return "\n\n".join(parts)


def _folder(attempt: dict[str, Any]) -> str:
    return f"attempts/{attempt['run']}/{attempt['attempt']:03d}"


def _git(git: dict[str, Any]) -> list[str]:
    if git["commit"] is None:
        return [f"{UNKNOWN} ({text(git['reason'])})", UNKNOWN]
    return [code(git["commit"]), f"yes, SHA-256 {code(git['diff_sha256'])}" if git["dirty"] else "none"]


def deviations(record: Record) -> str:
    """What the program noticed; nobody had to remember it."""
    lines = []
    for one in record["deviations"]:
        where = f", {code(one['run'])}" if one["run"] else ""
        when = f" Noticed {one['when_noticed']}." if one["when_noticed"] else ""
        effect = f" Effect: {text(one['effect'])}." if one["effect"] else ""
        lines.append(f"- {one['id']}, **{text(one['kind'])}**{where}: {text(one['what_happened'])}.{when}{effect}")
    return "\n".join(lines) or "None was noticed."


def not_measured(record: Record) -> str:
    return "\n".join(f"- {text(one['what'])}: {text(one['why'])}" for one in record["not_measured"]) or "Nothing."


def time(record: Record) -> str:
    """Wall time of the study against what the device was held for."""
    one = record["time"]
    rows = [
        ["wall of the study, first start to last end", _seconds(one["wall_seconds"])],
        [f"processes of {counted(one['attempts'], 'attempt')}", _seconds(one["run_seconds"])],
        ["leases held", _seconds(one["lease_hold_seconds"])],
        ["waiting for the device", _seconds(one["lease_wait_seconds"])],
        [f"the workflow's own time in {counted(one['gaps'], 'gap')} between runs", _seconds(one["own_seconds"])],
        ["own time per gap, mean", _seconds(one["own_seconds_per_gap"])],
        ["own time per gap, longest", _seconds(one["longest_gap_seconds"])],
    ]
    lines = [table(["", "seconds"], rows, right=(1,))]
    for pause in one["pauses"]:
        length = text(pause["reason"]) if pause["seconds"] is None else f"{pause['seconds']:,.0f} s"
        lines.append(f"Pause between {code(pause['after'])} and {code(pause['before'])}: {length}.")
    order = record["order"]
    same = order["registered"] == order["realised"]
    lines.append(
        "The runs were made in the registered order."
        if same
        else f"Realised order: {', '.join(code(run) for run in order['realised'])}."
    )
    return "\n\n".join(lines)


def _seconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.2f} s"


def verification(record: Record) -> str:
    return (
        "In this folder, `sha256sum -c --strict --quiet SHA256SUMS` checks that no file was altered, and "
        "`tachograph verify .` also recomputes every number from the raw files here and looks for files that are not "
        "listed. `README.md` says what lies where."
    )


def _size(external: dict[str, Any]) -> str:
    """The bytes of a file outside of the record, and whether it was removed to make room."""
    words = "" if external["storage"] == "external" else f", {external['storage']}"
    return f"{number(external['bytes'])}{words}"
