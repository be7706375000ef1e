"""Candidates of the collection step: measured on real batches, and what is not finite is counted."""

from __future__ import annotations

import json
import tomllib
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend

from armies.attention import attention_that_runs
from armies.candidates import trial
from armies.candidates.candidate import Setting
from armies.candidates.catalogue import CANDIDATES, make_candidate
from armies.candidates.drawing import gumbel_argmax
from armies.candidates.forward import guarded, join, replicated, rows_not_finite, take, zeroed
from armies.candidates.trial import measure
from armies.cli import main
from armies.errors import ArmiesError
from armies.parity import freeze
from armies.paths import path_named
from armies.presets import preset_named
from armies.trainer import make_trainer

TINY = preset_named("tiny")
REPOSITORY = Path(__file__).parents[2]


def setting_of(path: str) -> tuple[Setting, list]:
    """A trainer's networks and two batches of its positions."""
    trainer = make_trainer(TINY, path_named(path), 0, "cpu")
    network = trainer.collecting_network()
    batches = []
    for _ in range(2):
        trainer.collector.collect(network, 3, trainer.setups)
        batches.append(freeze(trainer.games, trainer.device))
    generator = torch.Generator().manual_seed(0)
    return Setting(path_named(path), network, trainer.network.double(), generator), batches


def spoil(monkeypatch: pytest.MonkeyPatch, steps: set[int]) -> None:
    """From here on the changed function of every candidate gives a row of NaN at these measured steps (from 0)."""
    make = make_candidate

    def planted(name, setting):
        candidate = make(name, setting)
        calls = -2 * trial.WARM_UP_STEPS  # the warm-up batches go before, twice

        def changed(given):
            nonlocal calls
            outputs = candidate.changed(given)
            if calls in steps:
                outputs[0][0][1] = float("nan")
            calls += 1
            return outputs

        return replace(candidate, changed=changed)

    monkeypatch.setattr(trial, "make_candidate", planted)
    monkeypatch.setattr(trial, "PARITY_STEPS", 0)  # its calls would be counted too


@pytest.mark.parametrize(("name", "path"), [("gumbel", "reference"), ("attention-math", "fast"), ("games-2x", "fast")])
def test_candidate_file_holds_figures_of_equal_work(name, path):
    """Every pair has both sides, the outputs are finite, and both are as near to float64 as they should be."""
    found = measure(name, TINY, path_named(path), steps=20, pairs=4)
    assert found["schema"] == "candidate/1"
    assert found["available"] is True
    assert len(found["pairs"]) == 4
    group = 2 if name == "games-2x" else 1
    for pair in found["pairs"]:
        assert pair["base"]["work"] == pair["candidate"]["work"] == 5 * group * TINY.games
        assert min(pair["base"]["seconds"], pair["candidate"]["seconds"]) > 0
    assert found["nonfinite_steps"] == {"base": 0, "candidate": 0}
    assert found["parity"]["batches"] == 20
    errors = {tensor["arm"]: tensor["rmse_fp64"] for tensor in found["parity"]["tensors"]}
    assert errors["candidate"] < 2 * errors["base"] + 1e-4


def test_planted_rows_of_nan_are_counted_step_by_step(monkeypatch):
    """NaN in one row of two steps of twelve is 2 steps, of the candidate alone."""
    spoil(monkeypatch, {3, 7})
    found = measure("attention-math", TINY, path_named("fast"), steps=12, pairs=4)
    assert found["nonfinite_steps"] == {"base": 0, "candidate": 2}


def test_guard_repairs_the_rows_that_are_not_finite_and_no_others():
    """After the guard the rows that were spoilt are those of the eager path, the others are untouched."""
    setting, [batch, _] = setting_of("reference")
    same = make_candidate("attention-flash", setting)

    def spoilt(batches):
        [(logits, values)] = same.base(batches)
        logits, values = logits + 1, values.clone()
        logits[2] = float("inf")
        values[5, 0] = float("nan")
        return [(logits, values)]

    bad = rows_not_finite(setting.path, batch, spoilt([batch])[0])
    assert bad.nonzero().flatten().tolist() == [2, 5]
    [(logits, values)] = guarded(spoilt, same.base, setting.path)([batch])
    [(exact, exact_values)] = same.base([batch])
    torch.testing.assert_close(logits[bad], exact[bad])
    torch.testing.assert_close(values[bad], exact_values[bad])
    torch.testing.assert_close(logits[~bad], exact[~bad] + 1)


