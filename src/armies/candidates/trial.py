"""Measures a candidate against its base: interleaved on the same real batches, checked, and held against float64."""

from __future__ import annotations

import copy
import os
import re
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from armies.candidates.candidate import Candidate, Setting, UnavailableError
from armies.candidates.catalogue import make_candidate
from armies.errors import ArmiesError
from armies.network import MoveNetwork
from armies.parity import Errors, freeze
from armies.paths import CollectPath
from armies.presets import Preset
from armies.stages import synchronize
from armies.trainer import Trainer, make_trainer

SCHEMA = "candidate/1"
WARM_UP_STEPS = 3  # of different positions, so that what is compiled is compiled for more than one shape
PARITY_STEPS = 20
SIDES = ("base", "candidate")


def measure(
    name: str, preset: Preset, path: CollectPath, steps: int, pairs: int, device_name: str = "cpu", seed: int = 0
) -> dict[str, Any]:
    """A ``candidate/1`` document: ``name`` against what ``path`` does, over ``steps`` real batches in ``pairs`` parts.

    Each step lets base and candidate compute the same positions, in turn first, between brackets that synchronise.
    Where the device or the installation cannot run the candidate the document says so and holds no figures.
    """
    if steps < pairs:
        raise ArmiesError(f"steps are {steps}, expected at least one for each of {pairs} pairs")
    if path.fused or path.plain or path.unforced:
        raise ArmiesError(f"path {path.name} has no candidates, expected reference, fast or steps of it")
    trainer = make_trainer(preset, path, seed, device_name)
    network = trainer.collecting_network()
    assert isinstance(network, MoveNetwork)
    exact = copy.deepcopy(trainer.network).double()
    setting = Setting(path, network, exact, torch.Generator(trainer.device).manual_seed(seed))
    header: dict[str, Any] = {"schema": SCHEMA, "candidate": name, "preset": preset.name, "path": path.name}
    header |= {"device": str(trainer.device), "threads": torch.get_num_threads()}
    with torch.no_grad(), _own_compile_cache():
        try:
            return {**header, "available": True, **_measured(make_candidate(name, setting), trainer, steps, pairs)}
        except UnavailableError as error:
            return {**header, "available": False, "reason": str(error)}


@contextmanager
def _own_compile_cache() -> Iterator[None]:
    """torch.compile finds nothing that was compiled before, and leaves nothing behind."""
    before = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="armies-compile-", ignore_cleanup_errors=True) as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        try:
            yield
        finally:
            del os.environ["TORCHINDUCTOR_CACHE_DIR"]
            if before is not None:
                os.environ["TORCHINDUCTOR_CACHE_DIR"] = before


def _measured(candidate: Candidate, trainer: Trainer, steps: int, pairs: int) -> dict[str, Any]:
    feed = _Feed(candidate, trainer)
    warm_up = [feed.next() for _ in range(WARM_UP_STEPS)]
    for given in warm_up:
        candidate.base(given)
    one_off = _one_off(candidate, [candidate.arrange(given) for given in warm_up], trainer.device)
    seconds = [dict.fromkeys(SIDES, 0.0) for _ in range(pairs)]
    work = [0] * pairs
    bad = dict.fromkeys(SIDES, 0)
    parity = _Parity(candidate)
    for step in range(steps):
        given = feed.next()
        inputs = {"base": given, "candidate": candidate.arrange(given)}
        pair = step * pairs // steps
        order = SIDES if step.bit_count() % 2 == 0 else SIDES[::-1]
        for side in order:
            outputs, took = _timed(candidate, side, inputs[side], trainer.device)
            seconds[pair][side] += took
            bad[side] += any(bool(candidate.bad_rows(*one).any()) for one in zip(inputs[side], outputs, strict=True))
        work[pair] += feed.positions
        if step < PARITY_STEPS:
            parity.add(inputs)
    return {
        "part": candidate.part,
        "unit": "positions",
        "pairs": [
            {side: {"seconds": one[side], "work": amount} for side in SIDES}
            for one, amount in zip(seconds, work, strict=True)
        ],
        "steps": steps,
        "nonfinite_steps": bad,
        "one_off": one_off,
        "parity": parity.document(feed.positions),
    }


