"""Worker processes: same results, one life through the run, and an early death that is told."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest
from tiny_lost_cities import tiny_config

from lost_cities.checkpoint import load_checkpoint, save_checkpoint
from lost_cities.crew import Crew
from lost_cities.errors import LostCitiesError, WorkerLostError
from lost_cities.evaluator import Evaluator
from lost_cities.inference import weights_of
from lost_cities.train import train
from lost_cities.trainer import Trainer

WORKERS = ["traversal.num_workers=2", "traversal.worker_chunk_size=7"]


def test_workers_live_on_and_a_killed_one_is_an_error():
    """Workers walk what one process walks, in the same order, with the same processes; killing one ends the wait."""
    config = tiny_config()
    trainer = Trainer(config, 5)
    weights = [weights_of(learner.network) for learner in trainer.advantage]
    alone, crew = Crew(config), Crew(tiny_config(*WORKERS))
    try:
        processes = crew.process_ids
        for iteration in (1, 2):
            one, many = alone.traverse(weights, 5, iteration), crew.traverse(weights, 5, iteration)
            for ours, theirs in zip(one.records, many.records, strict=True):
                np.testing.assert_array_equal(ours, theirs)
            assert one.counts.nodes == many.counts.nodes
        assert crew.process_ids == processes
        os.kill(processes[0], signal.SIGKILL)
        with pytest.raises(WorkerLostError, match=f"process {processes[0]}\\) ended with signal SIGKILL"):
            crew.traverse(weights, 5, 3)
    finally:
        crew.close()
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_an_error_of_a_worker_is_told_and_evaluation_may_run_beside(tmp_path):
    """A worker's own complaint is raised in the trainer; asynchronous evaluation arrives later, none is lost."""
    with pytest.raises(LostCitiesError, match="more than 2 decisions"):
        train(tiny_config(*WORKERS, "traversal.max_decisions=2"), tmp_path / "short", seed=5)
    settings = ["evaluation.asynchronous=true", "evaluation.num_workers=1"]
    train(tiny_config(*settings), tmp_path / "async", seed=5)
    train(tiny_config(), tmp_path / "sync", seed=5)
    asynchronous, synchronous = (margins(tmp_path / name / "metrics.jsonl") for name in ("async", "sync"))
    assert asynchronous == synchronous
    assert set(synchronous) == {(2, "random"), (2, "noisy_safe"), (4, "random"), (4, "noisy_safe")}


def test_an_evaluation_under_way_survives_a_resume(tmp_path):
    """A checkpoint keeps the evaluation that has no result yet; the resumed training plays it and writes it."""
    settings = ["evaluation.asynchronous=true", "evaluation.num_workers=1", "evaluation.eval_every=3"]
    config = tiny_config(*settings, "run.iterations=9")
    trainer, evaluator = Trainer(config, 5), Evaluator(config, 5)
    trainer.iteration = 3
    try:
        assert evaluator.after(3, weights_of(trainer.strategy.network)) == {}
        save_checkpoint(tmp_path / "checkpoint.pt", trainer, {"iteration": 3}, evaluator.under_way)
        row, under_way = load_checkpoint(tmp_path / "checkpoint.pt", Trainer(config, 5))
        assert row == {"iteration": 3}
        first = evaluator.after(5, weights_of(trainer.strategy.network))
        evaluator.start(under_way)
        with pytest.raises(LostCitiesError, match=r"evaluation\.num_workers: found 0, expected at least 1"):
            Evaluator(tiny_config(), 5).start(under_way)
        second = evaluator.after(5, weights_of(trainer.strategy.network))
    finally:
        evaluator.close()
    assert first["eval/iteration"] == 3
    assert {key: first[key] for key in first if "_seconds" not in key} == {
        key: second[key] for key in second if "_seconds" not in key
    }


def margins(path) -> dict[tuple[int, str], float]:
    found = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        for key, value in row.items():
            if key.endswith("/margin_mean"):
                found[row["eval/iteration"], key.split("/")[1]] = value
    return found
