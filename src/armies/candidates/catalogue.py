"""The candidates by name: other ways to compute a part of the collection step, none of which training uses."""

from __future__ import annotations

from armies.attention import BACKENDS
from armies.candidates.candidate import Candidate, Setting
from armies.candidates.drawing import with_gumbel
from armies.candidates.forward import PRODUCTS, with_attention, with_compilation, with_more_games
from armies.errors import ArmiesError

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
ATTENTION = {f"attention-{name}": f"{name} attention" for name in (*BACKENDS, PRODUCTS)}
LARGER = {"games-2x": "twice as many games in a batch", "games-4x": "four times as many games in a batch"}
DRAWN = {"gumbel": "drawing moves by the Gumbel argmax instead of multinomial"}
CANDIDATES = {**COMPILED, **ATTENTION, **LARGER, **DRAWN}


def make_candidate(name: str, setting: Setting) -> Candidate:
    """The candidate ``name`` against the path of ``setting``.

    Raises :class:`ArmiesError` for a name that is not one, or where the path does already what the candidate would.
    """
    if name not in CANDIDATES:
        raise ArmiesError(f"candidate is {name!r}, expected one of {', '.join(CANDIDATES)}")
    path = setting.path
    own = path.product_attention(setting.network.positions.device.type, setting.dtype)
    attention = PRODUCTS if own else path.attention
    if name == f"attention-{attention}" or (name in DRAWN and path.legal):
        raise ArmiesError(f"candidate {name} is what path {path.name} does already, expected another path")
    if name in ATTENTION:
        return with_attention(name, setting)
    if name in LARGER:
        return with_more_games(name, setting)
    return with_gumbel(name, setting) if name in DRAWN else with_compilation(name, setting)
