"""Matrix products by every call path: A@B, A@A.T, A.T@B, through torch, NumPy's or SciPy's BLAS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from machinecheck.devices import Device
from machinecheck.errors import MachineCheckError
from machinecheck.metrics import Array, reference_bound
from machinecheck.precision import Precision
from machinecheck.reference import REPEATS, Reference, Tensors, exact_dot, prove
from machinecheck.settings import MOST

FORMS = ("A@B", "A@A.T", "A.T@B")
LIBRARIES = ("torch", "numpy", "scipy")
EXACT_SAMPLES = 32
BLOCK = 128  # terms per block of the blocked route


@dataclass(frozen=True)
class Shape:
    """C (m×n) is a sum of k products per element."""

    m: int
    k: int
    n: int


def parse_shape(text: str, form: str) -> Shape:
    """``1024`` (square) or ``300x672x129`` (m×k×n); for A@A.T, n is m."""
    parts = text.split("x")
    if not all(part.isdigit() and int(part) > 0 for part in parts) or len(parts) not in (1, 3):
        raise MachineCheckError(f"size: found {text!r}, expected a number or MxKxN")
    if form not in FORMS:
        raise MachineCheckError(f"form: found {form!r}, expected one of {', '.join(FORMS)}")
    m, k, n = (int(part) for part in (parts * 3 if len(parts) == 1 else parts))
    if max(m, k, n) > MOST:
        raise MachineCheckError(f"size: found {text!r}, expected no side above {MOST}")
    return Shape(m, k, m if form == "A@A.T" else n)


@dataclass(frozen=True)
class Operands:
    """Left (m×k) and right (k×n) factor in float64; A.T@B stores the left one transposed."""

    left: Array
    right: Array

    @property
    def magnitude(self) -> Array:
        """|A||B|."""
        return np.asarray(np.abs(self.left) @ np.abs(self.right))


def rounded(values: Array, dtype: torch.dtype) -> Array:
    """Values as the tested format holds them, back in float64: input rounding is not the kernel's error."""
    return np.asarray(torch.from_numpy(values).to(dtype).to(torch.float64).numpy())


def normal_operands(shape: Shape, form: str, dtype: torch.dtype, seed: int) -> Operands:
    """N(0, 1) entries, rounded to ``dtype``."""
    generator = np.random.default_rng(seed)
    left = rounded(generator.standard_normal((shape.m, shape.k)), dtype)
    if form == "A@A.T":
        return Operands(left, left.T)
    return Operands(left, rounded(generator.standard_normal((shape.k, shape.n)), dtype))


