"""The factors with their intervals, beside the prediction."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tachograph.figures.style import SETTINGS, Drawing, looks, new_figure, title

WIDEST = 4.0  # an interval that reaches farther than this many times its factor is cut off with an arrow


def draw_factor(analysis: dict[str, Any]) -> Drawing:
    """One row per factor: the pairs of blocks as small marks, the mean as a large one, the interval as a line."""
    factors = [one for one in analysis["factors"] if one["factor"] is not None]
    with mpl.rc_context(SETTINGS):
        figure = new_figure(8.0, 1.7 + 0.42 * max(len(factors), 1))
        axes = figure.add_subplot()
        _prediction(axes, analysis["prediction"], factors)
        axes.axvline(1.0, color="black", linewidth=0.8)
        cut_off = False
        confidence = next((one["confidence"] for one in factors), 0.95)
        for place, one in enumerate(factors):
            look = looks(analysis)[one["numerator"]]
            for pair in one["pairs"]:
                axes.plot(pair["factor"], place, "|", color=look.colour, markersize=11)
            if one["low"] is not None:
                low, high = max(one["low"], one["factor"] / WIDEST), min(one["high"], one["factor"] * WIDEST)
                axes.plot([low, high], [place, place], color=look.colour, linewidth=1.6)
                for end, cut, mark in ((low, low > one["low"], "<"), (high, high < one["high"], ">")):
                    axes.plot(end, place, mark if cut else "|", color=look.colour, markersize=6)
                    cut_off |= cut
            axes.plot(
                one["factor"], place, look.mark, color=look.colour, markersize=8 if one["headline"] else 5,
                markeredgecolor="black", markeredgewidth=0.6,
            )  # fmt: skip
            axes.annotate(
                f"{one['factor']:.2f}", (one["factor"], place), textcoords="offset points", xytext=(0, 7),
                ha="center", fontsize=8, path_effects=[withStroke(linewidth=2, foreground="white")],
            )  # fmt: skip
        steady = analysis["steadiness"]["headline"]
        axes.set_yticks(range(len(factors)), [_name(one, steady) for one in factors], fontsize=8)
        axes.invert_yaxis()
        axes.margins(y=0.12)
        axes.grid(axis="y", visible=False)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
        axes.xaxis.set_minor_locator(LogLocator(base=2, subs=(1.25, 1.5, 1.75)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(
            f"times the reference (thin ticks: single blocks;\nline: {100 * confidence:.3g} % interval"
            + (", arrow: it goes on)" if cut_off else ")")
        )
        axes.set_title(title(analysis, "Speed-up factors"), loc="left")
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower center", fontsize=8)
    return Drawing(figure)


def _name(one: dict[str, Any], steady: bool) -> str:
    star = " (headline)" if one["headline"] and steady else ""
    few = f", n = {len(one['pairs'])}" if len(one["pairs"]) > 1 else ""
    return f"{one['numerator']}: {one['label']}{star}\n{one['window']}{few}"


def _prediction(axes: Any, prediction: dict[str, Any], factors: list[dict[str, Any]]) -> None:
    """The registered prediction, in the row of the factor that it is about."""
    if not prediction["registered"] or prediction["quantity"] == "stage_throughput":
        return
    quantity = prediction["quantity"].removesuffix("_factor")
    for place, one in enumerate(factors):
        if (one["quantity"], one["kind"], one["numerator"]) != (quantity, "retained", prediction["arm"]):
            continue
        label = f"prediction {prediction['value']:g}×"
        if prediction["low"] is not None:
            low, high = prediction["low"], prediction["high"]
            axes.fill_betweenx([place - 0.45, place + 0.45], low, high, color="#f0e442", alpha=0.6, linewidth=0)
            label += f", from {low:g} to {high:g}"
        axes.plot([prediction["value"]] * 2, [place - 0.45, place + 0.45], "--", color="#D55E00", label=label)
