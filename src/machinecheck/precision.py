"""Number formats: how they are stored and how far one rounding can move a number."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from machinecheck.errors import MachineCheckError


@dataclass(frozen=True)
class Precision:
    """Unit roundoffs: of the stored result, of the sums, of inputs that the kernel rounds again."""

    name: str
    dtype: torch.dtype
    output: float
    accumulation: float
    input: float = 0.0

    def with_half_sums(self) -> Precision:
        """The same format with sums kept in it too, as some fall-back kernels do."""
        return replace(self, accumulation=self.output)

    @property
    def smallest(self) -> float:
        """The smallest subnormal number: results below it may vanish."""
        return float(torch.finfo(self.dtype).smallest_normal * torch.finfo(self.dtype).eps)


# bf16 and fp16 products are accumulated in fp32 by every kernel that this is meant for; TF32 keeps fp32
# storage and rounds the inputs to 11 bits.
PRECISIONS = {
    precision.name: precision
    for precision in (
        Precision("fp64", torch.float64, 2**-53, 2**-53),
        Precision("fp32", torch.float32, 2**-24, 2**-24),
        Precision("tf32", torch.float32, 2**-24, 2**-24, input=2**-11),
        Precision("fp16", torch.float16, 2**-11, 2**-24),
        Precision("bf16", torch.bfloat16, 2**-8, 2**-24),
    )
}


def precision(name: str) -> Precision:
    """The format called ``name``; MachineCheckError names those there are."""
    if name not in PRECISIONS:
        raise MachineCheckError(f"dtype: found {name!r}, expected one of {', '.join(PRECISIONS)}")
    return PRECISIONS[name]


def prepare(chosen: Precision) -> None:
    """Allow TF32 only where it was asked for, and no sums in half precision inside products."""
    tf32 = chosen.name == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
