"""The figures of a study, drawn from its analysis: readable in print and by colour-blind people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tachograph.errors import TachographError
from tachograph.figures.curves import draw_curves
from tachograph.figures.factor import draw_factor
from tachograph.figures.machine import draw_clock, draw_matmul, draw_soak, draw_training
from tachograph.figures.rates import draw_rates
from tachograph.figures.stages import draw_stages
from tachograph.figures.style import Drawing

FIGURES: dict[str, Callable[[dict[str, Any]], Drawing]] = {
    "stages": draw_stages,
    "rates": draw_rates,
    "curves": draw_curves,
    "factor": draw_factor,
}
OF_MACHINES: dict[str, Callable[[dict[str, Any]], Drawing]] = {
    "matmul": draw_matmul,
    "training": draw_training,
    "clock": draw_clock,
    "soak": draw_soak,
}


def draw(analysis: dict[str, Any], name: str) -> Drawing:
    """The figure called ``name``. Raises TachographError for an unknown name."""
    known = {**FIGURES, **OF_MACHINES}
    if name not in known:
        raise TachographError(f"figure {name!r} is unknown, expected one of: {', '.join(known)}")
    return known[name](analysis)
