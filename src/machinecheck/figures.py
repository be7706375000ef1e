"""Figures of a machine check, drawn from its tables as SVG; the same rows give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

mpl.use("Agg")
Row = Mapping[str, Any]
# Okabe & Ito's colours, told apart by colour-blind readers, with a marker each besides.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLE: dict[Any, Any] = {"svg.hashsalt": "machinecheck", "svg.fonttype": "none", "font.size": 9.0}


def _series(rows: Sequence[Row], name: Callable[[Row], str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(name(row), []).append(row)
    return dict(sorted(found.items()))


def _draw(axes: Axes, rows: Sequence[Row], name: Callable[[Row], str], x: Callable[[Row], float], y: str) -> None:
    for index, (label, members) in enumerate(_series(rows, name).items()):
        points = sorted((x(row), row[y]) for row in members if row[y] is not None)
        if not points:
            continue
        axes.plot(
            *zip(*points, strict=True),
            label=label,
            color=COLOURS[index % len(COLOURS)],
            marker=MARKERS[index % len(MARKERS)],
            markersize=4,
            linewidth=1.2,
        )


def _finish(figure: Figure, axes: Axes, path: Path) -> Path:
    axes.grid(True, linewidth=0.3, alpha=0.6)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False)
    else:
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", va="center")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return path


def _new(title: str, x: str, y: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(6.4, 3.8))
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return figure, axes


def _logarithmic_sizes(axes: Axes, values: Sequence[float]) -> None:
    axes.set_xscale("log", base=2)
    ticks = sorted(set(values))
    axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axes.minorticks_off()


def _contended(rows: Sequence[Row]) -> str:
    return " (lower bounds: the host was not idle)" if any(row["contended"] is not False for row in rows) else ""


def _edge(size: str) -> float:
    """Length of a side, or the geometric mean of three different ones."""
    parts = [float(part) for part in str(size).split("x")]
    return parts[0] if len(parts) == 1 else (parts[0] * parts[1] * parts[2]) ** (1 / 3)


def matmul(rows: Sequence[Row], path: Path) -> Path:
    """Sustained TFLOP/s over matrix size, a line per format and device."""
    with mpl.rc_context(STYLE):
        figure, axes = _new(f"Matrix product, sustained{_contended(rows)}", "size", "TFLOP/s")
        _draw(
            axes,
            rows,
            lambda row: f"{row['dtype']}, {row['device']}",
            lambda row: _edge(row["size"]),
            "sustained",
        )
        if rows:
            _logarithmic_sizes(axes, [_edge(row["size"]) for row in rows])
            axes.set_ylim(bottom=0)
        return _finish(figure, axes, path)


def training(rows: Sequence[Row], path: Path) -> Path:
    """Samples per second over batch, a line per network, device and format."""
    with mpl.rc_context(STYLE):
        figure, axes = _new(f"Training, best of blocks{_contended(rows)}", "batch", "samples/s")
        _draw(
            axes,
            rows,
            lambda row: f"{row['parameters']:,} parameters, {row['dtype']}, {row['device']}",
            lambda row: float(row["batch"]),
            "samples_per_second",
        )
        if rows:
            _logarithmic_sizes(axes, [float(row["batch"]) for row in rows])
            axes.set_ylim(bottom=0)
        return _finish(figure, axes, path)


def clock_over_load(rows: Sequence[Row], path: Path) -> Path:
    """Mean clock of each timed cell over the mean host load through it."""
    with mpl.rc_context(STYLE):
        figure, axes = _new("Clock over host load", "load average", "MHz")
        _draw(axes, rows, lambda row: str(row["device"]), lambda row: float(row["load"]), "clock_mhz")
        if rows:
            axes.set_ylim(bottom=0)
        return _finish(figure, axes, path)
