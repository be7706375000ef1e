"""The tables of a study as data frames, from its analysis: for ``tables/*.csv`` and for the record page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from tachograph.errors import TachographError
from tachograph.machine.csv import MEASURED, measured_rows

Analysis = dict[str, Any]


def table(analysis: Analysis, name: str) -> pd.DataFrame:
    """The table called ``name``, full precision, one row per line. Raises TachographError for an unknown name."""
    if name not in TABLES:
        raise TachographError(f"table {name!r} is unknown, expected one of: {', '.join(TABLES)}")
    columns, rows = TABLES[name](analysis)
    return pd.DataFrame(rows, columns=columns)


Rows = tuple[list[str], list[list[Any]]]


def _runs(analysis: Analysis) -> Rows:
    phases = analysis["registration"]["trainer"]["phases"]
    columns = [
        "run", "role", "arm", "seed", "block", "iterations", "work_unit", "work", "stage_rate_whole_run",
        "stage_rate_retained", "stage_rate_window", "iteration_rate_whole_run", "end_to_end_rate",
        "iteration_seconds_mean", "total_wall_seconds", *(f"{name}_seconds" for name in phases),
        "lease_wait_seconds", "lease_hold_seconds", "history_sha256",
    ]  # fmt: skip
    rows = []
    for run in analysis["runs"]:
        stage, iteration = run["rates"]["stage"], run["rates"]["iteration"]
        rows.append(
            [
                run["run"], run["role"], run["arm"], run["seed"], run["block"], run["iterations"],
                analysis["registration"]["trainer"]["work_unit"], stage["whole run"].get("work"),
                *(stage.get(window, {}).get("value") for window in ("whole run", "retained", "window")),
                iteration["whole run"]["value"], run["rates"]["end to end"]["whole run"]["value"],
                run["iteration_seconds_mean"], run["total_wall_seconds"],
                *(run["phase_seconds"].get(name) for name in phases),
                run["lease"]["wait_seconds"], run["lease"]["hold_seconds"], run["history"]["sha256"],
            ]
        )  # fmt: skip
    return columns, rows


def _iterations(analysis: Analysis) -> Rows:
    columns = ["run", "arm", "seed", "iteration", "work", "stage_seconds", "iteration_seconds", "stage_rate"]
    rows = []
    for one in analysis["series"]["rates"]:
        values = zip(one["iteration"], one["work"], one["stage_seconds"], one["iteration_seconds"], strict=True)
        for iteration, work, stage, whole in values:
            rows.append([one["run"], one["arm"], one["seed"], iteration, work, stage, whole, work / stage])
    return columns, rows


def _factors(analysis: Analysis) -> Rows:
    columns = [
        "quantity", "window", "unit", "numerator", "denominator", "factor", "low", "high", "confidence", "n_numerator",
        "n_denominator", "method", "note",
    ]  # fmt: skip
    rows = [
        [
            one["label"], one["window"], one["unit"], one["numerator"], one["denominator"], one["factor"], one["low"],
            one["high"], one.get("confidence"), one.get("n_fast"), one.get("n_reference"), one.get("method"),
            one.get("note", one.get("reason")),
        ]
        for one in analysis["factors"]
    ]  # fmt: skip
    return columns, rows


def _blocks(analysis: Analysis) -> Rows:
    """The pairs that every factor rests on."""
    columns = ["quantity", "window", "unit", "numerator", "denominator", "block", "seed"]
    columns += ["rate_of_numerator", "rate_of_denominator", "factor"]
    rows = [
        [
            one["label"], one["window"], one["unit"], one["numerator"], one["denominator"], pair["block"], pair["seed"],
            pair["numerator"], pair["denominator"], pair["factor"],
        ]
        for one in analysis["factors"]
        for pair in one["pairs"]
    ]  # fmt: skip
    return columns, rows


def _spread(analysis: Analysis) -> Rows:
    """How far rates lie apart: the iterations of the baseline, and the runs of each arm from seed to seed."""
    columns = ["of", "arm", "rates", "lowest", "highest", "spread"]
    rows: list[list[Any]] = []
    baseline = analysis["baseline"]
    if baseline.get("rates"):
        rates = baseline["rates"]
        rows.append(["iterations of the baseline", None, len(rates), min(rates), max(rates), baseline["spread"]])
    for one in analysis["seed_spread"]:
        rows.append(["runs after warm-up", *(one[key] for key in ("arm", "runs", "low", "high", "spread"))])
    return columns, rows


def _stages(analysis: Analysis) -> Rows:
    section = analysis["stages"]
    arms = [arm for arm in analysis["registration"]["arm_order"] if arm in section["arms"]]
    columns = ["stage", "group", "parent"]
    columns += [f"{arm}_{what}" for arm in arms for what in ("ms_per_step", "share")]
    rows = []
    for row in section["rows"]:
        times = [row["arms"].get(arm) or {} for arm in arms]
        rows.append(
            [row["stage"], row["group"], row["parent"]]
            + [time.get(what) for time in times for what in ("ms_per_step", "share")]
        )
    for name, key in (("total", "total"), ("environment stages together", "environment")):
        times = [section["arms"][arm][key] or {} for arm in arms]
        rows.append([name, None, None] + [time.get(what) for time in times for what in ("ms_per_step", "share")])
    return columns, rows


def _component(analysis: Analysis) -> Rows:
    section = analysis["component"]
    columns = ["component", "measured", "value", "unit", "work", "seconds"]
    rows = [
        [section["name"], one["name"], one["value"], one["unit"], one.get("work"), one.get("seconds")]
        for one in section["rates"]
    ]
    return columns, rows


def _phases(analysis: Analysis) -> Rows:
    columns = ["arm", "phase", "parent", "nested", "seconds_per_iteration", "share", "iterations"]
    rows = [
        [arm, row["phase"], row["parent"], row["nested"], row["seconds"], row["share"], section["iterations"]]
        for arm, section in analysis["phases"]["arms"].items()
        for row in section["rows"]
    ]
    return columns, rows


def _sweep(analysis: Analysis) -> Rows:
    columns = ["batch_size", "seconds_per_call", "seconds_per_state", "speed_up"]
    return columns, [[row[column] for column in columns] for row in analysis["sweep"]["rows"]]


def _supply(analysis: Analysis) -> Rows:
    columns = ["arm", "supply", "states", "batch_size", "speed_up", "of_best", "next_batch_size", "next_speed_up"]
    rows = [
        [one["arm"], kind, *(level[column] for column in columns[2:])]
        for one in analysis["sweep"]["supply"]
        for kind, level in one["levels"].items()
    ]
    return columns, rows


def _evaluation(analysis: Analysis) -> Rows:
    columns = ["arm", "games", "every", "by_excess", "by_timer", "observed", "excess", "excess_low",
               "excess_high", "told", "timer", "evaluations"]  # fmt: skip
    rows = []
    for arm, one in analysis["evaluation"]["arms"].items():
        for kind in _kinds(one):
            known = [kind.get(column) for column in columns[6:]]  # an earlier version's record lacks some
            for row, observed in [(kind, True), *((row, False) for row in kind["projected"])]:
                spread = [row.get("games"), *(row.get(column) for column in columns[2:5])]
                rows.append([arm, *spread, observed, *known, row.get("engine_ceiling")])
    return [*columns, "engine_ceiling"], rows


def _kinds(one: Analysis) -> list[Analysis]:
    """The kinds of evaluations of an arm; those of an earlier version are a single row for all of them."""
    kinds: list[Analysis] = one.get("kinds", [one] if "excess" in one else [])
    return kinds


def _subjects(analysis: Analysis) -> Rows:
    found = [
        (arm, kind.get("subjects", {}), row)
        for arm, one in analysis["evaluation"]["arms"].items()
        for kind in _kinds(one)
        if kind["breakdown"]
        for row in kind["breakdown"]["rows"]
    ]
    timers = list(dict.fromkeys(name for _, _, row in found for name in row["timers"]))
    columns = ["arm", "subject", "games", "evaluations", "elapsed", *timers, "remainder"]
    rows = [
        [arm, row["subject"], games.get(row["subject"]), row["evaluations"], row["elapsed"],
         *(row["timers"][name] for name in timers), row["remainder"]]
        for arm, games, row in found
    ]  # fmt: skip
    return columns, rows


def _projection(analysis: Analysis) -> Rows:
    ranged = [f"{name}{end}" for name in ("seconds", "hours") for end in ("", "_low", "_high")]
    columns = ["arm", "every", "games", "beside_seconds", "runs", *ranged, "evaluation_by"]
    section = analysis["projection"]
    rows = section.get("rows", section.get("arms", []))  # of an earlier version: one row per arm
    return columns, [[row.get(column) for column in columns] for row in rows]


def _ceilings(analysis: Analysis) -> Rows:
    columns = ["arm", "whole", "part", "share", "ceiling", "pays", "nested", "part_of"]
    rows = [
        [one["arm"], one["whole"], *(row[column] for column in columns[2:6]), "part_of" in row, row.get("part_of")]
        for one in analysis["ceilings"]
        for row in sorted([*one["rows"], *one.get("nested", [])], key=lambda row: -row["share"])
    ]
    return columns, rows


def _candidates(analysis: Analysis) -> Rows:
    figures = [
        "part", "unit", "factor", "low", "high", "confidence", "steps", "step_unit", "nonfinite_steps",
        "base_nonfinite_steps", "parity", "curves",
    ]  # fmt: skip
    costs = ["first_seconds", "later_seconds", "base_seconds"]
    ahead = ["iterations", "low", "high", "reason"]
    columns = [
        "candidate", "title", "measure", "against", "verdict", "reason", "minimum_effect", *figures, "pairs",
        "share_of_step", "factor_of_step", "factor_of_iteration", "once_first_seconds", "once_later_seconds",
        "once_base_seconds", "ahead_after", "ahead_low", "ahead_high", "ahead_reason", "ahead_unit", "sentence",
        "evidence", "evidence_sha256",
    ]  # fmt: skip
    rows = []
    for one in analysis["candidates"]:
        measured, evidence = one["measured"] or {}, one["evidence"] or {}
        whole, once = measured.get("whole") or {}, measured.get("once") or {}
        rows.append(
            [one[key] for key in ("name", "title", "measure", "against", "verdict", "reason", "minimum_effect")]
            + [measured.get(key) for key in figures]
            + [len(measured.get("pairs", [])), whole.get("share"), whole.get("factor")]
            + [(measured.get("iteration") or {}).get("factor")]
            + [once.get(key) for key in costs]
            + [once.get("ahead", {}).get(key) for key in ahead]
            + [once.get("unit")]
            + [one["sentence"], evidence.get("path"), evidence.get("sha256")]
        )
    return columns, rows


def _decision(analysis: Analysis) -> Rows:
    columns = ["arm", "decision", "sentence", "speed", "speed_uncapped", "curves", "parity"]
    return columns, [[one[column] for column in columns] for one in analysis["decision"]["arms"]]


def _curves(analysis: Analysis) -> Rows:
    columns = [
        "metric", "arm", "seed", "run", "against", "iterations", "max_abs_difference", "at_iteration",
        "reference_max_abs_difference", "ratio", "reference_pairs_max", "rank", "rank_p", "false_alarm",
        "hold_out_failures", "label", "reason",
    ]  # fmt: skip
    keys = [
        "arm", "seed", "run", "other", "iterations", "fast_max", "fast_iteration", "reference_max", "ratio",
        "pairs_max", "rank", "rank_p", "false_alarm", "hold_out_failures",
    ]  # fmt: skip
    rows = [
        [metric["metric"], *(row.get(key) for key in keys), row.get("label"), row.get("reason")]
        for metric in analysis["curves"]
        for row in metric["rows"]
    ]
    return columns, rows


def _curve_tests(analysis: Analysis) -> Rows:
    """Test D and what test E says in all, one row per arm."""
    columns = [
        "arm", "verdict", "alpha", "reference_runs", "runs", "paired", "p", "p_min", "statistic", "metric", "iteration",
        "labelings", "delta_star", "seeds_needed", "sentence",
    ]  # fmt: skip
    rows = []
    for one in analysis["curve_verdicts"]:
        known = {**one.get("equivalence", {}), **one.get("difference", {}), **one}
        rows.append([known.get(column) for column in columns])
    return columns, rows


def _equivalence(analysis: Analysis) -> Rows:
    """Test E, one row per arm, metric and window."""
    columns = [
        "metric", "window", "difference", "low", "high", "margin", "se", "df", "passes", "outside", "seeds_needed",
    ]  # fmt: skip
    rows = [
        [one["arm"], *(cell[column] for column in columns)]
        for one in analysis["curve_verdicts"]
        for cell in one.get("equivalence", {}).get("cells", [])
    ]
    return ["arm", *columns], rows


def _steadiness(analysis: Analysis) -> Rows:
    columns = ["rows", "retained", "outcome", "mser", "change", "halves", "mann_kendall_p", "p_trend", "p_warmup"]
    section = analysis["steadiness"]
    rows = [
        [one["run"], one["arm"], *(one[column] for column in columns), (one["within_run"] or {}).get("half_width")]
        for one in section["runs"]
    ]
    rows += [[None, arm, *(one[column] for column in columns), None] for arm, one in section["arms"].items()]
    return ["run", "arm", *columns, "within_run_half_width"], rows


def _endings(analysis: Analysis) -> Rows:
    kinds = analysis["registration"]["trainer"]["endings"]
    columns = ["run", "arm", "seed", "iterations", *kinds]
    rows = [
        [one["run"], one["arm"], one["seed"], one["iterations"], *(one["counts"].get(kind) for kind in kinds)]
        for one in analysis["endings"]
    ]
    return columns, rows


def _preflight(analysis: Analysis) -> Rows:
    columns = ["check", "arm", "verdict", "detail"]
    return columns, [[check[column] for column in columns] for check in analysis["preflight"]["checks"]]


def _attempts(analysis: Analysis) -> Rows:
    columns = ["run", "attempt", "status", "validity", "counts", "reason", "discarded", "started_at", "ended_at"]
    rows = []
    for one in analysis["attempts"]:
        discarded = one["discarded"]["reason"] if one["discarded"] else None
        rows.append([discarded if column == "discarded" else one[column] for column in columns])
    return columns, rows


def _deviations(analysis: Analysis) -> Rows:
    columns = ["id", "kind", "run", "what_happened", "when_noticed", "effect"]
    return columns, [[one[column] for column in columns] for one in analysis["deviations"]]


TABLES: dict[str, Callable[[Analysis], Rows]] = {
    "runs": _runs,
    "iterations": _iterations,
    "factors": _factors,
    "blocks": _blocks,
    "spread": _spread,
    "stages": _stages,
    "component": _component,
    "phases": _phases,
    "sweep": _sweep,
    "supply": _supply,
    "evaluation": _evaluation,
    "subjects": _subjects,
    "projection": _projection,
    "ceilings": _ceilings,
    "candidates": _candidates,
    "decision": _decision,
    "curves": _curves,
    "curve_tests": _curve_tests,
    "equivalence": _equivalence,
    "steadiness": _steadiness,
    "endings": _endings,
    "preflight": _preflight,
    "attempts": _attempts,
    "deviations": _deviations,
    **{name: measured_rows(name) for name in MEASURED},
}


def as_csv(frame: pd.DataFrame) -> str:
    """CSV (RFC 4180 quoting, LF), shortest digits that give back the same number.

    A text cell that a spreadsheet would run as a formula gets a leading apostrophe.
    """
    safe = frame.map(lambda cell: f"'{cell}" if isinstance(cell, str) and cell[:1] in tuple("=+-@\t\r") else cell)
    return str(safe.to_csv(index=False, lineterminator="\n"))
