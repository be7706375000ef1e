"""The training loop: collect, learn moves, learn set-ups, write the history and a checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from armies.checkpoint import CHECKPOINT, load_checkpoint, save_checkpoint
from armies.engine import BATTLELESS_LIMIT, FLAG_CAPTURED, NO_LEGAL_MOVES, PLY_CAP
from armies.errors import ArmiesError, NonFiniteTrainingError
from armies.history import HISTORY, drop_iterations_after
from armies.network import MoveNetwork
from armies.paths import CollectPath
from armies.plain import plain_collect
from armies.presets import Preset
from armies.rollout import Rollout
from armies.setup_network import update_setups
from armies.stages import synchronize
from armies.trainer import Trainer, make_trainer
from armies.update import UpdateReport, update_moves
from tachograph.instrument import HistoryWriter

Report = Callable[[dict[str, Any]], None]


def train(
    preset: Preset,
    path: CollectPath,
    iterations: int,
    out: Path,
    seed: int,
    device: str = "cpu",
    resume: bool = False,
    report: Report = lambda row: None,
) -> Trainer:
    """Train until ``iterations`` iterations are done; write ``out``/history.jsonl and ``out``/checkpoint.pt.

    With ``resume`` the training in ``out`` is continued; its history becomes that of an uninterrupted run.
    ``report`` is called with every row of the history. Raises :class:`ArmiesError` on bad input and
    :class:`NonFiniteTrainingError` when a number is not finite.
    """
    trainer = make_trainer(preset, path, seed, device)
    if resume:
        load_checkpoint(out / CHECKPOINT, trainer)
        if trainer.iteration > iterations:
            raise ArmiesError(f"{out} holds {trainer.iteration} iterations already, expected at most {iterations}")
        drop_iterations_after(out / HISTORY, trainer.iteration)
    with _open_history(out / HISTORY, resume) as history:
        while trainer.iteration < iterations:
            trainer.iteration += 1
            try:
                row = run_iteration(trainer)
            except NonFiniteTrainingError as error:
                raise NonFiniteTrainingError(f"{error} in iteration {trainer.iteration}") from None
            history.write(row)
            save_checkpoint(out / CHECKPOINT, trainer)
            report(row)
    return trainer


def run_iteration(trainer: Trainer) -> dict[str, Any]:
    """One iteration of all three phases; its row of the history."""
    preset, path = trainer.preset, trainer.path
    start = _now(trainer)
    rollout = _collect(trainer)
    collected = _now(trainer)
    learned = update_moves(trainer.network, trainer.optimizer, rollout, preset.learning, path, trainer.shuffle)
    updated = _now(trainer)
    setup_loss = update_setups(
        trainer.setup_network,
        trainer.setup_optimizer,
        trainer.setups.take_played(trainer.device),
        preset.learning,
    )
    trainer.setups.write_next(trainer.games, trainer.setup_network, trainer.sampling)
    end = _now(trainer)
    times = {
        "collection_seconds": collected - start,
        "move_update_seconds": updated - collected,
        "setup_update_seconds": end - updated,
        "iteration_seconds": end - start,
    }
    return _row(trainer, times, rollout, learned, setup_loss)


def _collect(trainer: Trainer) -> Rollout:
    network, steps = trainer.collecting_network(), trainer.preset.steps
    if trainer.path.plain and isinstance(network, MoveNetwork):
        return plain_collect(trainer.games, network, steps, trainer.setups, trainer.sampling)
    return trainer.collector.collect(network, steps, trainer.setups)


def _now(trainer: Trainer) -> float:
    """Seconds on a monotonic clock, with the device idle."""
    synchronize(trainer.device)
    return time.perf_counter()


def _row(
    trainer: Trainer,
    times: dict[str, float],
    rollout: Rollout,
    learned: UpdateReport,
    setup_loss: float | None,
) -> dict[str, Any]:
    """One row of the history. Losses are means over the update's minibatches, in nats but for the policy's.

    A loss is null when there was nothing to learn from: no transition kept, no game with a set-up of the
    network finished. ``mean_plies`` is over the games that finished in the iteration, null without one.
    """
    finished = rollout.ended > 0
    endings = np.bincount(rollout.ended.ravel(), minlength=PLY_CAP + 1)
    return {
        "iteration": trainer.iteration,
        "steps": trainer.preset.transitions,
        **times,
        "policy_loss": learned.policy_loss,
        "value_loss": learned.value_loss,
        "entropy": learned.entropy,
        "kept": learned.kept,
        "filter_threshold": learned.threshold,
        "games_finished": int(finished.sum()),
        "mean_plies": float(rollout.plies[finished].mean()) if finished.any() else None,
        "endings_flag": int(endings[FLAG_CAPTURED]),
        "endings_no_moves": int(endings[NO_LEGAL_MOVES]),
        "endings_battleless": int(endings[BATTLELESS_LIMIT]),
        "endings_ply_cap": int(endings[PLY_CAP]),
        "setup_loss": setup_loss,
        "device": str(trainer.device),
        "attention": trainer.attention,
        "path": trainer.path.name,
    }


def _open_history(path: Path, resume: bool) -> HistoryWriter:
    try:
        return HistoryWriter(path, resume=resume)
    except FileExistsError:
        if not path.parent.is_dir():
            raise ArmiesError(f"{path} cannot be written: {path.parent} is not a folder") from None
        raise ArmiesError(f"{path} exists already, expected a new folder or --resume") from None
    except OSError as error:
        raise ArmiesError(f"{path} cannot be written: {error.strerror}") from None
