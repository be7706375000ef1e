"""The profile closes, names the twelve stages, and its brackets synchronise."""

import subprocess
import sys

import compiled
import pytest
import torch

from armies import collect, engine, stages
from armies.kernels import network as kernels_network
from armies.paths import path_named
from armies.presets import PRESETS
from armies.profile import profile
from armies.train import run_iteration
from armies.trainer import make_trainer
from tachograph.instrument import StageTimer

STAGES = {
    "move network forward": "network",
    "sampling": "loop",
    "env.observe": "environment",
    "env.observe copy": "environment",
    "env.legal_mask": "environment",
    "env.legal_mask copy": "environment",
    "observation store": "loop",
    "log-probability, value and acting bookkeeping": "loop",
    "env.step": "environment",
    "env.step copies": "environment",
    "finished-game bookkeeping": "loop",
    "python remainder": "loop",
}  # the twelve of document 000


@pytest.mark.parametrize("path", ["reference", "fast"])
def test_profile_closes_on_twelve_stages(path):
    """Twelve stages add up to the total within 1 %, the remainder is not negative, every step is counted."""
    result = profile(PRESETS["tiny"], path_named(path), steps=30)
    assert {stage["name"]: stage["group"] for stage in result["stages"]} == STAGES
    assert sum(stage["seconds"] for stage in result["stages"]) == pytest.approx(result["total_seconds"], rel=0.01)
    assert all(stage["seconds"] >= 0 for stage in result["stages"])
    assert {stage["calls"] for stage in result["stages"]} == {30}
    assert result["steps"] == result["uninstrumented"]["steps"] == 30
    assert result["attention"] == ("math" if path == "reference" else "products")


def test_profile_follows_a_whole_iteration(monkeypatch):
    """What is profiled is the network that one iteration of training has left, not a fresh one."""
    made = []
    monkeypatch.setattr("armies.profile.make_trainer", lambda *how: made.append(make_trainer(*how)) or made[0])
    result = profile(PRESETS["tiny"], path_named("fast"), steps=2)
    trained = make_trainer(PRESETS["tiny"], path_named("fast"), 0, "cpu")
    run_iteration(trained)
    assert result["warmup_steps"] >= PRESETS["tiny"].steps
    for profiled, expected in zip(made[0].network.parameters(), trained.network.parameters(), strict=True):
        assert torch.equal(profiled, expected)


def compiled_signatures():
    """How many signatures every kernel of the engine and of the fused network has."""
    fused = {name: len(k.signatures) for name, k in vars(kernels_network).items() if hasattr(k, "signatures")}
    assert fused
    return {**engine.signatures(), **fused}


@compiled.fused
@pytest.mark.parametrize("path", ["fast", "fused"])
def test_profile_compiles_nothing_while_it_measures(monkeypatch, path):
    """No kernel of engine or network gets a new signature between the warm-up and the end."""
    counts = []
    true_timer = stages.stage_timer
    monkeypatch.setattr(
        "armies.profile.stage_timer", lambda device: (counts.append(compiled_signatures()), true_timer(device))[1]
    )
    profile(PRESETS["tiny"], path_named(path), steps=20)
    assert counts == [compiled_signatures()]


