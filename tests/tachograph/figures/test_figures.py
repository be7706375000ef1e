"""Every figure of a study is drawn, from the analysis alone, the same bytes each time."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tachograph.analysis.names import figure_names
from tachograph.analysis.sealed import SealedStudy
from tachograph.errors import TachographError
from tachograph.figures import FIGURES, draw
from tachograph.files import canonical_json, parse_json


@pytest.fixture(scope="module")
def analysis(sealed: SealedStudy, analysis: dict[str, Any]) -> dict[str, Any]:
    """As a program reads it from the file."""
    assert figure_names(sealed.study, sealed.trainer) == list(FIGURES)
    found: dict[str, Any] = parse_json(canonical_json(analysis))
    return found


@pytest.mark.parametrize("name", list(FIGURES))
def test_figure_is_written_as_svg_and_png(analysis: dict[str, Any], tmp_path: Path, name: str) -> None:
    """SVG that parses as XML, PNG with its signature, and no date in either: twice the same bytes."""
    for number in (1, 2):
        drawing = draw(analysis, name)
        drawing.save(tmp_path / f"{number}.svg", "svg")
        drawing.save(tmp_path / f"{number}.png", "png")
    ElementTree.parse(tmp_path / "1.svg")
    assert (tmp_path / "1.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()
    assert (tmp_path / "1.png").read_bytes() == (tmp_path / "2.png").read_bytes()


def test_axes_name_quantity_and_unit(analysis: dict[str, Any]) -> None:
    """The throughput figure says stage and unit, and its title the study and the device."""
    axes = draw(analysis, "rates").figure.axes[0]
    assert axes.get_ylabel() == "collection: environment steps/s"
    assert "study stub" in axes.get_title(loc="left")


def test_names_are_text_and_no_formula(analysis: dict[str, Any], tmp_path: Path) -> None:
    """A label that looks like mathematics or markup is drawn as it stands."""
    metric = {**analysis["curves"][0], "label": "$x_{ <script>"}
    draw({**analysis, "curves": [metric, *analysis["curves"][1:]]}, "curves").save(tmp_path / "a.svg", "svg")
    assert b"<script" not in (tmp_path / "a.svg").read_bytes()


def test_unknown_figure_is_refused(analysis: dict[str, Any]) -> None:
    """A name that is no figure is an error that lists the known ones."""
    with pytest.raises(TachographError, match="expected one of: stages, rates, curves, factor"):
        draw(analysis, "pie")


def test_factor_figure_names_its_confidence_and_no_unsteady_headline(analysis: dict[str, Any]) -> None:
    """The interval is named with the registered confidence; runs that were not steady have no headline row."""
    strict = copy.deepcopy(analysis)
    strict["steadiness"]["headline"] = True
    for one in strict["factors"]:
        one["confidence"] = 0.99
    axes = draw(strict, "factor").figure.axes[0]
    assert "99 % interval" in axes.get_xlabel()
    assert any("(headline)" in label.get_text() for label in axes.get_yticklabels())
    strict["steadiness"]["headline"] = False
    axes = draw(strict, "factor").figure.axes[0]
    assert not any("(headline)" in label.get_text() for label in axes.get_yticklabels())


def test_legend_of_the_curves_lies_within_the_figure(analysis: dict[str, Any]) -> None:
    """Every entry is seen with its sign, however long the longest is."""
    figure = draw(analysis, "curves").figure
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.x1


def test_margin_of_a_metric_that_few_iterations_have_is_drawn(analysis: dict[str, Any]) -> None:
    """Where every second iteration lacks the metric a bar of twice the margin stands about the reference mean."""
    sparse = copy.deepcopy(analysis)
    metric = next(one for one in sparse["curves"] if one["margin"] is not None)
    for run in sparse["series"]["curves"]:
        values = run["metrics"][metric["metric"]]
        run["metrics"][metric["metric"]] = [2.0 if i % 2 else None for i in range(len(values))]
    sparse["curves"] = [metric]
    bars = draw(sparse, "curves").figure.axes[0].patches
    margin = metric["margin"]["value"]
    assert [bar.get_x() + bar.get_width() / 2 for bar in bars] == pytest.approx([2, 4, 6, 8])
    assert [(bar.get_y(), bar.get_height()) for bar in bars] == [pytest.approx((2 - margin, 2 * margin))] * 4
    whole = draw({**analysis, "curves": [metric]}, "curves").figure.axes[0]
    assert not whole.patches


def test_rates_of_arms_far_apart_stand_on_a_logarithmic_axis(analysis: dict[str, Any]) -> None:
    """Where one arm is over five times as fast as another the slow one's course would be flat; else 0 is shown."""
    far = copy.deepcopy(analysis)
    for run in far["series"]["rates"]:
        faster = 10.0 if run["arm"] == "fast" else 1.0
        run["work"], run["stage_seconds"] = [faster for _ in run["work"]], [1.0 for _ in run["work"]]
    axes = draw(far, "rates").figure.axes[0]
    assert axes.get_yscale() == "log"
    assert "logarithmic" in axes.get_ylabel()
    for run in far["series"]["rates"]:
        run["work"] = [1.0 for _ in run["work"]]
    near = draw(far, "rates").figure.axes[0]
    assert (near.get_yscale(), near.get_ylim()[0]) == ("linear", 0)
