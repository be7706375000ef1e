"""What of these tests runs without numba's compiler: ``make test-uncompiled`` sets ``NUMBA_DISABLE_JIT=1``.

The engine's kernels are then plain Python, so a fault of the compiler shows as a difference between the two.
Tests of the engine play fewer plies; tests of the fused network, whose loops over single numbers would take
minutes, are skipped and say so.
"""

import numba
import pytest

COMPILED = not numba.config.DISABLE_JIT

fused = pytest.mark.skipif(not COMPILED, reason="the fused network in plain Python loops takes minutes")
long_play = pytest.mark.skipif(not COMPILED, reason="millions of plies need compiled kernels")
