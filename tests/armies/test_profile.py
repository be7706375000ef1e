"""The profile closes, names the twelve stages, and its brackets synchronise."""

import pytest
import torch

from armies import collect, stages
from armies.paths import path_named
from armies.presets import PRESETS
from armies.profile import profile
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
    assert sum(stage["seconds"] for stage in result["stages"]) == pytest.approx(
        result["total_seconds"], rel=0.01
    )
    assert all(stage["seconds"] >= 0 for stage in result["stages"])
    assert {stage["calls"] for stage in result["stages"]} == {30}
    assert result["steps"] == result["uninstrumented"]["steps"] == 30
    assert result["attention"] == ("math" if path == "reference" else "flash")


def test_profile_compiles_nothing_while_it_measures(monkeypatch):
    """No kernel of the engine gets a new signature between the warm-up and the end."""
    from armies.engine import signatures

    counts = []
    true_timer = stages.stage_timer
    monkeypatch.setattr(
        "armies.profile.stage_timer", lambda device: (counts.append(signatures()), true_timer(device))[1]
    )
    profile(PRESETS["tiny"], path_named("fast"), steps=20)
    assert counts == [signatures()]


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
