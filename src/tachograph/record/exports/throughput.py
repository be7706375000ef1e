"""Throughput as benchmark files of pyperf (format 1.0), for ``pyperf show`` and ``pyperf compare_to``.

pyperf compares seconds, so a rate is given as seconds per unit of work. One value is one run, not one iteration:
iterations of one run are not independent of each other. Benchmarks have the same names in the files of all arms,
which is how ``compare_to`` finds the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Record = dict[str, Any]
FORMAT = "1.0"


def benchmark_suites(record: Record) -> dict[str, dict[str, Any]]:
    """Name -> content of a pyperf file: ``throughput-ARM`` of each arm with runs, ``component`` if one was measured."""
    found: dict[str, dict[str, Any]] = {}
    if "runs" not in record:
        return found  # a study of another kind, which trains nothing
    for arm in record["registration"]["arm_order"]:
        benchmarks = _of_arm(record, arm)
        if benchmarks:
            found[f"throughput-{arm}"] = _suite(record, benchmarks)
    component = record["component"]
    if component["registered"] and "rates" in component:
        benchmarks = [
            _benchmark(f"{component['name']}: {row['name']}", row["unit"].removesuffix("/s"), [_repeats(row)])
            for row in component["rates"]
            if _repeats(row)["values"]
        ]
        if benchmarks:
            found["component"] = _suite(record, benchmarks)
    return found


def _of_arm(record: Record, arm: str) -> list[dict[str, Any]]:
    """A benchmark per quantity; its runs are the counted ones of the blocks, in registered order."""
    runs: dict[str, list[dict[str, Any]]] = {}
    unit = record["registration"]["trainer"]["work_unit"]
    for run in record["runs"]:
        if run["role"] == "run" and run["arm"] == arm:
            for name, rate in _rates(record, run):
                runs.setdefault(name, []).append(_run(run, rate))
    return [_benchmark(name, unit, ones) for name, ones in runs.items()]


def _rates(record: Record, run: Record) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each quantity over the iterations after the warm-up, or over the whole run where no warm-up is registered."""
    labels = {"stage": record["registration"]["trainer"]["stage"]}
    for quantity, windows in sorted(run["rates"].items()):
        window = "retained" if "retained" in windows else "whole run"
        rate = windows.get(window, {})
        if rate.get("work") and rate.get("seconds"):
            yield f"{labels.get(quantity, quantity)}, {window}", rate


def _run(run: Record, rate: dict[str, Any]) -> dict[str, Any]:
    facts = {"run": run["run"], "seed": run["seed"], "block": run["block"], "iterations": rate.get("iterations")}
    return {
        "metadata": {f"tachograph_{key}": value for key, value in facts.items() if value is not None},
        "values": [rate["seconds"] / rate["work"]],
    }


def _repeats(row: dict[str, Any]) -> dict[str, Any]:
    """The repeats of one part of a component as one run, or its one rate where it was not repeated."""
    return {"values": [1.0 / rate for rate in row.get("repeats") or [row.get("value")] if rate]}


def _benchmark(name: str, unit: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"metadata": {"name": name, "description": f"seconds per {unit}"}, "runs": runs}


def _suite(record: Record, benchmarks: list[dict[str, Any]]) -> dict[str, Any]:
    machine = record["machine"]
    facts = {
        "cpu_count": machine["cpus_logical"],
        "cpu_model_name": machine["cpu"],
        "hostname": machine["host"],
        "platform": "-".join([machine["system"], machine["kernel"], machine["architecture"]]),
        "python_implementation": machine["python"]["implementation"].lower(),
        "python_version": machine["python"]["version"],
        "tachograph_record": record["record_id"],
        "unit": "second",
    }
    known = {key: value for key, value in facts.items() if isinstance(value, int | str)}
    return {"benchmarks": benchmarks, "metadata": known, "version": FORMAT}
