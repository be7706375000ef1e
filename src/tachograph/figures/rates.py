"""Throughput per iteration, run after run in the order of execution: drift and warm-up are seen here."""

from __future__ import annotations

from statistics import median
from typing import Any

import matplotlib as mpl
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from tachograph.analysis.rates import not_drawn
from tachograph.figures.style import GREY, SETTINGS, Drawing, looks, new_figure, title

GAP = 1.5  # empty iterations between two runs
NARROWEST = 5  # iterations; a shorter run gets as much room, for its name
FAR = 5.0  # times as fast
ROLES = {"baseline": "baseline", "burnin": "burn-in", "aa": "A/A"}


def _rates(one: dict[str, Any]) -> list[float]:
    return [work / seconds for work, seconds in zip(one["work"], one["stage_seconds"], strict=True)]


def _far_apart(runs: list[dict[str, Any]]) -> bool:
    """Whether the median rates of two runs are further apart than :data:`FAR`, and every rate has a logarithm."""
    middle = [median(_rates(one)) for one in runs]
    return bool(middle) and min(min(_rates(one)) for one in runs) > 0 and max(middle) > FAR * min(middle)


def draw_rates(analysis: dict[str, Any]) -> Drawing:
    """One point per iteration; hollow where it is warm-up or a run outside of the blocks; a line at each run's rate."""
    runs = [one for one in analysis["series"]["rates"] if one["role"] != "preflight" and one["iteration"]]
    retained = {run["run"]: run["rates"]["stage"].get("retained", {}).get("value") for run in analysis["runs"]}
    warmup = analysis["registration"]["design"]["warmup"]
    trainer = analysis["registration"]["trainer"]
    with mpl.rc_context(SETTINGS):
        figure = new_figure(
            max(7.2, min(16.0, 1.0 + 0.09 * sum(max(len(one["iteration"]), NARROWEST) for one in runs))), 3.8
        )
        axes = figure.add_subplot()
        labelled: set[str] = set()
        offset, ticks, names = 0.0, [], []
        for one in runs:
            look = looks(analysis)[one["arm"]]
            rates = _rates(one)
            room = max(len(rates), NARROWEST)
            places = [offset + (room - len(rates)) / 2 + i + 1 for i in range(len(rates))]
            in_block = one["role"] == "run"
            axes.plot(places, rates, color=look.colour, linewidth=0.8, alpha=0.6)
            for place, iteration, value in zip(places, one["iteration"], rates, strict=True):
                counts = in_block and iteration > warmup
                axes.plot(
                    place,
                    value,
                    look.mark,
                    color=look.colour,
                    markerfacecolor=look.colour if counts else "white",
                    markersize=4,
                )
            if in_block and retained.get(one["run"]):
                axes.hlines(retained[one["run"]], places[0], places[-1], color="black", linewidth=1.0, linestyle=":")
            if one["arm"] not in labelled:
                axes.plot([], [], look.mark, color=look.colour, label=one["arm"])
                labelled.add(one["arm"])
            ticks.append((places[0] + places[-1]) / 2)
            role = "" if in_block else f"{ROLES.get(one['role'], one['role'])}\n"
            names.append(f"{role}{one['arm']}\nseed {one['seed']}")
            offset += room + GAP
            axes.axvline(offset - GAP / 2 + 0.5, color="#dddddd", linewidth=0.6)
        axes.plot([], [], "o", color=GREY, markerfacecolor="white", label="warm-up, or not in a block")
        axes.plot([], [], ":", color="black", label="rate of the run after warm-up")
        axes.set_xticks(ticks, names, fontsize=7)
        unit = f"{trainer['stage']}: {trainer['work_unit']}/s"
        if _far_apart(runs):  # on a linear axis the course of the slow arm would be a flat line
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_minor_locator(NullLocator())
            unit += "\n(logarithmic)"
        else:
            axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.grid(axis="x", visible=False)
        left_out = not_drawn(analysis["series"]["rates"])
        axes.set_xlabel("iterations of each run, in the order of execution" + (f"\n{left_out}" if left_out else ""))
        axes.set_ylabel(unit)
        axes.set_title(title(analysis, f"Throughput of each iteration ({trainer['stage']})"), loc="left")
        figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    return Drawing(figure)
