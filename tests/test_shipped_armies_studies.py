"""No shipped study of armies compares a path with itself: what changes is what the title names, and nothing else.

What changes is found out by running both sides on real positions of the smallest preset, with records of what they ask
for: paths, attention, compilation, number formats, batches.
"""

from __future__ import annotations

import contextlib
import copy
import re
from typing import Any

import pytest
import torch

from armies.candidates import forward
from armies.candidates.candidate import SAMPLING, Candidate, Setting
from armies.candidates.catalogue import make_candidate
from armies.parity import Batch, freeze
from armies.paths import VARIABLE, CollectPath, path_named
from armies.presets import preset_named
from armies.trainer import make_trainer
from shipped_studies import Change, changes, component_candidates
from tachograph.models import Study

# What a title says of a property: the words, and the value that the changed side then has.
WORDS: list[tuple[str, str, Any]] = [
    (r"fp32", "number format", "float32"),
    (r"attention by products", "attention", "products"),
    (r"(?<!keeps )flash attention", "attention", "flash"),
    (r"math attention", "attention", "math"),
    (r"memory-efficient attention", "attention", "efficient"),
    (r"attention of cuDNN", "attention", "cudnn"),
    (r"heads on legal moves", "legal", True),
    (r"\btable\b", "table", True),
    (r"only the needed rows", "rows", True),
    (r"lean update", "lean", True),
    (r"forward pass in compiled kernels", "fused", True),
    (r"torch\.compile", "compiled", True),
    (r"transformer blocks only", "blocks alone", True),
    (r"without split reductions", "options", "{'split_reductions': False}"),
    (r"eagerly once more", "calls of the base", 1),
    (r"observations of zeros", "positions", "zeros"),
    (r"batches of one position", "positions", "one"),
    (r"twice as many games", "batches in a call", 2),
    (r"four times as many games", "batches in a call", 4),
    (r"flag of ROCm's experimental attention kernels", "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "1"),
    (r"Gumbel argmax", "draws", "gumbel_argmax"),
]
ARMS = [change for change in changes() if change.study.trainer == "armies"]
COMPONENTS = list(component_candidates())


def named(title: str) -> dict[str, Any]:
    """Property -> value, as a title says it."""
    return {what: value for words, what, value in WORDS if re.search(words, title)}


def differing(base: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    return {what: value for what, value in changed.items() if value != base.get(what)}


def resolved(environment: dict[str, str], device: str) -> dict[str, Any]:
    """What a path does on a kind of device, all it can differ in."""
    path = path_named(environment[VARIABLE])
    number = path.collection_dtype(device)
    return {
        "number format": number,
        "attention": "products" if path.product_attention(device, number) else path.attention,
        "legal": path.legal,
        "table": path.table,
        "rows": path.rows,
        "lean": path.lean,
        "fused": path.fused,
        **{name: value for name, value in environment.items() if name != VARIABLE},
    }


@pytest.mark.parametrize("change", ARMS, ids=str)
def test_paths_differ_in_what_the_title_names(change: Change):
    """A title names each step, or the path of all of them with what it adds; commands differ in nothing else."""
    device = "cuda" if change.study.device == "gpu" else "cpu"
    base, changed = (resolved(run.environment, device) for run in (change.base, change.changed))
    found, told = differing(base, changed), named(change.title)
    if "fast path" in change.title:  # each of its steps, by one name
        told |= differing(base, resolved({VARIABLE: "fast"}, device))
    assert found
    assert found == told
    assert change.base.command == change.changed.command


@pytest.fixture(scope="module")
def settings() -> dict[tuple[str, str], tuple[Setting, list[Batch]]]:
    """Networks and positions by path and device; those of a GPU in the number format of a GPU, on this CPU."""
    made = {}
    for name in ("reference", "fast"):
        for device in ("cpu", "cuda"):
            path = path_named(name)
            trainer = make_trainer(preset_named("tiny"), path, 0, "cpu")
            trainer.collector.collect(trainer.collecting_network(), 3, trainer.setups)
            batches = [freeze(trainer.games, trainer.device) for _ in range(4)]
            network = copy.deepcopy(trainer.network).to(getattr(torch, path.collection_dtype(device)))
            exact = copy.deepcopy(trainer.network).double()
            setting = Setting(path, network, exact, torch.Generator().manual_seed(0))
            made[name, device] = (setting, batches)
    return made


class Recorder:
    """Stands in for what the two sides of a candidate call, and keeps what they ask for on a kind of device."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, device: str) -> None:
        self.seen: dict[str, Any] = {}
        self.device = device
        real = forward.forward
        monkeypatch.setattr(forward, "forced_attention", self._attention)
        monkeypatch.setattr(forward, "forward", lambda *given: self._forward(real, *given))
        monkeypatch.setattr(torch, "compile", self._compile)
        self.compilations: list[tuple[Any, Any]] = []

    def _attention(self, name: str) -> Any:
        self.seen["backend"] = name
        return contextlib.nullcontext()

    def _forward(
        self, real: Any, network: Any, path: CollectPath, given: Any, legal: Any, products: bool | None = None
    ) -> Any:
        number = str(network.dtype).removeprefix("torch.")
        own = path.product_attention(self.device, number) if products is None else products
        self.seen |= {"number format": number, "attention": "products" if own else self.seen["backend"]}
        self.seen |= {"calls": self.seen.get("calls", 0) + 1, "steps": path.steps - {"products"}}
        cells, summary = given
        zeros, one = not bool(cells.any() or summary.any()), bool((cells == cells[:1]).all())
        self.seen["positions"] = "zeros" if zeros else "one" if one else "real"
        return real(network, path, given, legal, products)

    def _compile(self, function: Any, **options: Any) -> Any:
        self.compilations.append((function, options.get("options")))
        return function

    def run(self, candidate: Candidate, batches: list[Batch], changed: bool) -> dict[str, Any]:
        """What one side did, property by property."""
        self.seen = {}
        given = [candidate.prepare(batch) if changed else batch for batch in batches[: candidate.group]]
        inputs = candidate.arrange(given) if changed else given
        with torch.no_grad():
            (candidate.changed if changed else candidate.base)(inputs)
        compiled = self.compilations if changed else []
        return {
            "number format": self.seen["number format"],
            "attention": self.seen["attention"],
            "steps": self.seen["steps"],
            "positions": self.seen["positions"],
            "batches in a call": candidate.group if changed and len(inputs) == 1 else 1,
            "compiled": bool(compiled),
            "blocks alone": bool(compiled) and all("_call_impl" in repr(function) for function, _ in compiled),
            "options": str(next((options for _, options in compiled if options), None)),
        }


FORWARD = [one for one in COMPONENTS if one[1] != "gumbel"]


@pytest.mark.parametrize(("study", "name", "candidate"), FORWARD, ids=[f"{s.name}: {n}" for s, n, _ in FORWARD])
def test_forward_candidates_change_what_the_title_names(study: Study, name, candidate, settings, monkeypatch):
    """Both sides on the same positions, as on the study's kind of device: they differ in what the title says."""
    device = "cuda" if study.device == "gpu" else "cpu"
    setting, batches = settings[candidate.against, device]
    recorder = Recorder(monkeypatch, device)
    made = make_candidate(name, setting)
    base, changed = (recorder.run(made, batches, side) for side in (False, True))
    found, told = differing(base, changed), named(candidate.title)
    if told.pop("calls of the base", None):
        assert repairs_rows(made, batches[0])
    assert found
    assert found == told


def repairs_rows(made: Candidate, batch: Batch) -> bool:
    """Whether the changed function gives rows anew that come out as NaN: only the first call of the network is bad."""
    real, calls = forward.forward, []

    def spoilt(*given: Any) -> Any:
        logits, values = real(*given)
        calls.append(len(logits))
        if len(calls) == 1:
            values = values.clone()
            values[1] = float("nan")
        return logits, values

    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(forward, "forward", spoilt)
        [(_, values)] = made.changed([batch])
    return bool(torch.isfinite(values).all()) and calls[1:] == [1]


def test_the_drawing_candidate_draws_otherwise(settings, monkeypatch):
    """Of the same probabilities base and candidate draw by different functions, and nothing else differs."""
    drawn = []
    for study, name, candidate in COMPONENTS:
        if name != "gumbel":
            continue
        setting, [batch, *_] = settings[candidate.against, "cuda" if study.device == "gpu" else "cpu"]
        made = make_candidate(name, setting)
        [(same, moves)] = made.base([made.prepare(batch)])
        [(also, others)] = made.changed([made.prepare(batch)])
        assert made.part == SAMPLING
        assert torch.equal(same, also)
        assert not torch.equal(moves, others)
        assert named(candidate.title) == {"draws": "gumbel_argmax"}
        drawn.append(study.name)
    assert drawn
