"""The meaning and the scale of each network input: 365 of them in the standard game."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lost_cities.rules import Rules


def input_names(rules: Rules) -> list[str]:
    """One name per input, in order, as :func:`lost_cities.kernels.encode.encode` writes them.

    "own" is the mover, "other" the opponent; numbers of a colour run from 2; ``hN`` stands for handshakes.
    """
    names: list[str] = []
    for slot in range(rules.hand):
        names += [f"slot {slot}: colour {colour}" for colour in range(rules.colours)]
        names += [f"slot {slot}: handshake", f"slot {slot}: number", f"slot {slot}: playable now"]
    for block in ("own hand", "own expedition", "other's expedition", "pile", "known in other's hand"):
        for colour in range(rules.colours):
            names += [f"{block}: colour {colour} handshakes"]
            names += [f"{block}: colour {colour} number {rank + 2}" for rank in range(rules.ranks)]
    for block in (
        "top of pile: number",
        "top of pile: handshake",
        "size of pile",
        "own last number",
        "other's last number",
        "own sum above the cost",
        "other's sum above the cost",
        "just discarded",
        "sum of own playable numbers in hand",
    ):
        names += [f"{block}: colour {colour}" for colour in range(rules.colours)]
    names += [
        "draw stage",
        "seat of the mover",
        "cards left in the deck",
        "hundredths of the action cap left",
        "own score in steps of 8, rounded down",
        "other's score in steps of 8, rounded down",
    ]
    return names


def input_scales(rules: Rules) -> NDArray[np.float32]:
    """float32 (inputs,): what each whole number is multiplied by, so that inputs are about 1 at most."""
    numbers, scores = 1.0 / (rules.ranks + 1), 1.0 / 16
    scale_of = {
        "slot": 1.0,
        "own hand": 1.0,
        "own expedition": 1.0,
        "other's expedition": 1.0,
        "pile": 1.0,
        "known in other's hand": 1.0,
        "top of pile": 1.0,
        "size of pile": 1.0 / rules.per_colour,
        "own last number": numbers,
        "other's last number": numbers,
        "own sum above the cost": 1.0 / 20,
        "other's sum above the cost": 1.0 / 20,
        "just discarded": 1.0,
        "sum of own playable numbers in hand": 1.0 / 20,
        "draw stage": 1.0,
        "seat of the mover": 1.0,
        "cards left in the deck": 1.0 / (rules.cards - 2 * rules.hand),
        "hundredths of the action cap left": 0.01,
        "own score in steps of 8, rounded down": scores,
        "other's score in steps of 8, rounded down": scores,
    }
    scales = []
    for name in input_names(rules):
        block, detail = name.split(":")[0], name.partition(": ")[2]
        block = "slot" if block.startswith("slot") else block
        if detail.startswith("number") and block in ("slot", "top of pile"):
            scales.append(numbers)
        elif detail.endswith("handshakes"):
            scales.append(1.0 / max(1, rules.handshakes))
        else:
            scales.append(scale_of[block])
    return np.array(scales, np.float32)
