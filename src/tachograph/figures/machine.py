"""The figures of a machine study: TFLOP/s over size, samples/s over batch, clock over load, the soak over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from tachograph.figures.style import COLOURS, LINES, MARKS, SETTINGS, Drawing, new_figure, title

Row = Mapping[str, Any]
CLOCK = {"clock_mhz": "accelerator", "cpu_clock_mhz": "processor"}
SOAK = {
    "clock, MHz": CLOCK,
    "temperature, °C": {"temperature_celsius": "accelerator", "cpu_temperature_celsius": "processor"},
    "power, W": {
        "power_watts": "accelerator (an APU's: the whole package)",
        "package_power_watts": "processor package",
    },
    "load": {"load_average": "load average (1 minute)", "foreign_processors": "processors used by other programs"},
}


def draw_matmul(analysis: dict[str, Any]) -> Drawing:
    """Sustained TFLOP/s over matrix size, a line per format and device; hollow where it is to be doubted."""
    rows = [row for row in analysis["rows"]["matmul"] if row["sustained"] is not None]
    return _lines(
        analysis,
        "Matrix product, sustained",
        rows,
        lambda row: f"{row['dtype']}, {row['device']}{_arm(analysis, row)}",
        lambda row: _edge(row["size"]),
        "sustained",
        ("size (geometric mean of the three sides)", "TFLOP/s"),
    )


def draw_training(analysis: dict[str, Any]) -> Drawing:
    """Samples per second over batch, a line per network, device and format; hollow where the host was busy."""
    rows = [row for row in analysis["rows"]["training"] if row["samples_per_second"] is not None]
    return _lines(
        analysis,
        "Training, best of several blocks: lower bounds (≥)",
        rows,
        lambda row: f"{row['parameters']:,} parameters, {row['dtype']}, {row['device']}{_arm(analysis, row)}",
        lambda row: float(row["batch"]),
        "samples_per_second",
        ("batch", "samples/s"),
    )


def draw_clock(analysis: dict[str, Any]) -> Drawing:
    """Mean clock of each timed cell over the mean load of the host through it."""
    rows = analysis["rows"]["clocks"]
    with mpl.rc_context(SETTINGS):
        figure = new_figure(6.4, 3.8)
        axes = figure.add_subplot()
        for index, (label, members) in enumerate(_series(rows, lambda row: str(row["device"])).items()):
            axes.plot(
                [row["load"] for row in members],
                [row["clock_mhz"] for row in members],
                MARKS[index % len(MARKS)],
                color=COLOURS[index % len(COLOURS)],
                label=label,
                markersize=5,
                alpha=0.8,
            )
        _finish(axes, bool(rows))
        axes.set_xlim(0, 1.05 * axes.get_xlim()[1])
        axes.set_xlabel("load average of the host (1 minute), mean through a cell")
        axes.set_ylabel("clock, MHz")
        axes.set_title(title(analysis, "Clock over host load, one point per timed cell"), loc="left")
        if rows:
            figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return Drawing(figure)


def draw_soak(analysis: dict[str, Any]) -> Drawing:
    """What was sampled through the soak, over time: a panel per unit that any sensor gave."""
    rows = analysis["rows"]["series"]
    there, several = {row["quantity"] for row in rows}, len({row["cell"] for row in rows}) > 1
    panels = {unit: names for unit, names in SOAK.items() if there & names.keys()} or {"": {}}
    with mpl.rc_context(SETTINGS):
        figure = new_figure(6.8, 1.2 + 1.7 * len(panels))
        grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)
        for axes, (unit, names) in zip(grid[:, 0], panels.items(), strict=True):
            for index, (name, label) in enumerate(names.items()):
                for cell, points in _series(
                    [row for row in rows if row["quantity"] == name], lambda row: str(row["cell"])
                ).items():
                    axes.plot(
                        [row["seconds"] for row in points],
                        [row["value"] for row in points],
                        LINES[index % len(LINES)],
                        color=COLOURS[index % len(COLOURS)],
                        label=f"{label} ({cell})" if several else label,
                    )
            _finish(axes, bool(names))
            if names:
                axes.legend(fontsize=8, loc="best")
            axes.set_ylabel(unit)
        grid[-1, 0].set_xlabel("seconds since the soak began")
        grid[0, 0].set_title(title(analysis, "Through the soak"), loc="left")
    return Drawing(figure)


def _lines(
    analysis: dict[str, Any],
    what: str,
    rows: Sequence[Row],
    name: Callable[[Row], str],
    x: Callable[[Row], float],
    y: str,
    labels: tuple[str, str],
) -> Drawing:
    with mpl.rc_context(SETTINGS):
        figure = new_figure(6.8, 4.2)
        axes = figure.add_subplot()
        for index, (label, members) in enumerate(_series(rows, name).items()):
            colour, mark = COLOURS[index % len(COLOURS)], MARKS[index % len(MARKS)]
            points = sorted(members, key=x)
            line = LINES[index % len(LINES)]
            axes.plot([x(row) for row in points], [row[y] for row in points], line, color=colour, linewidth=1.1)
            for row in points:
                full = not _doubtful(row)
                axes.plot(x(row), row[y], mark, color=colour, markerfacecolor=colour if full else "white", markersize=5)
            axes.plot([], [], f"{line}", marker=mark, color=colour, label=label)
        if any(map(_doubtful, rows)):
            label = "hollow: the host was not quiet (≥)" + (", or the window not steady" if "steady" in rows[0] else "")
            axes.plot([], [], "o", color="#666666", markerfacecolor="white", label=label)
        _finish(axes, bool(rows))
        if rows:
            ticks = sorted({x(row) for row in rows})
            axes.set_xscale("log", base=2)
            axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
            axes.minorticks_off()
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        axes.set_title(title(analysis, what), loc="left")
        if rows:
            figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return Drawing(figure)


def _doubtful(row: Row) -> bool:
    return row["contended"] is not False or row.get("steady") is False


def _series(rows: Sequence[Row], name: Callable[[Row], str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(name(row), []).append(row)
    return found


def _finish(axes: Axes, anything: bool) -> None:
    """A scale from zero with room at the top; a figure without data says so instead of showing empty axes."""
    axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    if not anything:
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", va="center")


def _arm(analysis: dict[str, Any], row: Row) -> str:
    return "" if row["arm"] == analysis["registration"]["norm"] else f", {row['arm']}"


def _edge(size: str) -> float:
    """Length of a side, or the geometric mean of three different ones."""
    sides = [float(part) for part in str(size).split("x")]
    return float(sides[0] if len(sides) == 1 else (sides[0] * sides[1] * sides[2]) ** (1 / 3))
