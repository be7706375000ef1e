"""The move network as compiled kernels: one game after the other, each in buffers that fit in a core's cache.

The function is that of :class:`armies.network.MoveNetwork`, with the last block on needed rows only; that
class is the slow twin the tests compare with. Activations are stored as [C, T], channels first, so that inner
loops run over tokens, which lie side by side and fill whole vectors. Products of matrices are left to BLAS.

NaN and infinities keep their meaning. A game's result depends on that game alone, so it is the same on any
number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

# What the compiler may change: fuse a product into the sum that it goes to, and forget the sign of zero. Not the
# order of sums. Where a kernel calls another, numba compiles the callee again within the caller, and a process
# runs whichever copy it loads first: that depends on what was compiled and what came from the cache. With sums
# in any order the copies differ in the last digits. No sum here takes more than one product, so fusing leaves
# no choice.
FLOATS = {"contract", "nsz"}
EPSILON = np.float32(1e-5)  # of torch's LayerNorm
BOUND = 64.0  # of scores in base 2: sums of 2^±64 are exact to float32's precision

Floats = NDArray[np.float32]


class Weights(NamedTuple):
    """Weights of a move network, float32. L blocks, F feed-forward channels, N cells, T tokens."""

    heads: int
    token_of_cell: NDArray[np.int64]  # [cells], 0 where no token is
    sources: NDArray[np.int64]  # [A], tokens
    targets: NDArray[np.int64]  # [A], tokens
    pieces: Floats  # [codes, C]
    history: Floats  # [codes, C]
    fixed: Floats  # [C, T]: value token, positions, registers
    summarise: Floats  # [C, SUMMARY]
    attention_gain: Floats  # [L, C]
    attention_shift: Floats  # [L, C]
    query_weights: Floats  # [L, C, C], times log2 e / √D
    key_weights: Floats  # [L, C, C]
    value_weights: Floats  # [L, C + heads, C]: a row of zeros after each head
    output: Floats  # [L, C, C]
    feed_gain: Floats  # [L, C]
    feed_shift: Floats  # [L, C]
    expand: Floats  # [L, F, C]
    contract: Floats  # [L, C, F]
    final_gain: Floats  # [C]
    final_shift: Floats  # [C]
    query_key: Floats  # [C, C]: the policy's queryᵀ key / √C
    value: Floats  # [3, C]
    value_shift: Floats  # [3]


@njit(cache=True, nogil=True, fastmath=FLOATS)
def normalise(x, gain, shift, out):  # type: ignore[no-untyped-def]
    """LayerNorm over the channels of x [C, T] into out [C, T]."""
    C, T = x.shape
    mean = np.zeros(T, np.float32)
    scale = np.zeros(T, np.float32)
    for c in range(C):
        for t in range(T):
            mean[t] += x[c, t]
    for t in range(T):
        mean[t] /= np.float32(C)
    for c in range(C):
        for t in range(T):
            scale[t] += (x[c, t] - mean[t]) * (x[c, t] - mean[t])
    for t in range(T):
        scale[t] = np.float32(1) / math.sqrt(scale[t] / np.float32(C) + EPSILON)
    for c in range(C):
        for t in range(T):
            out[c, t] = (x[c, t] - mean[t]) * scale[t] * gain[c] + shift[c]


@njit(cache=True, nogil=True, fastmath=FLOATS)
def power_of_two(x):  # type: ignore[no-untyped-def]
    """2^x of a float32 in [-126, 127], within 2e-7 of it.

    Adding 1.5 · 2^23 rounds to an integer n and leaves n in the low bits of the sum; 2^(x - n) with
    |x - n| ≤ 1/2 is a polynomial (the best of degree 5 that is exact at 0). Unlike ``math.exp2`` it is made of
    operations that vectors have. If sums might be reordered, the rounding would be optimised away.
    """
    rounded = np.float32(np.float32(x) + np.float32(12582912))
    f = np.float32(x) - np.float32(rounded - np.float32(12582912))
    p = np.float32(1.3264727e-3)
    p = p * f + np.float32(9.6715128e-3)
    p = p * f + np.float32(5.5507337e-2)
    p = p * f + np.float32(2.4022242e-1)
    p = p * f + np.float32(6.9314698e-1)
    p = p * f + np.float32(1)
    bits = np.int32(np.int32(rounded.view(np.int32)) + np.int32(127)) << np.int32(23)  # the bits of 2^n
    return p * np.int32(bits).view(np.float32)


@njit(cache=True, nogil=True, fastmath=FLOATS)
def largest_magnitude(x):  # type: ignore[no-untyped-def]
    """max |x|, NaN if there is one. Without their sign, the bits of floats are in the floats' order."""
    bits = x.reshape(x.size).view(np.int32)
    largest = np.int32(0)
    for i in range(bits.size):
        magnitude = np.int32(bits[i] & np.int32(0x7FFFFFFF))
        if magnitude > largest:
            largest = magnitude
    return np.int32(largest).view(np.float32)


