"""The figures of a machine study: the same rows the same bytes, and an empty one says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tachograph.figures import draw

RATED = {"device": "cpu", "arm": "as-installed", "contended": False, "load": 1.0, "clock_mhz": 2000.0}
ROWS = {
    "matmul": [{**RATED, "size": "256", "dtype": "fp32", "sustained": 0.1}],
    "training": [{**RATED, "parameters": 2_006_888, "dtype": "fp32", "batch": 64, "samples_per_second": 900.0}],
    "clocks": [RATED],
    "series": [{"cell": "soak", "quantity": "cpu_clock_mhz", "seconds": 1.0, "value": 2000.0}],
}


def analysis(rows: dict) -> dict:
    return {
        "study": {"name": "box"},
        "machine": {"device": {"description": "a processor"}},
        "registration": {"norm": "as-installed", "arms": {"as-installed": {}}},
        "rows": rows,
    }


@pytest.mark.parametrize("name", ["matmul", "training", "clock", "soak"])
def test_same_rows_same_bytes_and_empty_says_so(name: str, tmp_path: Path) -> None:
    """Drawing twice gives the same file; without rows the figure differs and is drawn all the same."""
    for file, rows in (("a", ROWS), ("b", ROWS), ("empty", {key: [] for key in ROWS})):
        draw(analysis(rows), name).save(tmp_path / file, "svg")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "empty").read_bytes()
    axes = draw(analysis({key: [] for key in ROWS}), name).figure.axes
    assert [text.get_text() for one in axes for text in one.texts] == ["not measured"]