def integer_operands(shape: Shape, form: str, seed: int) -> Operands:
    """Whole numbers −8..8, with one structural zero row (of A) or column (of B)."""
    generator = np.random.default_rng(seed)
    left = generator.integers(-8, 9, (shape.m, shape.k)).astype(np.float64)
    left[shape.m // 2] = 0.0
    if form == "A@A.T":
        return Operands(left, left.T)
    right = generator.integers(-8, 9, (shape.k, shape.n)).astype(np.float64)
    right[:, shape.n // 2] = 0.0
    return Operands(left, right)


def _numpy_product(operands: Operands, form: str, dtype: type[Any]) -> Callable[[], torch.Tensor]:
    left: np.ndarray[Any, Any] = operands.left.astype(dtype)
    if form == "A@A.T":
        return lambda: torch.from_numpy(left @ left.T)
    right: np.ndarray[Any, Any] = operands.right.astype(dtype)
    if form == "A.T@B":
        stored = np.ascontiguousarray(left.T)
        return lambda: torch.from_numpy(stored.T @ right)
    return lambda: torch.from_numpy(left @ right)


def _scipy_product(operands: Operands, form: str, dtype: type[Any]) -> Callable[[], torch.Tensor]:
    import scipy.linalg.blas  # here alone: a third of a second that most cells can do without

    gemm = scipy.linalg.blas.sgemm if dtype is np.float32 else scipy.linalg.blas.dgemm
    left: np.ndarray[Any, Any] = np.asfortranarray(operands.left, dtype=dtype)
    if form == "A@A.T":
        return lambda: torch.from_numpy(np.ascontiguousarray(gemm(1.0, left, left, trans_b=1)))
    right: np.ndarray[Any, Any] = np.asfortranarray(operands.right, dtype=dtype)
    if form == "A.T@B":
        stored = np.asfortranarray(left.T)
        return lambda: torch.from_numpy(np.ascontiguousarray(gemm(1.0, stored, right, trans_a=1)))
    return lambda: torch.from_numpy(np.ascontiguousarray(gemm(1.0, left, right)))


def product(operands: Operands, form: str, kind: Precision, library: str, device: Device) -> Callable[[], torch.Tensor]:
    """The operation under test, ready to be called again and again with the same inputs.

    NumPy and SciPy are given fp32 and fp64 on the processor only; MachineCheckError otherwise.
    """
    if library not in LIBRARIES:
        raise MachineCheckError(f"library: found {library!r}, expected one of {', '.join(LIBRARIES)}")
    if library != "torch":
        if not device.is_cpu or kind.name not in ("fp32", "fp64"):
            raise MachineCheckError(f"library {library}: only fp32 and fp64 on the cpu, not {kind.name}")
        dtype = np.float32 if kind.name == "fp32" else np.float64
        build = _numpy_product if library == "numpy" else _scipy_product
        return build(operands, form, dtype)
    left = device.put(operands.left, kind.dtype)
    if form == "A@A.T":
        return lambda: left @ left.T
    right = device.put(operands.right, kind.dtype)
    if form == "A.T@B":
        stored = left.T.contiguous()
        return lambda: stored.T @ right
    return lambda: left @ right


def _blocked(operands: Operands) -> Tensors:
    left, right = (torch.from_numpy(np.ascontiguousarray(side)) for side in (operands.left, operands.right))
    total = torch.zeros(left.shape[0], right.shape[1], dtype=torch.float64)
    for start in range(0, left.shape[1], BLOCK):
        total += left[:, start : start + BLOCK] @ right[start : start + BLOCK]
    return {"C": total.numpy()}


def _one_thread(operands: Operands) -> Tensors:
    with threadpool_limits(limits=1):
        return {"C": operands.left @ np.ascontiguousarray(operands.right)}


def prove_product(operands: Operands, magnitude: Array, repeats: int = REPEATS) -> Reference:
    """The float64 product by NumPy's BLAS on one thread and by torch's on all threads in blocks of k.

    Besides, some elements are summed exactly (``math.fsum``), which uses no BLAS at all.
    """
    terms = operands.left.shape[1]
    reference = prove(
        {
            "numpy, one thread": lambda: _one_thread(operands),
            "torch, all threads, blocked": lambda: _blocked(operands),
        },
        lambda _: {"C": reference_bound(magnitude, terms)},
        repeats,
    )
    if not reference.usable:
        return reference
    product_, generator = reference.tensors["C"], np.random.default_rng(0)
    rows = generator.integers(0, product_.shape[0], EXACT_SAMPLES)
    columns = generator.integers(0, product_.shape[1], EXACT_SAMPLES)
    for row, column in zip(rows, columns, strict=True):
        truth = exact_dot(operands.left[row], operands.right[:, column])
        if not abs(product_[row, column] - truth) <= reference_bound(magnitude[row, column], terms):
            reason = f"REFERENCE UNUSABLE (element [{row}, {column}] is not the exact sum {truth!r})"
            return Reference({}, False, reason, reference.evidence)
    return Reference(reference.tensors, True, "", reference.evidence | {"exact_samples": EXACT_SAMPLES})


def proven_integer_product(operands: Operands, seed: int) -> Array | None:
    """The exact product of whole numbers, or ``None`` if it fails Freivalds' check.

    Freivalds (1977): C x = A (B x) for a random integer vector x; a wrong C passes with probability ≤ 2⁻²⁰.
    All in 64-bit integers without a BLAS, so that it does not lean on what is being tested.
    """
    claimed = _one_thread(operands)["C"]
    vector = np.random.default_rng(seed + 1).integers(0, 2**20, operands.right.shape[1])
    left, right = operands.left.astype(np.int64), operands.right.astype(np.int64)
    if not np.array_equal(claimed.astype(np.int64) @ vector, left @ (right @ vector)):
        return None
    return claimed
