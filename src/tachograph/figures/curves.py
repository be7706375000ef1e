"""Each registered curve with all runs: do the arms learn the same, and how far do two seeds lie apart."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import MaxNLocator

from tachograph.figures.style import GREY, LINES, SETTINGS, Drawing, looks, new_figure, title

COLUMNS = 2
BAND: Any = {"color": "#f0e442", "alpha": 0.35}
MARGIN = "registered margin of a window's mean,\nabout the reference mean"


def draw_curves(analysis: dict[str, Any]) -> Drawing:
    """One panel per metric; colour and mark tell the arm, the kind of line the seed; a band shows the margin."""
    metrics = analysis["curves"]
    arms = list(looks(analysis))
    runs = sorted(analysis["series"]["curves"], key=lambda one: (one["role"] != "run", arms.index(one["arm"])))
    seeds = sorted({one["seed"] for one in runs})
    reference = analysis["registration"]["design"]["reference"]
    rows = -(-len(metrics) // COLUMNS)
    with mpl.rc_context(SETTINGS):
        figure = new_figure(8.4, 1.0 + 2.3 * rows)
        panels = figure.subplots(rows, COLUMNS, squeeze=False)
        for place, metric in enumerate(metrics):
            axes = panels[place // COLUMNS][place % COLUMNS]
            _margin(axes, metric, [one for one in runs if one["arm"] == reference and one["role"] == "run"])
            for one in runs:
                beneath = one["arm"] == reference  # larger marks, that are seen beneath those of an equal curve
                _line(axes, one, metric["metric"], looks(analysis)[one["arm"]], seeds, 4.5 if beneath else 2.5)
            axes.set_title(metric["label"], loc="left")
            _whole_iterations(axes, runs)
            if place // COLUMNS == rows - 1 or place + COLUMNS >= len(metrics):
                axes.set_xlabel("iteration")
        for empty in range(len(metrics), rows * COLUMNS):
            panels[empty // COLUMNS][empty % COLUMNS].set_visible(False)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
        figure.suptitle(
            title(analysis, "Curves of the blocks, and of the A/A run"),
            x=0.01,
            ha="left",
            fontsize=10,
        )
    return Drawing(figure)


def _line(axes: Any, one: dict[str, Any], column: str, look: Any, seeds: list[int], size: float) -> None:
    values = [np.nan if value is None else value for value in one["metrics"][column]]
    repeat = one["role"] == "aa"
    axes.plot(
        one["iteration"],
        values,
        color=GREY if repeat else look.colour,
        linestyle=LINES[seeds.index(one["seed"]) % len(LINES)],
        linewidth=2.6 if repeat else 1.2,
        alpha=0.35 if repeat else 1.0,
        marker=None if repeat else look.mark,
        markersize=size,
        markevery=max(1, len(values) // 12),
        label=f"{one['arm']} seed {one['seed']}" + (" again (A/A)" if repeat else ""),
        zorder=1 if repeat else 2,
    )


def _whole_iterations(axes: Any, runs: list[dict[str, Any]]) -> None:
    """The same iterations in every panel, so that a metric with few values does not look like one with many."""
    iterations = [i for one in runs for i in one["iteration"]]
    if iterations:
        first, last = min(iterations), max(iterations)
        room = max(0.5, (last - first) / 25)
        axes.set_xlim(first - room, last + room)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _margin(axes: Any, metric: dict[str, Any], references: list[dict[str, Any]]) -> None:
    """The registered margin around the mean of the reference runs, where all of them have the metric.

    It is a bar where the iterations beside one lack the metric, as between evaluations: a band would have no width.
    """
    if metric["margin"] is None or not references:
        return
    common = sorted(set.intersection(*(set(one["iteration"]) for one in references)))
    if not common:
        return
    by_run = [dict(zip(one["iteration"], one["metrics"][metric["metric"]], strict=True)) for one in references]
    mean = np.array(
        [np.mean([np.nan if run[i] is None else run[i] for run in by_run]) for i in common], dtype=np.float64
    )
    margin = metric["margin"]["value"]
    there = np.isfinite(mean)
    alone = there & ~np.append(there[1:], False) & ~np.insert(there[:-1], 0, False)
    axes.fill_between(common, mean - margin, mean + margin, linewidth=0, label=MARGIN, **BAND)
    at = np.array(common)[alone]
    axes.use_sticky_edges = False  # a bar would end at the frame
    axes.bar(at, 2 * margin, width=0.5, bottom=mean[alone] - margin, zorder=0, **BAND)
