"""Candidates for the forward pass of the move network: compiled, with another attention, on more games at once."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 (its usual name)

from armies.attention import BACKENDS, forced_attention
from armies.candidates.candidate import FORWARD, Candidate, Function, Output, Setting
from armies.network import MoveNetwork
from armies.parity import Batch
from armies.paths import CollectPath
from armies.policy import forward, is_legal

PRODUCTS = "products"  # attention by products of matrices: the trainer's own, beside torch's backends


def with_attention(name: str, setting: Setting) -> Candidate:
    """``attention-BACKEND``: the path's forward pass with another attention, and nothing else changed."""
    backend, path = name.removeprefix("attention-"), setting.path
    if backend == PRODUCTS:
        changed = eager(setting.network, path, path.attention, products=True)
    else:
        changed = eager(setting.network, by_torch(path), backend)
    return replace(_same(name, setting), changed=changed)


def with_more_games(name: str, setting: Setting) -> Candidate:
    """``games-Nx``: N batches in one call, as if all their games were played side by side."""
    group = int(name.removeprefix("games-").removesuffix("x"))
    return replace(_same(name, setting), arrange=lambda batches: [join(batches)], group=group)


def with_compilation(name: str, setting: Setting) -> Candidate:
    """``compile`` and its variants."""
    same = _same(name, setting)
    path, network = setting.path, setting.network
    attention = path.attention
    if name.removeprefix("compile-") in BACKENDS:
        path, attention = by_torch(path), name.removeprefix("compile-")
    options: dict[str, Any] = {"split_reductions": False} if name == "compile-no-split" else {}
    number = same.dtype
    if name == "compile-fp32":
        network, number = copy.deepcopy(network).float(), "float32"
    if name == "compile-encoder":
        network = copy.deepcopy(network)
        for block in network.blocks:
            block.compile(dynamic=_dynamic(path))
        changed = eager(network, path, attention)
    else:
        changed = compiled(network, path, attention, options)
    if name == "compile-guarded":
        changed = guarded(changed, same.base, path)
    prepare = {"compile-zeroed": zeroed, "compile-replicated": replicated}.get(name, same.prepare)
    return replace(same, changed=changed, dtype=number, prepare=prepare, compiles=True)


def by_torch(path: CollectPath) -> CollectPath:
    """The path with torch's attention, in one of its backends, where it had its own."""
    return replace(path, steps=path.steps - {"products"})


def _same(name: str, setting: Setting) -> Candidate:
    """The forward pass of the path against itself, to be changed."""
    path = setting.path
    base = eager(setting.network, path, path.attention)
    exact = eager(setting.exact, by_torch(path), "math")

    def comparable(batches: list[Batch], function: Function) -> dict[str, Tensor]:
        outputs = function(batches)
        logits = [output[0][_legal(path, batch)] for batch, output in zip(batches, outputs, strict=True)]
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
        dtype=setting.dtype,
    )


def _legal(path: CollectPath, batch: Batch) -> Tensor:
    return is_legal(batch.moves if path.legal else batch.mask)


def _inputs(path: CollectPath, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    return batch.codes if path.table else batch.planes, batch.summary, batch.moves if path.legal else batch.mask


def eager(network: MoveNetwork, path: CollectPath, attention: str, products: bool | None = None) -> Function:
    """The forward pass as it is, with one attention backend; ``products`` as in :func:`armies.policy.forward`."""

    def function(batches: list[Batch]) -> list[Output]:
        with forced_attention(attention):
            inputs = _each(path, batches)
            return [forward(network, path, (cells, summary), legal, products) for cells, summary, legal in inputs]

    return function


def _each(path: CollectPath, batches: list[Batch]) -> list[tuple[Tensor, Tensor, Tensor]]:
    return [_inputs(path, batch) for batch in batches]


def join(batches: list[Batch]) -> Batch:
    """Several batches as one; lists of moves are padded to the longest."""
    longest = max(batch.moves.shape[1] for batch in batches)
    padded = [F.pad(batch.moves, (0, longest - batch.moves.shape[1]), value=-1) for batch in batches]
    planes, codes, summary, mask = (
        torch.cat([getattr(batch, name) for batch in batches]) for name in ("planes", "codes", "summary", "mask")
    )
    return Batch(planes, codes, summary, mask, torch.cat(padded))


def compiled(network: MoveNetwork, path: CollectPath, attention: str, options: dict[str, Any]) -> Function:
    """The forward pass through torch.compile with inductor ``options``."""

    def whole(cells: Tensor, summary: Tensor, legal: Tensor) -> Output:
        return forward(network, path, (cells, summary), legal)

    through = torch.compile(whole, dynamic=_dynamic(path), options=options)

    def function(batches: list[Batch]) -> list[Output]:
        with forced_attention(attention):
            return [through(*one) for one in _each(path, batches)]

    return function


def _dynamic(path: CollectPath) -> bool | None:
    """Lists of moves have another length at every step, which must not compile anew; masks have one shape."""
    return True if path.legal else None


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
    planes, codes, summary = (torch.zeros_like(part) for part in (batch.planes, batch.codes, batch.summary))
    return Batch(planes, codes, summary, batch.mask, batch.moves)


def replicated(batch: Batch) -> Batch:
    """The first position of the batch in every row."""
    return take(batch, torch.zeros(len(batch.moves), dtype=torch.int64, device=batch.moves.device))


def rows_not_finite(path: CollectPath, batch: Batch, output: Output) -> Tensor:
    """Games of which a logit of a legal move or of the value is not finite: bool [B]."""
    logits, values = output
    fine = torch.isfinite(logits) | ~_legal(path, batch)
    return ~(fine.all(1) & torch.isfinite(values).all(1))
