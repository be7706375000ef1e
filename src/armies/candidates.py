"""Candidates: other ways to compute a part of the collection step, each to be measured against a path.

A candidate is a pair of functions over the same frozen batches of real positions, its base (what the path does) and
the changed one. :mod:`armies.trial` runs both in turn. Nothing here is used in training.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from armies.attention import BACKENDS, forced_attention
from armies.errors import ArmiesError
from armies.network import MoveNetwork
from armies.parity import Batch
from armies.paths import CollectPath
from armies.policy import forward, is_legal, log_probabilities, sample

Output = tuple[Tensor, Tensor]
Function = Callable[[list[Any]], list[Output]]
"""Several inputs, each what ``Candidate.prepare`` made of a batch, to as many outputs (one, where they are joined)."""

FORWARD, SAMPLING = "move network forward", "sampling"  # as the stage profile calls them
FREQUENCIES = "frequencies of the moves"
DRAWS = 32  # moves drawn from each position to compare frequencies

COMPILED = {
    "compile": "the forward pass through torch.compile",
    "compile-math": "the same with math attention",
    "compile-flash": "the same with flash attention",
    "compile-efficient": "the same with memory-efficient attention",
    "compile-encoder": "only the transformer blocks through torch.compile",
    "compile-no-split": "torch.compile without split reductions",
    "compile-fp32": "torch.compile of the network in fp32",
    "compile-zeroed": "torch.compile, on observations that are all zero",
    "compile-replicated": "torch.compile, on batches of one position many times over",
    "compile-guarded": "torch.compile, and eagerly once more for rows that are not finite",
}
ATTENTION = {f"attention-{name}": f"{name} attention" for name in BACKENDS}
LARGER = {"games-2x": "twice as many games in a batch", "games-4x": "four times as many games in a batch"}
DRAWN = {"gumbel": "drawing moves by the Gumbel argmax instead of multinomial"}
CANDIDATES = {**COMPILED, **ATTENTION, **LARGER, **DRAWN}


class UnavailableError(Exception):
    """This device or installation cannot run the candidate; the message says why."""


@dataclass(frozen=True)
class Setting:
    """What a candidate changes: ``network`` in the number format in which ``path`` collects; ``exact`` in float64."""

    path: CollectPath
    network: MoveNetwork
    exact: MoveNetwork
    generator: torch.Generator


@dataclass(frozen=True)
class Candidate:
    """``base`` and ``changed`` compute ``part`` of a step for ``group`` inputs at a time.

    ``prepare`` turns a batch of real positions into an input that both get. ``bad_rows`` says which games of an
    output are no result, bool [B]. ``comparable`` runs a function and gives tensors of float64 by name, which ``exact``
    gives without rounding. ``dtype`` is the number format of ``changed``. ``compiles``: its first calls compile.
    """

    name: str
    part: str
    base: Function
    changed: Function
    bad_rows: Callable[[Any, Output], Tensor]
    comparable: Callable[[list[Any], Function], dict[str, Tensor]]
    exact: Callable[[list[Any]], dict[str, Tensor]]
    dtype: str
    prepare: Callable[[Batch], Any] = lambda batch: batch
    group: int = 1
    compiles: bool = False


def make_candidate(name: str, setting: Setting) -> Candidate:
    """The candidate ``name`` against the path of ``setting``.

    Raises :class:`ArmiesError` for a name that is not one, or where the path does already what the candidate would.
    """
    if name not in CANDIDATES:
        raise ArmiesError(f"candidate is {name!r}, expected one of {', '.join(CANDIDATES)}")
    if setting.path.fused or setting.path.plain:
        raise ArmiesError(f"path {setting.path.name} has no candidates, expected reference, fast or steps of it")
    if name in DRAWN:
        return _drawn(name, setting)
    same = _same(name, setting)
    if name in ATTENTION:
        backend = name.removeprefix("attention-")
        if backend == setting.path.attention:
            raise ArmiesError(f"candidate {name} is what path {setting.path.name} does, expected another backend")
        return replace(same, changed=eager(setting.network, setting.path, backend))
    if name in LARGER:
        group = int(name.removeprefix("games-").removesuffix("x"))
        return replace(same, changed=joined(same.base), group=group)
    return _compiled(name, setting, same)


def _same(name: str, setting: Setting) -> Candidate:
    """The forward pass of the path against itself, to be changed."""
    path = setting.path
    base = eager(setting.network, path, path.attention)
    exact = eager(setting.exact, path, "math")

    def comparable(batches: list[Batch], function: Function) -> dict[str, Tensor]:
        outputs = function(batches)
        given = batches if len(outputs) == len(batches) else [join(batches)]
        logits = [output[0][_legal(path, batch)] for batch, output in zip(given, outputs, strict=True)]
        values = [output[1] for output in outputs]
        return {"policy logits": torch.cat(logits).double(), "value logits": torch.cat(values).double()}

    return Candidate(
        name=name,
        part=FORWARD,
        base=base,
        changed=base,
        bad_rows=lambda batch, output: rows_not_finite(path, batch, output),
        comparable=comparable,
        exact=lambda batches: comparable(batches, exact),
        dtype=str(setting.network.dtype).removeprefix("torch."),
    )


def _legal(path: CollectPath, batch: Batch) -> Tensor:
    return is_legal(batch.moves if path.legal else batch.mask)


def _inputs(path: CollectPath, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    return batch.codes if path.table else batch.planes, batch.summary, batch.moves if path.legal else batch.mask


def eager(network: MoveNetwork, path: CollectPath, attention: str) -> Function:
    """The forward pass as it is, with one attention backend."""

    def function(batches: list[Batch]) -> list[Output]:
        with forced_attention(attention):
            return [forward(network, path, (cells, summary), legal) for cells, summary, legal in _each(path, batches)]

    return function


def _each(path: CollectPath, batches: list[Batch]) -> list[tuple[Tensor, Tensor, Tensor]]:
    return [_inputs(path, batch) for batch in batches]


def joined(base: Function) -> Function:
    """``base`` once for all batches together, as if their games were played side by side."""

    def function(batches: list[Batch]) -> list[Output]:
        return base([join(batches)])

    return function


def join(batches: list[Batch]) -> Batch:
    """Several batches as one; lists of moves are padded to the longest."""
    longest = max(batch.moves.shape[1] for batch in batches)
    padded = [torch.nn.functional.pad(batch.moves, (0, longest - batch.moves.shape[1]), value=-1) for batch in batches]
    planes, codes, summary, mask = (
        torch.cat([getattr(batch, name) for batch in batches]) for name in ("planes", "codes", "summary", "mask")
    )
    return Batch(planes, codes, summary, mask, torch.cat(padded))


def _compiled(name: str, setting: Setting, same: Candidate) -> Candidate:
    path, network = setting.path, setting.network
    attention = name.removeprefix("compile-") if name.removeprefix("compile-") in BACKENDS else path.attention
    options: dict[str, Any] = {"split_reductions": False} if name == "compile-no-split" else {}
    number = same.dtype
    if name == "compile-fp32":
        network, number = copy.deepcopy(network).float(), "float32"
    if name == "compile-encoder":
        network = copy.deepcopy(network)
        for block in network.blocks:
            block.compile()
        changed = eager(network, path, attention)
    else:
        changed = compiled(network, path, attention, options)
    if name == "compile-guarded":
        changed = guarded(changed, same.base, path)
    prepare = {"compile-zeroed": zeroed, "compile-replicated": replicated}.get(name, same.prepare)
    return replace(same, changed=changed, dtype=number, prepare=prepare, compiles=True)


def compiled(network: MoveNetwork, path: CollectPath, attention: str, options: dict[str, Any]) -> Function:
    """The forward pass through torch.compile with inductor ``options``."""

    def whole(cells: Tensor, summary: Tensor, legal: Tensor) -> Output:
        return forward(network, path, (cells, summary), legal)

    through = torch.compile(whole, options=options)

    def function(batches: list[Batch]) -> list[Output]:
        with forced_attention(attention):
            return [through(*one) for one in _each(path, batches)]

    return function


def guarded(changed: Function, base: Function, path: CollectPath) -> Function:
    """``changed``, and ``base`` for the rows in which a number of it is not finite."""

    def function(batches: list[Batch]) -> list[Output]:
        outputs = []
        for batch, (logits, values) in zip(batches, changed(batches), strict=True):
            bad = rows_not_finite(path, batch, (logits, values))
            if bool(bad.any()):
                [(good_logits, good_values)] = base([take(batch, bad)])
                logits, values = logits.clone(), values.clone()
                logits[bad], values[bad] = good_logits, good_values
            outputs.append((logits, values))
        return outputs

    return function


def take(batch: Batch, rows: Tensor) -> Batch:
    """The games ``rows`` (bool [B] or int64 [n]) of a batch."""
    return Batch(batch.planes[rows], batch.codes[rows], batch.summary[rows], batch.mask[rows], batch.moves[rows])


def zeroed(batch: Batch) -> Batch:
    """The batch with observations of zeros; the legal moves stay."""
    nothing = (torch.zeros_like(part) for part in (batch.planes, batch.codes, batch.summary))
    return Batch(*nothing, batch.mask, batch.moves)


def replicated(batch: Batch) -> Batch:
    """The first position of the batch in every row."""
    return take(batch, torch.zeros(len(batch.moves), dtype=torch.int64, device=batch.moves.device))


def rows_not_finite(path: CollectPath, batch: Batch, output: Output) -> Tensor:
    """Games of which a logit of a legal move or of the value is not finite: bool [B]."""
    logits, values = output
    fine = torch.isfinite(logits) | ~_legal(path, batch)
    return ~(fine.all(1) & torch.isfinite(values).all(1))


@dataclass(frozen=True)
class Policy:
    """Logits [B, A] and legal moves bool [B, A] of a batch: what moves are drawn from."""

    logits: Tensor
    mask: Tensor


def _drawn(name: str, setting: Setting) -> Candidate:
    path, generator = setting.path, setting.generator
    if path.legal:
        raise ArmiesError(f"candidate {name} is what path {path.name} does, expected a path without the step legal")
    network = eager(setting.network, path, path.attention)

    def way(draw: Callable[[Tensor], Tensor]) -> Function:
        """Log-probabilities of given logits, and one move from each row."""

        def function(policies: list[Policy]) -> list[Output]:
            all_log_probs = [log_probabilities(policy.logits, policy.mask) for policy in policies]
            return [(log_probs, draw(log_probs)) for log_probs in all_log_probs]

        return function

    def frequencies(policies: list[Policy], function: Function) -> dict[str, Tensor]:
        """How often each legal move is drawn, from the same random numbers at every call."""
        generator.manual_seed(0)
        counts = [torch.zeros(policy.mask.shape, dtype=torch.float64, device=policy.mask.device) for policy in policies]
        for _ in range(DRAWS):
            for count, (_, choices) in zip(counts, function(policies), strict=True):
                count.scatter_add_(1, choices[:, None], torch.ones_like(count[:, :1]))
        return {
            FREQUENCIES: torch.cat([count[policy.mask] for count, policy in zip(counts, policies, strict=True)]) / DRAWS
        }

    def probabilities(policies: list[Policy]) -> dict[str, Tensor]:
        exact = [policy.logits.double().masked_fill(~policy.mask, -math.inf).softmax(1) for policy in policies]
        return {FREQUENCIES: torch.cat([one[policy.mask] for one, policy in zip(exact, policies, strict=True)])}

    return Candidate(
        name=name,
        part=SAMPLING,
        base=way(lambda log_probs: sample(log_probs, path, generator)),
        changed=way(lambda log_probs: gumbel_argmax(log_probs, generator)),
        bad_rows=lambda policy, output: (
            ~policy.mask.gather(1, output[1][:, None]).squeeze(1)
        ),  # no legal move was drawn
        comparable=frequencies,
        exact=probabilities,
        dtype="float32",
        prepare=lambda batch: Policy(network([batch])[0][0], batch.mask),
    )


def gumbel_argmax(log_probs: Tensor, generator: torch.Generator) -> Tensor:
    """One column per row: with exponential E, argmax(log p - log E) is a draw from p."""
    noise = torch.empty_like(log_probs).exponential_(generator=generator)
    return (log_probs - noise.log()).argmax(-1)