@njit(cache=True, nogil=True, fastmath=FLOATS)
def attend(query, key, value, heads, out):  # type: ignore[no-untyped-def]
    """Softmax attention of every head: query [C, R], key [C, T], value [C + heads, T] -> out [C, R].

    ``query`` is scaled by log2 e / √D. In ``value`` each head's D channels are followed by one of ones, whose
    product with the weights is their sum. Where no score can lie beyond ±BOUND, the largest need not be found
    first: the softmax is the same.
    """
    C, R = query.shape
    T = key.shape[1]
    D = C // heads
    scores = np.empty((T, R), np.float32)
    weighted = np.empty((D + 1, R), np.float32)
    bounded = D * largest_magnitude(query) * largest_magnitude(key) < BOUND
    flat = scores.reshape(T * R)
    for h in range(heads):
        np.dot(key[h * D : (h + 1) * D].T, query[h * D : (h + 1) * D], scores)
        if not bounded:
            subtract_largest(scores)
        for i in range(T * R):
            flat[i] = power_of_two(flat[i])
        np.dot(value[h * (D + 1) : (h + 1) * (D + 1)], scores, weighted)
        for r in range(R):
            weighted[D, r] = np.float32(1) / weighted[D, r]
        for d in range(D):
            for r in range(R):
                out[h * D + d, r] = weighted[d, r] * weighted[D, r]


@njit(cache=True, nogil=True, fastmath=FLOATS)
def subtract_largest(scores):  # type: ignore[no-untyped-def]
    """Take each column's largest from scores [T, R]; nothing gets less than -126."""
    T, R = scores.shape
    largest = scores[0].copy()
    for t in range(1, T):
        for r in range(R):
            largest[r] = max(largest[r], scores[t, r])
    for t in range(T):
        for r in range(R):
            scores[t, r] = max(scores[t, r] - largest[r], np.float32(-126))


@njit(cache=True, nogil=True, fastmath=FLOATS)
def block(w, layer, x, rows):  # type: ignore[no-untyped-def]
    """One transformer block on x [C, T]: the columns ``rows`` (int64 [R]) of its result, [C, R].

    No ``rows`` (R = 0) means all columns.
    """
    C = x.shape[0]
    normed = np.empty(x.shape, np.float32)
    normalise(x, w.attention_gain[layer], w.attention_shift[layer], normed)
    key, value = np.dot(w.key_weights[layer], normed), np.dot(w.value_weights[layer], normed)
    D = C // w.heads
    for h in range(w.heads):
        value[h * (D + 1) + D] = 1
    if rows.size:
        out, needed = take_columns(x, rows), take_columns(normed, rows)
    else:
        out, needed = x, normed
    attend(np.dot(w.query_weights[layer], needed), key, value, w.heads, needed)
    out += np.dot(w.output[layer], needed)
    normalise(out, w.feed_gain[layer], w.feed_shift[layer], needed)
    hidden = np.dot(w.expand[layer], needed)
    flat = hidden.reshape(hidden.size)
    for i in range(flat.size):
        flat[i] = max(flat[i], np.float32(0))
    out += np.dot(w.contract[layer], hidden)
    return out