class _Feed:
    """Real positions, as the path itself plays them."""

    def __init__(self, candidate: Candidate, trainer: Trainer) -> None:
        self.candidate, self.trainer = candidate, trainer
        self.network = trainer.collecting_network()
        self.positions = candidate.group * trainer.games.count

    def next(self) -> list[Any]:
        """The inputs of one step; between two batches one ply of every game is played."""
        found = []
        for _ in range(self.candidate.group):
            self.trainer.collector.collect(self.network, 1, self.trainer.setups)
            found.append(self.candidate.prepare(freeze(self.trainer.games, self.trainer.device)))
        return found


def _timed(candidate: Candidate, side: str, given: list[Any], device: torch.device) -> tuple[list[Any], float]:
    function = candidate.base if side == "base" else candidate.changed
    synchronize(device)
    begin = time.perf_counter()
    outputs = function(given)
    synchronize(device)
    return outputs, time.perf_counter() - begin


def _one_off(candidate: Candidate, warm_up: list[Any], device: torch.device) -> dict[str, float] | None:
    """Seconds that the first calls take beyond later ones: with empty caches, and after the graphs were forgotten.

    Raises :class:`UnavailableError` where the candidate cannot run here.
    """
    cold = _first_calls(candidate, warm_up, device)
    if not candidate.compiles:
        return None
    torch.compiler.reset()
    return {"cold_seconds": cold, "warm_seconds": _first_calls(candidate, warm_up, device)}


def _first_calls(candidate: Candidate, warm_up: list[Any], device: torch.device) -> float:
    first, again = (sum(_explained(candidate, given, device) for given in warm_up) for _ in range(2))
    return max(first - again, 1e-9)


def _explained(candidate: Candidate, given: list[Any], device: torch.device) -> float:
    """Seconds of one call; what a device or an installation cannot do is told from a fault of ours."""
    from torch._dynamo.exc import BackendCompilerFailed

    with warnings.catch_warnings(record=True) as warned:  # torch warns of why it has no kernel, then raises
        warnings.simplefilter("always")
        try:
            return _timed(candidate, "candidate", given, device)[1]
        except (BackendCompilerFailed, torch.OutOfMemoryError) as error:
            raise UnavailableError(f"{type(error).__name__}: {_first_line(str(error))}") from None
        except RuntimeError as error:
            if "allocate memory" in str(error):
                raise UnavailableError(_first_line(str(error))) from None
            if not re.search("No available kernel|No viable backend", str(error)):
                raise
            words = dict.fromkeys(_first_line(str(one)) for one in [error, *(one.message for one in warned)])
            raise UnavailableError(
                f"torch has no such attention for this network on this device ({device.type}): {'; '.join(words)}"
            ) from None


def _first_line(message: str) -> str:
    """The first line with words in it; torch appends to warnings the place in its own source, which says nothing."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "no words")
    return line.split(" (Triggered internally at")[0][:300]


class _Parity:
    """Errors of base and candidate against float64, each run twice on the same inputs."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.totals: dict[tuple[str, str], Errors] = {}
        self.batches = 0

    def add(self, inputs: dict[str, list[Any]]) -> None:
        one = self.candidate
        exact = one.exact(inputs["base"])
        base = one.comparable(inputs["base"], one.base)
        for side, function in (("base", one.base), ("candidate", one.changed)):
            once, again = (one.comparable(inputs[side], function) for _ in range(2))
            for name in exact:
                errors = self.totals.setdefault((side, name), Errors())
                errors.add(once[name], again[name], exact[name], base[name])
        self.batches += 1

    def document(self, rows: int) -> dict[str, Any]:
        """A ``parity/1`` document of the arms base and candidate; a tensor is judged in the candidate's format."""
        return {
            "schema": "parity/1",
            "batches": self.batches,
            "rows": self.batches * rows,
            "tensors": [
                {"arm": side, "name": name, "dtype": self.candidate.dtype, **errors.summary()}
                for (side, name), errors in self.totals.items()
            ],
        }
