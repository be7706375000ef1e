"""What all figures share: colours and marks of arms, fonts, and files whose bytes depend on the data alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart with every kind of colour vision and by their brightness in print; each arm
# also has a mark and a hatch of its own, so that colour is never the only sign.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "P")
HATCHES = ("", "///", "...", "xx", "\\\\", "++")
LINES = ("-", "--", ":", "-.")
GREY = "#666666"
DPI = 160

SETTINGS: Any = {  # the stubs of matplotlib want every key spelled as a literal
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "tachograph",
    "svg.fonttype": "path",
    "text.parse_math": False,  # names of studies and arms are text, never formulas
}


@dataclass(frozen=True)
class Drawing:
    """A finished figure."""

    figure: Figure

    def save(self, path: Path, kind: str) -> None:
        """Write it as ``svg`` or ``png``, without dates, so that the same data give the same bytes."""
        metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
        with mpl.rc_context(SETTINGS):
            self.figure.savefig(path, format=kind, dpi=DPI, metadata=metadata)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that no window knows of."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@dataclass(frozen=True)
class Look:
    """How an arm is drawn everywhere."""

    colour: str
    mark: str
    hatch: str


def looks(analysis: dict[str, Any]) -> dict[str, Look]:
    """The look of each arm, the reference first."""
    return {
        arm: Look(COLOURS[i % len(COLOURS)], MARKS[i % len(MARKS)], HATCHES[i % len(HATCHES)])
        for i, arm in enumerate(analysis["registration"]["arm_order"])
    }


def title(analysis: dict[str, Any], text: str) -> str:
    """The title of a figure: what it shows, and of which study."""
    return f"{text}\nstudy {analysis['study']['name']}, {device(analysis)}"


def device(analysis: dict[str, Any]) -> str:
    """The device in a few words."""
    described = str(analysis["machine"]["device"]["description"])
    return described if len(described) <= 60 else described[:59] + "…"
