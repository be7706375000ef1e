"""The middle of the page: throughput of every run, factors."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.disturbance import busy, foreign_cpus
from tachograph.analysis.rates import not_drawn
from tachograph.record.markdown import UNKNOWN, code, factor, figure, number, percent, significant, table, text
from tachograph.record.stages import profile_beside_headline
from tachograph.wording import counted

Record = dict[str, Any]
SAME_WORK = 0.02  # relative; runs and iterations that differ by less in their work are compared as equal ones
ROLES = {"baseline": "baseline", "burnin": "burn-in", "aa": "A/A", "run": "", "preflight": "smoke"}


def _no_rate(record: Record) -> str:
    held = ["an evaluation"] if record["evaluation"]["registered"] else []
    held += ["a checkpoint"] if "checkpoints" in record else []
    return f"Iterations with {' or '.join(held)} are left out of every window but the whole run. " if held else ""


def throughput(record: Record) -> str:
    """One row per training run: rates over named windows, iteration wall, total wall."""
    trainer, design = record["registration"]["trainer"], record["registration"]["design"]
    unit, stage = text(trainer["work_unit"]), text(trainer["stage"])
    window = design["window"]
    headers = ["run", "arm", f"{stage} {unit}/s, whole run", f"after {design['warmup']} of warm-up"]
    headers += [f"iterations {window[0]} to {window[1]}"] if window else []
    headers += ["mean iteration wall, whole run", "total wall"]
    rows = []
    for run in record["runs"]:
        if run["role"] == "preflight":
            continue
        rates = run["rates"]["stage"]
        role = ROLES.get(run["role"], run["role"])
        cells = [code(run["run"]), text(run["arm"]) + (f" ({role})" if role else ""), _rate(rates["whole run"])]
        cells.append(_rate(rates.get("retained")))
        cells += [_rate(rates.get("window"))] if window else []
        cells += [_seconds(run["iteration_seconds_mean"]), _seconds(run["total_wall_seconds"])]
        rows.append(cells)
    parts = [_work(record), table(headers, rows, right=range(2, len(headers)))]
    parts += [
        "Each rate is the sum of the work over the sum of the seconds in its window, never a mean of rates. "
        + _no_rate(record)
        + f"The seconds are those of {stage}; the total wall is that of the process, its start included."
    ]
    parts += [_outside(record), _seed_spread(record), _phases(record), _baseline(record, stage), _ran(record)]
    caption = "Throughput of each iteration in the order of execution"
    left_out = not_drawn(record["series"]["rates"])
    parts.append(figure("rates", f"{caption}. {left_out}" if left_out else caption))
    parts.append(f"In this figure: {text(left_out)}." if left_out else "")
    return "\n\n".join(part for part in parts if part)


def _work(record: Record) -> str:
    per_iteration = {
        run["rates"]["stage"]["whole run"]["work"] / run["iterations"]
        for run in record["runs"]
        if run["role"] == "run" and run["rates"]["stage"]["whole run"].get("work")
    }
    unit = text(record["registration"]["trainer"]["work_unit"])
    iterations = record["registration"]["design"]["iterations"]
    if len(per_iteration) == 1:
        return f"{counted(iterations, 'iteration')} per run, {number(per_iteration.pop())} {unit} per iteration."
    if per_iteration:
        low, high = min(per_iteration), max(per_iteration)
        return (
            f"{counted(iterations, 'iteration')} per run, {number(low)} to {number(high)} {unit} per "
            "iteration (mean of a run)."
        )
    return ""


def _outside(record: Record) -> str:
    """What the processes took beside their iterations: a first run may compile what the later ones find in a cache.

    Nothing of a resumed run, whose iterations may have taken longer than its last process lived.
    """
    found = {
        run["run"]: run["total_wall_seconds"] - run["iterations"] * run["iteration_seconds_mean"]
        for run in record["runs"]
        if run["role"] == "run" and run["total_wall_seconds"] is not None and run["iteration_seconds_mean"] is not None
    }
    found = {run: seconds for run, seconds in found.items() if seconds >= 0}
    if len(found) < 2:
        return ""
    least, most = min(found, key=lambda run: found[run]), max(found, key=lambda run: found[run])
    return (
        f"Beside their iterations (start, compilation, end) the runs of the blocks took {_seconds(found[least])} "
        f"({code(least)}) to {_seconds(found[most])} ({code(most)}), which is in the total wall and the end-to-end "
        "factor alone."
    )


def _rate(rate: dict[str, Any] | None) -> str:
    if rate is None:
        return "–"
    return UNKNOWN if rate["value"] is None else number(rate["value"])


def _seconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{significant(value)} s"


def _seed_spread(record: Record) -> str:
    """How far the runs of an arm lie apart."""
    told = [
        f"{text(one['arm'])} {number(one['low'])} to {number(one['high'])}, the fastest {percent(one['spread'])} above "
        "the slowest"
        for one in record["seed_spread"]
        if one["spread"] is not None
    ]
    return f"From seed to seed, after warm-up: {'; '.join(told)}." if told else ""


def _phases(record: Record) -> str:
    """Seconds of each phase over a run: the other phases may have become faster, too."""
    names = record["registration"]["trainer"]["phases"]
    runs = [run for run in record["runs"] if run["role"] == "run"]
    if len(names) < 2 or not runs:
        return ""
    rows = [[code(run["run"]), *(_seconds(run["phase_seconds"][name]) for name in names)] for run in runs]
    headers = ["run", *(text(name) for name in names)]
    return "Seconds of each phase over the whole run:\n\n" + table(headers, rows, right=range(1, len(headers)))


def _baseline(record: Record, stage: str) -> str:
    section = record["baseline"]
    if not section["registered"]:
        return ""
    if not section.get("rates"):
        return f"Baseline: {text(section['reason'])}."
    rates = " / ".join(number(rate) for rate in section["rates"])
    low, high = min(section["stage_seconds"]), max(section["stage_seconds"])
    return (
        f"Baseline of {counted(len(section['rates']), 'iteration')} before any comparison: {rates} "
        f"{text(section['unit'])}, "
        f"{stage} {significant(low)} to {significant(high)} s of each {significant(min(section['iteration_seconds']))} "
        f"to {significant(max(section['iteration_seconds']))} s iteration{_spread(section['spread'])}"
        f"{_beside_other_programs(record, section['run'])}."
    )


def _spread(spread: float | None) -> str:
    return "" if spread is None else f", the fastest iteration {percent(spread)} above the slowest"


def _beside_other_programs(record: Record, name: str) -> str:
    """How busy other programs kept the processors during a run, where it is enough to be a deviation."""
    host = next(run["host"] for run in record["runs"] if run["run"] == name)
    if not busy(host, record["quiet"]):
        return ""
    return f", while other programs kept {foreign_cpus(host):.2f} processors busy"


def _ran(record: Record) -> str:
    """What the trainer says really ran, arm by arm."""
    found: dict[str, dict[str, list[str]]] = {}
    for run in record["runs"]:
        if run["role"] == "run":
            for column, values in run["said"].items():
                known = found.setdefault(run["arm"], {}).setdefault(column, [])
                known += [value for value in values if value not in known]
    told = [
        f"{text(arm)}: " + ", ".join(f"{text(column)} {text(' and '.join(values))}" for column, values in said.items())
        for arm, said in found.items()
    ]
    return f"What really ran, as the histories say: {'; '.join(told)}." if told else ""


def factors(record: Record) -> str:
    """Every factor with numerator, denominator, window, interval; the blocks of the headline; the placebo."""
    if not record["factors"]:
        return "There is one arm, so there is no factor."
    headers = ["factor of", "window", "numerator / denominator", "factor", "interval", "blocks", "note"]
    rows = []
    for one in record["factors"]:
        name = text(one["label"]) + (" (headline)" if one["headline"] and record["steadiness"]["headline"] else "")
        interval = "none" if one["low"] is None else f"{one['low']:.2f} to {one['high']:.2f}"
        rows.append(
            [
                name,
                text(one["window"]),
                f"{text(one['numerator'])} / {text(one['denominator'])}",
                factor(one["factor"]),
                interval,
                str(len(one["pairs"])),
                text("; ".join(_notes(one))),
            ]
        )
    unit = text(record["factors"][0]["unit"])
    confidence = next((one["confidence"] for one in record["factors"] if one.get("confidence")), None)
    about = (
        f"Each factor is a ratio of rates in {unit}: numerator over denominator, the geometric mean over blocks (over "
        "the runs of each arm where a note says unpaired)"
    )
    if confidence:
        about += f"; the interval is a {confidence:.0%} t interval on the logarithms"
    parts = [f"{about}.", table(headers, rows, right=(3, 5)), _work_of_blocks(record)]
    parts += [_blocks(record), _first_attempts(record)]
    parts += [profile_beside_headline(record), figure("factor", "Factors with intervals and prediction")]
    return "\n\n".join(part for part in parts if part)


def _notes(one: dict[str, Any]) -> list[str]:
    """How the interval came about, where it is not that of blocks, and what weakens it."""
    method = one.get("method") or ""
    return [
        part for part in (method if method.startswith("unpaired") else "", one.get("note") or one.get("reason")) if part
    ]


def _work_of_blocks(record: Record) -> str:
    """What a ratio of rates does not say where the two runs of a block did not do the same work."""
    reference = record["registration"]["design"]["reference"]
    work = {
        (run["arm"], run["block"]): run["rates"]["iteration"]["whole run"].get("work")
        for run in record["runs"]
        if run["role"] == "run"
    }
    ratios = [
        done / of_reference
        for (arm, block), done in work.items()
        if arm != reference and done and (of_reference := work.get((reference, block)))
    ]
    if not ratios or max(abs(ratio - 1) for ratio in ratios) <= SAME_WORK:
        return ""
    return (
        f"The runs of a block did not do the same work ({min(ratios):.2f} to {max(ratios):.2f} times that of "
        f"{text(reference)}): rates are at equal work, so that the factor of a phase whose time does not grow with the "
        "work is off by that ratio."
    )


def _first_attempts(record: Record) -> str:
    """Nobody can redraw in silence: the headline also with what was discarded."""
    found = [
        f"{factor(one['factor'], one['low'], one['high'])} ({text(one['numerator'])})"
        for one in record["first_attempts"]
    ]
    return f"With the first valid attempt of every run, nothing discarded: {', '.join(found)}." if found else ""


def _blocks(record: Record) -> str:
    rows = [
        [
            text(one["numerator"]),
            str(pair["block"] + 1),
            str(pair["seed"]),
            number(pair["numerator"]),
            number(pair["denominator"]),
            factor(pair["factor"]),
            factor(_of_iteration(record, one["numerator"], pair["block"])),
        ]
        for one in record["factors"]
        if one["headline"]
        for pair in one["pairs"]
    ]
    if not rows:
        return ""
    headers = ["arm", "block", "seed", "its rate", "rate of the reference", "factor", "of the iteration wall"]
    return "The blocks of the headline:\n\n" + table(headers, rows, right=range(1, 7))


def _of_iteration(record: Record, arm: str, block: int) -> float | None:
    """The factor of the iteration wall after warm-up in one block."""
    wanted = (arm, "iteration", "retained")
    one = next(one for one in record["factors"] if (one["numerator"], one["quantity"], one["kind"]) == wanted)
    return next((pair["factor"] for pair in one["pairs"] if pair["block"] == block), None)
