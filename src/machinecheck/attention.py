"""Scaled dot product attention: one backend forced, what it said, and which kernel really ran."""

from __future__ import annotations

import re
import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

BACKENDS = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
# What torch says when no forced backend takes the inputs: a refusal, not a defect.
REFUSALS = ("No available kernel", "No viable backend")
# Shortened reasons of refusal, looked for in torch's warnings in this order.
CAUSES = {
    "head_dim": r"head.?dim|last dimension|embed_dim|d_model",
    "dtype": r"dtype|data type",
    "attn_mask": r"attn_mask|attention mask",
    "dropout": r"dropout",
    "not built": r"not compiled|was not built|not been enabled|Torch was not",
    "hardware": r"sm\d|gpu architecture|compute capability|GPUs|gfx|hardware",
    "switched off": r"has been (runtime )?disabled",
    "no such kernel on this device": r"No viable backend",
}


def short_cause(messages: list[str]) -> str:
    """The first cause that torch's own sentences name; "not stated" where they name none."""
    text = " ".join(messages)
    return next((name for name, form in CAUSES.items() if re.search(form, text, re.I)), "not stated")


def kernel_of(output: torch.Tensor) -> str:
    """The fused attention kernel in the graph of ``output``, by its node there; "math" where there is none.

    ``ScaledDotProductFlashAttentionForCpuBackward0`` is ``scaled_dot_product_flash_attention_for_cpu``. A kernel that
    pads its input is followed by other nodes.
    """
    nodes, seen = [output.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name().startswith("ScaledDotProduct"):
            return re.sub(r"(?<!^)(?=[A-Z])", "_", node.name().removesuffix("Backward0")).lower()
        nodes += [parent for parent, _ in node.next_functions]
    return "math"


def attend(
    backend: str,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention over (B, heads, T, head_dim) with ``backend`` alone allowed; RuntimeError if it refuses."""
    with sdpa_kernel(BACKENDS[backend]):
        return scaled_dot_product_attention(query, key, value, attn_mask=mask)


def refusal(backend: str, query: torch.Tensor, mask: torch.Tensor | None = None) -> str | None:
    """Why ``backend`` does not take inputs like ``query``: "unavailable: CAUSE (what torch said)"; else None.

    Any other error than a refusal is raised: it is a defect.
    """
    # with a gradient to come, as in training: some backends take an input forward that they cannot take back
    query = query.detach().requires_grad_()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            attend(backend, query, query, query, mask)
        except RuntimeError as error:
            if not any(words in str(error) for words in REFUSALS):
                raise
            said = [str(warning.message).split(" (Triggered")[0] for warning in caught]
            said = [sentence for sentence in said if "not used because" not in sentence] or [str(error)]
            return f"unavailable: {short_cause(said)} ({' '.join(said)[:300]})"
    return None


def kernel_name(backend: str, query: torch.Tensor, mask: torch.Tensor | None = None) -> str:
    """The kernel that ``backend`` takes for inputs like ``query``, with a gradient to come."""
    query = query.detach().requires_grad_()
    return kernel_of(attend(backend, query, query, query, mask))