def test_illegal_moves_may_be_minus_infinity():
    """A path with lists pads them with -inf: that is no row of numbers that are not finite."""
    setting, [batch, _] = setting_of("fast")
    output = make_candidate("attention-math", setting).base([batch])[0]
    assert torch.isinf(output[0]).any()
    assert not rows_not_finite(setting.path, batch, output).any()


def test_attention_of_a_path_with_its_own_is_that_of_the_backend():
    """The fast path has attention of its own on a CPU: its candidates really use torch's, and compute the same."""
    setting, batches = setting_of("fast")
    candidate = make_candidate("attention-flash", setting)
    with torch.no_grad():
        assert attention_that_runs("flash", lambda: candidate.base(batches)) == "products"
        assert attention_that_runs("flash", lambda: candidate.changed(batches)) == "flash"
        ours, theirs = (candidate.comparable(batches, way) for way in (candidate.base, candidate.changed))
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("path", ["reference", "fast"])
def test_joined_batches_give_the_rows_of_each(path):
    """Two batches in one call give what two calls give, so that larger batches are compared at equal work."""
    setting, batches = setting_of(path)
    candidate = make_candidate("games-2x", setting)
    apart = candidate.comparable(batches, candidate.base)
    together = candidate.comparable(candidate.arrange(batches), candidate.changed)
    for name in apart:
        torch.testing.assert_close(together[name], apart[name], rtol=1e-2, atol=1e-2)
    assert len(join(batches).moves) == 2 * TINY.games


def test_zeroed_and_replicated_batches():
    """Zeros in every observation, or the first position everywhere; the legal moves belong to the rows."""
    _, [batch, _] = setting_of("fast")
    assert zeroed(batch).codes.sum() == zeroed(batch).planes.sum() == zeroed(batch).summary.sum() == 0
    assert torch.equal(zeroed(batch).moves, batch.moves)
    one = replicated(batch)
    assert torch.equal(one.codes, batch.codes[:1].expand_as(batch.codes))
    assert torch.equal(one.moves, batch.moves[:1].expand_as(batch.moves))
    assert torch.equal(take(batch, torch.tensor([3])).mask[0], batch.mask[3])


def test_gumbel_argmax_draws_from_the_policy():
    """Frequencies of 20,000 draws lie within 5 standard errors of the probabilities; what is impossible never comes."""
    p = torch.tensor([0.5, 0.3, 0.2, 0.0])
    draws = gumbel_argmax(p.log().expand(20_000, 4), torch.Generator().manual_seed(1))
    found = torch.bincount(draws, minlength=4) / 20_000
    assert found[3] == 0
    assert (found - p).abs().max() < 5 * 0.5 / 20_000**0.5


@pytest.mark.parametrize(
    ("path", "own", "backend"),
    [
        ("reference", "math", "flash"),
        ("reference", "math", "products"),
        ("fast", "products", "math"),
        ("fast", "products", "flash"),
    ],
)
def test_attention_candidate_changes_the_attention_alone(path, own, backend):
    """The base attends as its path does, the candidate as it says, and both give the same."""
    setting, batches = setting_of(path)
    candidate = make_candidate(f"attention-{backend}", setting)
    with torch.no_grad():
        ran = [attention_that_runs("math", lambda way=way: way(batches)) for way in (candidate.base, candidate.changed)]
        outputs = [candidate.comparable(batches, way) for way in (candidate.base, candidate.changed)]
    # a function forces its own backend, so the one that is forced around it does not matter
    assert ran == [own, backend]
    tolerance = 0.05 if path == "reference" else 1e-4  # bf16, float32
    for name in outputs[0]:
        torch.testing.assert_close(outputs[0][name], outputs[1][name], rtol=0, atol=tolerance)


