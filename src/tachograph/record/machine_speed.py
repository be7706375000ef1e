"""Speed of a machine on its page: products, training steps, clock over load, and the soak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tachograph.record.markdown import (
    NOT_SHOWN,
    UNKNOWN,
    bold,
    factor,
    figure,
    number,
    percent,
    significant,
    table,
    text,
)

Record = dict[str, Any]
Row = Mapping[str, Any]


def speed(record: Record) -> str:
    """Matrix products, training, their ratios, and the clock over the host's load."""
    parts = [*_matmul(record["rows"]), *_training(record["rows"])]
    if not parts:
        return "No rate was measured."
    if record["rows"]["clocks"]:
        parts.append(figure("clock", "Clock over host load"))
        if len({row["clock_mhz"] for row in record["rows"]["clocks"]}) == 1:
            parts.append("The system gave the same clock for every cell, as virtual machines do: it tells nothing.")
        parts += [_clock_fall(row) for row in record["rows"]["clock_falls"]]
    return "\n\n".join(parts)


def _clock_fall(row: Row) -> str:
    """Two points of the figure; what else changed between the two cells is not known."""
    change = f"{percent(abs(row['fall']))} {'lower' if row['fall'] > 0 else 'higher'}" if row["fall"] else "the same"
    return (
        f"Clock of {text(row['device'])}: {number(row['clock_at_least'])} MHz in the cell with the lowest load "
        f"({significant(row['least_load'])}), {number(row['clock_at_most'])} MHz in that with the highest "
        f"({significant(row['most_load'])}): {change}."
    )


def _matmul(tables: Record) -> list[str]:
    if not tables["matmul"]:
        return []
    rows = [
        [
            text(row["device"]),
            text(row["size"]),
            text(row["dtype"]),
            _rate(row, "burst", 3),
            _rate(row, "sustained", 3),
            "yes" if row["steady"] else "no" if row["steady"] is False else UNKNOWN,
            percent(row["share_of_peak"]) if row["peak"] else NOT_SHOWN,
            *_conditions(row),
            text(row["status"]) if row["sustained"] is None else text(row["held_back"] or ""),
        ]
        for row in tables["matmul"]
    ]
    headers = ["device", "size", "format", "burst", "sustained", "steady", "of the peak", *CONDITIONS, "note"]
    ratios = [
        f"{text(row['numerator'])} over {text(row['denominator'])} at {text(row['size'])} on {text(row['device'])}: "
        f"{_ratio(row, 'ratio')}"
        for row in tables["formats"]
    ]
    return [
        "Matrix product, TFLOP/s. Burst: the median of the five fastest blocks that started from idle. Sustained: all "
        "work over all time of a window after a lead-in. ≥: a lower bound, because other work shared the machine. "
        "A burst may be the slower one, where waking up costs more than heat does. The time of a block includes that "
        "of starting its kernels, which may limit small products on an accelerator.",
        CONDITIONS_ARE,
        table(headers, rows, right=range(3, 11)),
        *([f"Ratios of formats (sustained): {'; '.join(ratios)}."] if ratios else []),
        figure("matmul", "TFLOP/s over size and format"),
    ]


def _training(tables: Record) -> list[str]:
    if not tables["training"]:
        return []
    rows = [
        [
            text(row["device"]),
            f"{row['parameters']:,}",
            text(row["dtype"]),
            f"{row['batch']:,}",
            _rate(row, "samples_per_second", 0),
            number(row["forward"]),
            number(row["backward"]),
            percent(row["memory_share"]),
            *_conditions(row),
            text(row["status"]) if row["samples_per_second"] is None else text(row["held_back"] or ""),
        ]
        for row in tables["training"]
    ]
    headers = ["device", "parameters", "format", "batch", "samples/s", "forward alone, samples/s",
               "backward alone, samples/s", "memory used", *CONDITIONS, "note"]  # fmt: skip
    memory = " or ".join(sorted({text(row["memory"]) for row in tables["training"]}))
    ratios = [
        f"{row['channels']} channels, batch {row['batch']:,}, {text(row['dtype'])}: {_ratio(row, 'speed_up')}"
        for row in tables["speedups"]
    ]
    batches = [
        f"{row['parameters']:,} parameters, {text(row['dtype'])}, {text(row['device'])}, {row['from_batch']:,} to "
        f"{row['to_batch']:,}: {_ratio(row, 'ratio')}"
        for row in tables["batches"]
    ]
    return [
        "Training steps of the board network (forward, backward, Adam), best of several blocks and therefore ≥. "
        "Forward and backward alone are timed in steps of their own, with a synchronisation at each end: on a busy "
        f"host they need not fit the best block. Memory used: the most that the cell's process held, of {memory}.",
        *([] if tables["matmul"] else [CONDITIONS_ARE]),
        table(headers, rows, right=range(1, 12)),
        *([f"Accelerator over processor, samples/s: {'; '.join(ratios)}."] if ratios else []),
        *([f"From the smallest to the largest batch, samples/s: {'; '.join(batches)}."] if batches else []),
        figure("training", "Samples per second over batch"),
    ]


CONDITIONS = ["load", "clock, MHz", "power, W", "other programs, CPUs"]
CONDITIONS_ARE = (
    "Means through a cell: load, the host's load average of one minute, which counts the cell's own threads; clock and "
    "power, of the accelerator (an APU's power: of the whole package) or, where the cell ran on the processor, of that "
    "and its package; other programs, the processors that they kept busy."
)


def _conditions(row: Row) -> list[str]:
    return [
        significant(row["load"]),
        number(row["clock_mhz"]),
        significant(row["power_watts"]),
        significant(row["foreign_processors"], 2),
    ]


def _rate(row: Row, name: str, digits: int) -> str:
    if row[name] is None:
        return NOT_SHOWN
    value = significant(row[name], digits) if digits else number(row[name])
    return f"{row['mark']} {value}".strip()


def _ratio(row: Row, name: str) -> str:
    return f"withheld ({text(row['withheld'])})" if row["withheld"] else factor(row[name])


def _contended(row: Row) -> str:
    return "" if row["contended"] is False else " (not on a quiet host)"


def lasts(record: Record) -> str:
    """The soak: everything finite, the loss falls, clocks over time."""
    rows = [
        [
            text(row["device"]),
            f"{row['channels']} channels, batch {row['batch']:,}",
            str(row["steps"]),
            number(row["seconds"], 1),
            f"{significant(row['first_loss'], 4)} → {significant(row['last_loss'])}",
            str(row["nonfinite_parameters"]),
            f"{factor(row['speed_last_over_first'])}{_contended(row)}",
            bold(row["verdict"]),
            text("; ".join(row["reasons"])),
        ]
        for row in record["rows"]["soak"]
    ]
    if not rows:
        return "No soak was measured."
    headers = ["device", "network", "steps", "seconds", "loss on a fixed batch", "parameters not finite",
               "steps per second, last quarter over first", "verdict", "found"]  # fmt: skip
    seen = {row["quantity"] for row in record["rows"]["series"]}
    caption = ", ".join(words for words, names in SENSED.items() if seen & names) or "Nothing"
    return f"{table(headers, rows, right=(2, 3, 5, 6))}\n\n{figure('soak', f'{caption} over the soak'.capitalize())}"


SENSED = {
    "clock": {"clock_mhz", "cpu_clock_mhz"},
    "temperature": {"temperature_celsius", "cpu_temperature_celsius"},
    "power": {"power_watts", "package_power_watts"},
    "load": {"load_average", "foreign_processors"},
}