@njit(cache=True, nogil=True, fastmath=FLOATS)
def take_columns(x, columns):  # type: ignore[no-untyped-def]
    """x [C, T], columns int64 [R] -> [C, R]"""
    out = np.empty((x.shape[0], columns.size), np.float32)
    for c in range(x.shape[0]):
        for r in range(columns.size):
            out[c, r] = x[c, columns[r]]
    return out


@njit(cache=True, nogil=True, fastmath=FLOATS)
def embed(w, codes, summary):  # type: ignore[no-untyped-def]
    """Codes uint8 [cells, 2] and summary uint8 [SUMMARY] of a game -> its tokens [C, T].

    The codes of an empty cell that the last plies did not touch are 0 and stand for no planes at all.
    """
    x = w.fixed.copy()
    for cell in range(w.token_of_cell.size):
        t = w.token_of_cell[cell]
        if t > 0 and (codes[cell, 0] or codes[cell, 1]):
            pieces, history = w.pieces[codes[cell, 0]], w.history[codes[cell, 1]]
            for c in range(x.shape[0]):
                x[c, t] += pieces[c] + history[c]
    for c in range(x.shape[0]):
        total = x[c, 0]
        for i in range(summary.size):
            total += w.summarise[c, i] * np.float32(summary[i])
        x[c, 0] = total
    return x


@njit(cache=True, nogil=True, fastmath=FLOATS)
def needed_rows(w, actions, T):  # type: ignore[no-untyped-def]
    """The value token, sources and targets of the legal ``actions`` (int64 [L], -1 is padding), ascending.

    Returns rows int64 [R], filled with 0 to a multiple of 16, and position int64 [T]: a token's place in it.
    """
    needed = np.zeros(T, np.bool_)
    needed[0] = True
    for action in actions:
        if action >= 0:
            needed[w.sources[action]] = True
            needed[w.targets[action]] = True
    count = 0
    position = np.zeros(T, np.int64)
    rows = np.zeros((needed.sum() + 15) // 16 * 16, np.int64)
    for t in range(T):
        if needed[t]:
            rows[count] = t
            position[t] = count
            count += 1
    return rows, position


@njit(cache=True, nogil=True, fastmath=FLOATS)
def evaluate_game(w, codes, summary, actions, logits, value):  # type: ignore[no-untyped-def]
    """Policy logits of the legal ``actions`` (int64 [L], padded with -1) and value logits of one game.

    Writes ``logits`` float32 [L], -inf on padding, and ``value`` float32 [3].
    """
    x = embed(w, codes, summary)
    C, T = x.shape
    layers = w.expand.shape[0]
    every = np.empty(0, np.int64)
    for layer in range(layers - 1):
        x = block(w, layer, x, every)
    rows, position = needed_rows(w, actions, T)
    x = block(w, layers - 1, x, rows)
    R = rows.size
    normed = np.empty((C, R), np.float32)
    normalise(x, w.final_gain, w.final_shift, normed)
    scores = np.dot(normed.T, np.dot(w.query_key, normed))
    for move in range(actions.size):
        logits[move] = -np.inf
        if actions[move] >= 0:
            logits[move] = scores[position[w.sources[actions[move]]], position[w.targets[actions[move]]]]
    for k in range(3):
        total = w.value_shift[k]
        for c in range(C):
            total += w.value[k, c] * normed[c, 0]
        value[k] = total


@njit(cache=True, nogil=True, fastmath=FLOATS, parallel=True)
def evaluate_games(w, codes, summaries, actions, logits, values):  # type: ignore[no-untyped-def]
    """:func:`evaluate_game` for B games: codes [B, cells, 2] … values [B, 3]."""
    for game in prange(codes.shape[0]):
        evaluate_game(w, codes[game], summaries[game], actions[game], logits[game], values[game])
