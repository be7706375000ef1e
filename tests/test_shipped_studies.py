"""No shipped study compares a training with itself: what an arm or a candidate changes is what its title says."""

from __future__ import annotations

import math

import pytest

from lost_cities.crew import lanes_of
from shipped_studies import Change, changes, claimed, differences, lost_cities_config, shipped_studies

CHANGES = list(changes())
LOST_CITIES = [change for change in CHANGES if change.study.trainer == "lost-cities"]


def test_there_are_studies_of_both_trainers():
    """The tests below have something to look at."""
    assert {study.trainer for study, _ in shipped_studies()} == {"armies", "lost-cities"}
    assert len(LOST_CITIES) > 15


@pytest.mark.parametrize("change", LOST_CITIES, ids=str)
def test_exactly_what_the_title_says_is_changed(change: Change):
    """By the trainer's own reading of both commands: the same options, from the same values to the same values."""
    found = differences(lost_cities_config(change.base), lost_cities_config(change.changed))
    assert found, f"{change} changes nothing"
    assert claimed(change.title) == found


@pytest.mark.parametrize("change", LOST_CITIES, ids=str)
def test_batches_are_as_wide_as_asked_for_and_every_worker_has_work(change: Change):
    """No chunk holds batched traversals below their width unless the title is about chunks; no worker is idle."""
    for run in (change.base, change.changed):
        config = lost_cities_config(run)
        settings = config.traversal
        if settings.inference == "batched" and "chunk" not in change.name:
            assert lanes_of(config) == min(settings.width, 2 * settings.traversals_per_player)
        if settings.num_workers:
            chunks = math.ceil(2 * settings.traversals_per_player / settings.worker_chunk_size)
            assert settings.num_workers <= chunks
        assert config.evaluation.num_workers <= len(config.evaluation.opponents)


@pytest.mark.parametrize("change", LOST_CITIES, ids=str)
def test_no_run_has_more_threads_than_its_study_registers(change: Change):
    """Workers times threads of each; and networks that are said to be on the study's device are there."""
    for run in (change.base, change.changed):
        config = lost_cities_config(run)
        processes = max(config.traversal.num_workers, config.evaluation.num_workers, 1)
        assert processes * config.run.threads <= change.study.threads
        assert config.run.device == ("cuda" if change.study.device == "gpu" else "cpu")
        assert config.evaluation.device == config.run.device or "evaluation.device" in change.title


@pytest.mark.parametrize("change", [one for one in LOST_CITIES if "evaluation.batch_size" in one.title], ids=str)
def test_larger_evaluation_batches_make_fewer_calls(change: Change):
    """About half of the games wait for the policy at a time: they must not fit into one call of either size."""
    base, changed = (lost_cities_config(run).evaluation for run in (change.base, change.changed))
    calls = [math.ceil(one.games / 2 / one.batch_size) for one in (base, changed)]
    assert calls[0] > calls[1]


@pytest.mark.parametrize("change", [one for one in LOST_CITIES if "evaluation." in one.title], ids=str)
def test_evaluation_candidates_evaluate_often_enough(change: Change):
    """Runs of some iterations must evaluate more than once after the first, which is dropped."""
    every = lost_cities_config(change.base).evaluation.eval_every
    assert change.base.amount // every >= 3


def test_chunks_are_tried_below_and_above_their_base():
    """A study that tunes the chunk size looks to both sides."""
    sizes = [
        claimed(one.title)["traversal.worker_chunk_size"]
        for one in LOST_CITIES
        if list(claimed(one.title)) == ["traversal.worker_chunk_size"]
    ]
    assert min(int(new) - int(old) for old, new in sizes) < 0 < max(int(new) - int(old) for old, new in sizes)
