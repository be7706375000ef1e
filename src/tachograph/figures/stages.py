"""Stage bars: milliseconds per step of each stage, every arm beside the other."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl

from tachograph.figures.style import SETTINGS, Drawing, looks, new_figure, three, title
from tachograph.wording import counted

BAR = 0.8  # height of all bars of one stage together


def draw_stages(analysis: dict[str, Any]) -> Drawing:
    """Horizontal bars, longest stage of the reference on top, with milliseconds and share written beside each."""
    section = analysis["stages"]
    arms = [arm for arm in looks(analysis) if arm in section["arms"]]
    rows = sorted(section["rows"], key=lambda row: -max((t["ms_per_step"] for t in row["arms"].values()), default=0))
    with mpl.rc_context(SETTINGS):
        figure = new_figure(7.2, 1.5 + 0.22 * max(len(arms), 2) * max(len(rows), 1))
        axes = figure.add_subplot()
        thickness = BAR / max(len(arms), 1)
        longest = max((t["ms_per_step"] for row in rows for t in row["arms"].values()), default=1.0)
        for number, arm in enumerate(arms):
            look = looks(analysis)[arm]
            for place, row in enumerate(rows):
                time = row["arms"].get(arm)
                if time is None:
                    continue
                y = place - BAR / 2 + (number + 0.5) * thickness
                total = section["arms"][arm]["total"]["ms_per_step"]
                axes.barh(
                    y,
                    time["ms_per_step"],
                    height=thickness * 0.9,
                    color=look.colour,
                    edgecolor="black",
                    linewidth=0.4,
                    hatch=look.hatch,
                    label=f"{arm} (total {three(total)} ms)" if place == 0 else None,
                )
                text = f"{three(time['ms_per_step'])} ms, {time['share']:.1%}"
                axes.text(time["ms_per_step"] + 0.01 * longest, y, text, va="center", fontsize=7)
        if not rows:
            axes.text(0.5, 0.5, section["reason"], ha="center", va="center", transform=axes.transAxes, wrap=True)
        axes.set_yticks(range(len(rows)), [row["stage"] for row in rows])
        axes.set_ylim(max(len(rows), 1) - 0.4, -0.6)
        axes.set_xlim(0, longest * 1.22)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("milliseconds per step, instrumented\n(beside each bar: share of the step of its arm)")
        steps = ", ".join(sorted({counted(count, "step") for count in section["steps"].values()}))
        axes.set_title(title(analysis, f"Where a step's time goes: stage profile over {steps}"), loc="left")
        if rows:
            axes.legend(loc="lower right")
    return Drawing(figure)
