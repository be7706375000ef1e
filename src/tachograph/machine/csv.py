"""The tables of a machine study as columns and rows, for ``tables/*.csv``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rows = tuple[list[str], list[list[Any]]]
RATED = ["cell", "arm", "device", "load", "foreign_processors", "clock_mhz", "power_watts", "contended", "held_back",
         "verdict"]  # fmt: skip
MEASURED = {
    "cells": ["cell", "kind", "operation", "place", "arm", "fault", "outcome", "signal", "verdict", "reasons",
              "seconds", "contended", "contended_because"],
    "correctness": ["cell", "arm", "operation", "device", "of", "outcome", "verdict", "nonfinite", "wrong", "relative",
                    "frobenius", "share_of_bound", "logit_error", "gradient_error", "kernel", "reasons"],
    "repeatability": ["cell", "arm", "operation", "backend", "device", "of", "threads", "oversubscribed", "calls",
                      "distinct_results", "differing_rate_upper_bound", "wrong_calls", "wrong_rate_upper_bound",
                      "fraction_differing", "max_abs_difference", "alike_over_threads", "verdict"],
    "matmul": ["size", "dtype", "mark", "burst", "sustained", "min", "median", "max", "steady", "peak",
               "share_of_peak", "status", *RATED],
    "formats": ["size", "device", "arm", "numerator", "denominator", "unit", "ratio", "withheld"],
    "training": ["channels", "parameters", "batch", "dtype", "mark", "samples_per_second", "median", "blocks",
                 "forward", "backward", "memory_share", "memory", "status", *RATED],
    "speedups": ["channels", "batch", "dtype", "arm", "numerator", "denominator", "unit", "speed_up", "withheld"],
    "batches": ["channels", "parameters", "dtype", "device", "arm", "from_batch", "to_batch", "unit", "ratio",
                "withheld"],
    "clocks": RATED,
    "clock_falls": ["device", "arm", "least_load", "clock_at_least", "most_load", "clock_at_most", "fall"],
    "workarounds": ["cell", "arm", "outcome", "signal", "verdict"],
    "soak": ["channels", "batch", "steps", "seconds", "first_loss", "last_loss", "nonfinite_parameters",
             "speed_last_over_first", "reasons", *RATED],
    "series": ["cell", "quantity", "seconds", "value"],
    "selftest": ["fault", "planted", "caught", "must", "verdict", "about", "by", "missed"],
}  # fmt: skip


def measured_rows(name: str) -> Callable[[dict[str, Any]], Rows]:
    """The function that takes an analysis and gives columns and rows of the table ``name``."""

    def rows(analysis: dict[str, Any]) -> Rows:
        columns = MEASURED[name]
        return columns, [[_cell(row.get(column)) for column in columns] for row in analysis["rows"][name]]

    return rows


def _cell(value: Any) -> Any:
    """A list of sentences as one text."""
    return "; ".join(map(str, value)) if isinstance(value, list) else value