@pytest.mark.parametrize("study", ["armies-cpu", "armies-throughput"])
def test_studies_measure_every_attention_against_the_same_base(study):
    """Each backend that torch names, and the trainer's own, is a candidate against the reference's math attention."""
    registered = tomllib.loads((REPOSITORY / f"config/studies/{study}.toml").read_text())["candidates"]
    backends = {*SDPBackend.__members__.values()} - {SDPBackend.ERROR, SDPBackend.OVERRIDEABLE}
    against_reference = {
        name for name, one in registered.items() if name.startswith("attention-") and one["against"] == "reference"
    }
    assert against_reference == {"attention-flash", "attention-efficient", "attention-cudnn", "attention-products"}
    assert len(against_reference) == len(backends) - 1 + 1  # all but math, and attention by products
    assert registered["attention-math"]["against"] == "fast"


@pytest.mark.parametrize("backend", ["efficient", "cudnn"])
def test_backend_that_the_device_lacks_is_said_to_be_unavailable(backend):
    """On a CPU there is neither memory-efficient nor cuDNN attention: no figures, and the reason of the library."""
    found = measure(f"attention-{backend}", TINY, path_named("reference"), steps=4, pairs=2)
    assert found["available"] is False
    assert found["reason"].startswith("torch has no such attention for this network on this device (cpu): No ")
    assert "pairs" not in found


def test_grounds_of_torch_are_told(monkeypatch):
    """Where torch warns of why it has no kernel before it raises, the reason holds those words, without their place."""
    make = make_candidate

    def refusing(given):
        warnings.warn("Flash attention requires heads of 8 (Triggered internally at sdp.cpp:1.)", stacklevel=1)
        raise RuntimeError("No available kernel. Aborting execution.")

    monkeypatch.setattr(trial, "make_candidate", lambda *given: replace(make(*given), changed=refusing))
    found = measure("attention-flash", TINY, path_named("reference"), steps=4, pairs=2)
    assert found["reason"].endswith(
        "(cpu): No available kernel. Aborting execution.; Flash attention requires heads of 8"
    )


def test_missing_compiler_makes_compilation_unavailable(monkeypatch):
    """Without a C++ compiler torch.compile is not run, with the library's reason; nothing is rejected for it."""
    import torch._inductor.config as config

    torch.compiler.reset()
    monkeypatch.setattr(config.cpp, "cxx", ("no-such-compiler",))
    found = measure("compile", TINY, path_named("reference"), steps=4, pairs=2)
    torch.compiler.reset()
    assert found["available"] is False
    assert "compiler" in found["reason"].lower()


@pytest.mark.parametrize(
    ("name", "path", "words"),
    [
        ("attention-flash", "flash", "does already"),
        ("attention-math", "reference", "does already"),
        ("attention-products", "fast", "does already"),
        ("gumbel", "fast", "does already"),
        ("faster", "fast", "expected one of"),
        ("compile", "plain", "has no candidates"),
        ("compile", "fused", "has no candidates"),
        ("attention-flash", "unforced", "has no candidates"),
    ],
)
def test_candidate_that_means_nothing_is_refused(name, path, words):
    """An unknown name, or what the path does anyway, is one sentence."""
    with pytest.raises(ArmiesError, match=words):
        measure(name, TINY, path_named(path), steps=4, pairs=2)


def test_command_writes_the_file(tmp_path: Path, monkeypatch):
    """python -m armies candidate writes strict JSON; fewer steps than pairs are refused with exit code 2."""
    monkeypatch.setenv("ARMIES_COLLECT_PATH", "fast")
    arguments = ["candidate", "--preset", "tiny", "--name", "attention-math", "--pairs", "2"]
    assert main([*arguments, "--steps", "4", "--out", str(tmp_path / "one.json")]) == 0
    assert json.loads((tmp_path / "one.json").read_text())["steps"] == 4
    assert main([*arguments, "--steps", "1", "--out", str(tmp_path / "two.json")]) == 2
    assert not (tmp_path / "two.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CANDIDATES if name.startswith("compile")])
def test_every_compiled_variant_runs(name):
    """Each variant compiles, once cold and once warm, and computes what its base computes."""
    found = measure(name, TINY, path_named("fast" if name == "compile-fp32" else "reference"), steps=20, pairs=2)
    if not found["available"]:
        pytest.skip(found["reason"])
    assert found["one_off"]["cold_seconds"] > found["one_off"]["warm_seconds"] > 0
    assert found["nonfinite_steps"]["base"] == 0
