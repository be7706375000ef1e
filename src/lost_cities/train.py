"""The training loop: traverse, fit, evaluate, save, write one row of metrics per iteration."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np

from lost_cities.checkpoint import CHECKPOINT, load_checkpoint, save_checkpoint
from lost_cities.config import Config
from lost_cities.crew import Crew, lanes_of
from lost_cities.devices import apply_run_settings
from lost_cities.errors import LostCitiesError, NonFiniteTrainingError
from lost_cities.evaluator import Evaluator
from lost_cities.files import taken
from lost_cities.inference import weights_of
from lost_cities.kernels.lanes import ADVANTAGE
from lost_cities.metrics import METRICS, open_metrics, take_up, write_row
from lost_cities.optimize import FitReport
from lost_cities.trainer import Trainer
from lost_cities.traversal import Harvest
from lost_cities.warmup import warm_up

Report = Callable[[dict[str, Any]], None]


def train(config: Config, out: Path, seed: int, resume: bool = False, report: Report = lambda row: None) -> Trainer:
    """Train until ``run.iterations`` are done; write ``out``/metrics.jsonl and ``out``/checkpoint.pt.

    With ``resume`` the training in ``out`` is continued; its metrics become those of an uninterrupted run but for
    times. ``report`` is called with every row. Raises :class:`LostCitiesError` on bad input,
    :class:`NonFiniteTrainingError` and :class:`WorkerLostError`.
    """
    if not resume and (out / CHECKPOINT).exists():
        raise LostCitiesError(f"{out / CHECKPOINT} exists already, expected a new folder or --resume")
    apply_run_settings(config.run)
    trainer = Trainer(config, seed)
    missing_row, under_way = None, None
    with ExitStack() as stack:
        if resume:
            if out.is_dir():
                stack.enter_context(taken(out))
            row, under_way = load_checkpoint(out / CHECKPOINT, trainer)
            if not take_up(out / METRICS, trainer.iteration):
                missing_row = row
        crew = stack.enter_context(closing(Crew(config)))
        evaluator = stack.enter_context(closing(Evaluator(config, seed)))
        metrics = stack.enter_context(open_metrics(out / METRICS, resume))
        if not resume:
            stack.enter_context(taken(out))
        if missing_row is not None:
            write_row(metrics, out / METRICS, missing_row)
        if under_way is not None:
            evaluator.start(under_way)
        warm_up(config)
        crew.wait_ready()
        evaluator.wait_ready()
        while trainer.iteration < config.run.iterations:
            trainer.iteration += 1
            try:
                row = run_iteration(trainer, crew, evaluator, out / CHECKPOINT)
            except NonFiniteTrainingError as error:
                raise NonFiniteTrainingError(f"{error} in iteration {trainer.iteration}") from None
            write_row(metrics, out / METRICS, row)
            report(row)
    return trainer


def run_iteration(trainer: Trainer, crew: Crew, evaluator: Evaluator, checkpoint: Path) -> dict[str, Any]:
    """One iteration; its row of metrics. Times are seconds with the device idle at both ends of a phase.

    ``traversal_network_seconds`` is what a process that walks waited for the network, the mean over the workers.
    """
    config, iteration = trainer.config, trainer.iteration
    last = iteration == config.run.iterations
    start = trainer.now()
    weights = [weights_of(learner.network) for learner in trainer.advantage]
    harvest = crew.traverse(weights, trainer.seed, iteration)
    walked = trainer.now()
    trainer.add_to_memories(harvest)
    traversed = trainer.now()
    advantages = trainer.fit_advantages()
    advantages_fitted = trainer.now()
    strategy = trainer.fit_strategy()
    strategy_fitted = trainer.now()
    evaluation = evaluator.after(iteration, weights_of(trainer.strategy.network))
    evaluated = trainer.now()
    row = {
        "iteration": iteration,
        "traversal_seconds": traversed - start,
        "traversal_network_seconds": harvest.counts.network_seconds / max(1, config.traversal.num_workers),
        "memory_add_seconds": traversed - walked,
        "advantage_train_seconds": advantages_fitted - traversed,
        "strategy_train_seconds": strategy_fitted - advantages_fitted,
        "advantage_batch_tensor_seconds": sum(report.batch_tensor_seconds for report in advantages),
        "strategy_batch_tensor_seconds": strategy.batch_tensor_seconds,
        "batch_tensor_seconds": sum(report.batch_tensor_seconds for report in [*advantages, strategy]),
        "evaluation_seconds": evaluated - strategy_fitted if evaluation else 0.0,
        **_traversal_metrics(harvest, walked - start),
        **_learning_metrics(trainer, harvest, advantages, strategy),
        **_facts(config),
        **evaluation,
    }
    saving = last or iteration % config.checkpoint.every == 0
    if saving:
        unknown_yet = {"checkpoint_seconds": None, "iteration_seconds": None}
        save_checkpoint(checkpoint, trainer, {**row, **unknown_yet}, evaluator.under_way)
    end = trainer.now()
    return {**row, "checkpoint_seconds": end - evaluated if saving else 0.0, "iteration_seconds": end - start}


def _traversal_metrics(harvest: Harvest, walk_seconds: float) -> dict[str, Any]:
    """Counts over the iteration's traversals. ``nodes_per_second`` divides by the walk: the phase without the
    memories. ``mean_batch`` is nodes per call of the network."""
    counts = harvest.counts
    return {
        "traversal/traversals": counts.traversals,
        "traversal/nodes": counts.nodes,
        "traversal/forced_actions": counts.forced,
        "traversal/nodes_per_second": counts.nodes / walk_seconds,
        "traversal/forward_calls": counts.forward_calls,
        "traversal/mean_batch": counts.nodes / counts.forward_calls if counts.forward_calls else None,
        "traversal/chains": counts.chains,
        "traversal/longest_chain": counts.longest_chain,
        "traversal/endings_deck": counts.endings_deck,
        "traversal/endings_cap": counts.endings_cap,
    }


def _learning_metrics(
    trainer: Trainer, harvest: Harvest, advantages: list[FitReport], strategy: FitReport
) -> dict[str, Any]:
    """Losses are means over the updates. ``regret/player_N`` is the mean over the iteration's decisions of that
    player of the largest sampled advantage, in units of ``traversal.points_per_unit``."""
    row: dict[str, Any] = {"strategy_loss": strategy.loss}
    records = harvest.records
    for player, report in enumerate(advantages):
        chosen = (records.kind == ADVANTAGE) & (records.player == player)
        row[f"advantage_loss_{player}"] = report.loss
        row[f"regret/player_{player}"] = float(records.targets[chosen].max(1).mean()) if np.any(chosen) else None
        row[f"memory/advantage_{player}"] = len(trainer.advantage[player].memory)
    row["memory/strategy"] = len(trainer.strategy.memory)
    return row


def _facts(config: Config) -> dict[str, Any]:
    """What really ran; the same in every row."""
    run, traversal = config.run, config.traversal
    return {
        "device": run.device,
        "traversal_device": traversal.device,
        "evaluation_device": config.evaluation.device,
        "inference": traversal.inference,
        "sampling": traversal.sampling,
        "traversal_workers": traversal.num_workers,
        "traversal/side_by_side": lanes_of(config),  # so many could share a call of the network
        "use_amp": run.use_amp,
        "compile": run.compile,
    }