@compiled.fused
@pytest.mark.parametrize("path", ["reference", "fast", "fused"])
def test_first_iteration_compiles_nothing(path):
    """All kernels are compiled when a training is made: its first iteration adds no signature."""
    code = f"""
from armies import engine
from armies.kernels import network as kernels_network
from armies.paths import path_named
from armies.presets import PRESETS
from armies.train import run_iteration
from armies.trainer import make_trainer

def count():
    fused = [len(k.signatures) for k in vars(kernels_network).values() if hasattr(k, "signatures")]
    return [*engine.signatures().values(), *fused]

trainer = make_trainer(PRESETS["tiny"], path_named({path!r}), 0, "cpu")
before = count()
for _ in range(3):
    run_iteration(trainer)
assert sum(before) > 0 and count() == before, (before, count())
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=250)  # no kernel of another test is there


class FakeDevice:
    """A device with a clock of its own: work is queued at once and takes its time until synchronised."""

    def __init__(self):
        self.now = 0.0
        self.queued = 0.0

    def submit(self, seconds):
        self.queued += seconds

    def synchronize(self):
        self.now += self.queued
        self.queued = 0.0


def forward_share(monkeypatch, synchronised):
    """Shares of forward pass and env.step, where the first makes all work and the second waits for it."""
    device = FakeDevice()
    trainer = make_trainer(PRESETS["tiny"], path_named("fast"), 0, "cpu")
    true_forward, true_step = collect.forward, trainer.games.step

    def late_forward(*arguments):
        device.submit(1.0)
        return true_forward(*arguments)

    def waiting_step(actions):
        device.synchronize()  # as a copy of the actions from the device would
        return true_step(actions)

    monkeypatch.setattr(collect, "forward", late_forward)
    monkeypatch.setattr(trainer.games, "step", waiting_step)
    timer = StageTimer(device.synchronize if synchronised else lambda: None, clock=lambda: device.now)
    trainer.collector.collect(trainer.network, 10, trainer.setups, timer)
    seconds = {stage["name"]: stage["seconds"] for stage in timer.stages()}
    return seconds["move network forward"] / timer.total_seconds, seconds["env.step"] / timer.total_seconds


def test_late_work_is_charged_to_its_stage(monkeypatch):
    """With synchronised brackets the forward pass gets all the time of work that completes late."""
    assert forward_share(monkeypatch, synchronised=True) == (1.0, 0.0)


def test_missing_synchronisation_would_be_seen(monkeypatch):
    """Planted fault: without synchronisation the same work is charged to the engine's step instead."""
    assert forward_share(monkeypatch, synchronised=False) == (0.0, 1.0)


def test_each_stage_gets_what_its_work_costs(monkeypatch):
    """Work of known cost appears under its stage alone, nothing twice, and what no bracket holds as remainder."""
    device = FakeDevice()
    trainer = make_trainer(PRESETS["tiny"], path_named("fast"), 0, "cpu")

    def make_costly(owner, name, seconds):
        true = getattr(owner, name)

        def costly(*arguments, **options):
            device.now += seconds
            return true(*arguments, **options)

        monkeypatch.setattr(owner, name, costly)

    make_costly(trainer.games, "tokens", 0.5)
    make_costly(trainer.collector, "_observation_to_device", 0.25)
    make_costly(trainer.games, "legal_list", 1.0)
    make_costly(trainer.collector, "_legal_to_device", 2.0)
    make_costly(collect, "forward", 4.0)
    make_costly(collect, "sample", 8.0)
    make_costly(trainer.games, "step", 16.0)
    make_costly(trainer.setups, "games_ended", 32.0)
    timer = StageTimer(clock=lambda: device.now)
    make_costly(timer, "stage", 0.125)  # between two brackets: once for each of the eleven
    trainer.collector.collect(trainer.network, 10, trainer.setups, timer)
    seconds = {stage["name"]: stage["seconds"] / 10 for stage in timer.stages()}
    assert seconds == {
        "env.observe": 0.5,
        "env.observe copy": 0.25,
        "env.legal_mask": 1.0,
        "env.legal_mask copy": 2.0,
        "move network forward": 4.0,
        "sampling": 8.0,
        "observation store": 0.0,
        "log-probability, value and acting bookkeeping": 0.0,
        "env.step copies": 0.0,
        "env.step": 16.0,
        "finished-game bookkeeping": 32.0,
        "python remainder": 11 * 0.125,
    }
    assert timer.total_seconds == 10 * sum(seconds.values())


def test_timer_of_a_cuda_device_synchronises_it(monkeypatch):
    """Each bracket of a CUDA or ROCm device waits for that device twice, and a CPU's for nothing."""
    waits = []
    monkeypatch.setattr(torch.cuda, "synchronize", waits.append)
    device = torch.device("cuda", 1)
    with stages.stage_timer(device).stage("x"):
        assert waits == [device]
    assert waits == [device, device]
    with stages.stage_timer(torch.device("cpu")).stage("x"):
        pass
    assert len(waits) == 2
