"""The record of the engine measured alone."""

from __future__ import annotations

import numba
import pytest

from armies.engine_alone import engine_alone
from armies.variants import QUAD


def test_record_adds_up() -> None:
    """Work, seconds and rates of the record belong together; the threads are put back."""
    before = numba.get_num_threads()
    record = engine_alone(QUAD, games=8, steps=5, threads=1, repeats=3)
    assert numba.get_num_threads() == before
    assert (record["schema"], record["name"], record["threads"], record["games"]) == (
        "component/1",
        "engine",
        1,
        8,
    )
    assert [rate["name"] for rate in record["rates"]] == ["legal_mask + step", "observe"]
    for rate in record["rates"]:
        assert rate["work"] == 8 * 5 * 3
        assert rate["value"] == pytest.approx(rate["work"] / rate["seconds"])
        assert sum(8 * 5 / repeat for repeat in rate["repeats"]) == pytest.approx(rate["seconds"])


def test_impossible_numbers_are_refused() -> None:
    """More threads than there are, or no games, is an error that says so."""
    with pytest.raises(ValueError, match="1000 threads are asked for; 1 to"):
        engine_alone(QUAD, games=8, steps=5, threads=1000)
    with pytest.raises(ValueError, match="games, steps and repeats are 0, 5, 5"):
        engine_alone(QUAD, games=0, steps=5, threads=1)
