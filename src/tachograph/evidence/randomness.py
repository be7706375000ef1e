"""Random numbers that a reader of the record can draw again."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(registration_sha256: str, label: str) -> np.random.Generator:
    """The generator for the computation ``label`` of a study.

    Seeded with the first 8 bytes (big-endian) of SHA-256(registration hash + label), so that every
    permutation p and bootstrap bound can be recomputed to the last bit.
    """
    digest = hashlib.sha256((registration_sha256 + label).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "big")))
