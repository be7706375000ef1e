"""The stage table, closed, compared and not believed blindly."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tachograph.evidence import amdahl
from tachograph.evidence.overlap import find_overlap
from tachograph.evidence.profile import ProfileError, parse_profile, unsynchronised_suspicion
from tachograph.evidence.stages import stage_table
from tachograph.instrument import StageTimer

from .build import DOCUMENT_000, document_000, profile, profile_data

SHARES = {  # as document 000 prints them, reference and fast
    "move network forward": ("95.7%", "88.8%"),
    "sampling": ("1.2%", "2.9%"),
    "env.observe": ("0.7%", "1.8%"),
    "env.observe copy": ("0.4%", "1.1%"),
    "env.legal_mask": ("0.3%", "1.0%"),
    "env.legal_mask copy": ("0.1%", "0.3%"),
    "observation store": ("0.1%", "0.3%"),
    "log-probability, value and acting bookkeeping": ("0.1%", "0.3%"),
    "env.step": ("0.3%", "0.8%"),
    "env.step copies": ("0.1%", "0.3%"),
    "finished-game bookkeeping": ("0.4%", "1.3%"),
    "python remainder": ("0.4%", "1.0%"),
}


def test_document_000_stage_table() -> None:
    """All sums, shares and factors of document 000's stage table come out."""
    table = stage_table({"reference": document_000(0), "fast": document_000(1)})
    assert [row.name for row in table.rows] == list(DOCUMENT_000)
    for row in table.rows:
        assert (f"{row.arms['reference'].share:.1%}", f"{row.arms['fast'].share:.1%}") == SHARES[row.name]
        assert row.arms["fast"].ms == pytest.approx(DOCUMENT_000[row.name][1])
    reference, fast = table.arms["reference"], table.arms["fast"]
    assert reference.total.ms == pytest.approx(224.89)
    assert fast.total.ms == pytest.approx(98.69)
    assert table.factor("reference", "fast") == pytest.approx(2.279, abs=5e-4)
    assert reference.environment is not None
    assert fast.environment is not None
    assert reference.environment.ms == pytest.approx(4.42)
    assert fast.environment.ms == pytest.approx(5.30)
    assert f"{reference.environment.share:.2%}" == "1.97%"
    assert f"{fast.environment.share:.2%}" == "5.37%"
    assert table.rows[0].factor("reference", "fast") == pytest.approx(215.27 / 87.60)
    assert reference.warnings == ()
    assert reference.publishable


def test_a_missing_remainder_is_added() -> None:
    """Without a remainder of the trainer's own the table is closed by one."""
    data = profile_data({"forward": (60.0, "network"), "env.step": (30.0, "environment")})
    data["total_seconds"] = 100.0 * 202 / 1e3
    table = stage_table({"reference": parse_profile(data, "p.json")})
    assert table.rows[-1].name == "remainder"
    assert table.rows[-1].arms["reference"].ms == pytest.approx(10.0)
    assert table.arms["reference"].closure == pytest.approx(1.0)


def test_undeclared_nested_stage_breaks_the_closure() -> None:
    """A stage that lies inside another makes the sum exceed the total; it is found and told."""
    data = profile_data({"forward": (70.0, "network"), "inner kernel": (25.0, "network"), "rest": (30.0, "loop")})
    data["total_seconds"] = 100.0 * 202 / 1e3
    summary = stage_table({"reference": parse_profile(data, "p.json")}).arms["reference"]
    assert summary.closure == pytest.approx(1.25)
    assert summary.overlap is not None
    assert summary.overlap.nested == ("inner kernel",)
    assert not summary.publishable
    data["stages"][1]["parent"] = "forward"
    assert stage_table({"reference": parse_profile(data, "p.json")}).arms["reference"].publishable


def test_parts_that_exceed_their_parent_are_told() -> None:
    """Two kernels of 45 ms, declared inside of a forward of 70 ms, hide 20 ms from the sum: told, not to be quoted."""
    stages = {"forward": (70.0, "network"), "kernel a": (45.0, "network"), "kernel b": (45.0, "network")}
    data = profile_data({**stages, "rest": (30.0, "loop")})
    data["total_seconds"] = 100.0 * 202 / 1e3
    data["stages"][1]["parent"] = data["stages"][2]["parent"] = "forward"
    summary = stage_table({"reference": parse_profile(data, "p.json")}).arms["reference"]
    assert summary.closure == pytest.approx(1.0)
    assert summary.warnings == ("kernel a, kernel b, declared inside of forward, take longer than it",)
    assert not summary.publishable


def test_deepspeed_timers() -> None:
    """DeepSpeed#1436: forward, backward and step fill the total, the inner timers are nested."""
    means = {
        "forward": 250.0,
        "backward": 744.13,
        "backward_inner": 700.0,
        "backward_allreduce": 44.08,
        "step": 120.0,
    }
    total = means["forward"] + means["backward"] + means["step"]
    overlap = find_overlap(np.array([total]), {name: np.array([ms]) for name, ms in means.items()})
    assert not overlap.closed
    assert set(overlap.nested) == {"backward_inner", "backward_allreduce"}
    assert overlap.rivals == 1  # backward is as good as its two parts: the sums alone cannot tell


@pytest.mark.parametrize(
    ("blocking", "suspected"),
    [
        *((name, True) for name in ("sample_to_host", "actions.cpu()", "loss.item", "moves.tolist()", "Memcpy DtoH")),
        *((name, True) for name in ("torch.cuda.synchronize", "stream sync")),
        *((name, False) for name in ("data wait", "env.step", "itemise", "synchronised update")),
    ],
)
def test_unsynchronised_timers_are_suspected(blocking: str, suspected: bool) -> None:
    """I16: a copy to the host that dominates after a tiny stage makes the shares unpublishable; a slow loader not."""
    summary = stage_table({"reference": profile({"forward": (0.9, "network"), blocking: (215.0, "loop")})}).arms[
        "reference"
    ]
    assert any("first blocking call absorbs" in warning for warning in summary.warnings) is suspected
    assert summary.publishable is not suspected


def test_timers_of_document_000_are_not_suspected() -> None:
    """A dominant forward after nothing is no copy; what says itself that it did not synchronise is believed."""
    assert unsynchronised_suspicion(document_000(0)) is None
    assert unsynchronised_suspicion(document_000(0, synchronized=False)) is not None


class FakeDevice:
    """Queues work at once and finishes it 50 ms later; synchronising waits for it."""

    def __init__(self) -> None:
        self.free_at = 0.0

    def launch(self) -> None:
        self.free_at = time.perf_counter() + 0.05

    def synchronize(self) -> None:
        time.sleep(max(0.0, self.free_at - time.perf_counter()))


@pytest.mark.parametrize("honest", [True, False])
def test_synchronised_brackets_charge_the_right_stage(honest: bool) -> None:
    """D18: with synchronisation the launching stage costs 50 ms; without it, the copy, as is noticed."""
    device = FakeDevice()
    timer = StageTimer(device.synchronize if honest else lambda: None)
    for _ in range(3):
        with timer.step():
            with timer.stage("forward"):
                device.launch()
            with timer.stage("copy to host"):
                device.synchronize()
    data = {
        **profile_data({"x": (1.0, "loop")}, steps=3),
        "total_seconds": timer.total_seconds,
        "stages": timer.stages(),
    }
    found = parse_profile(data, "p.json")
    forward = next(stage for stage in found.stages if stage.name == "forward")
    assert (forward.seconds >= 0.15) is honest
    assert (unsynchronised_suspicion(found) is None) is honest
    assert sum(stage.seconds for stage in found.stages) == pytest.approx(found.total_seconds)


def test_instrumented_session_faster_than_the_runs() -> None:
    """I17: 4,553 steps/s instrumented against 4,231 of the runs is 7.6 % faster: sessions not comparable."""
    summary = stage_table({"reference": document_000(0)}, {"reference": 4231}).arms["reference"]
    assert len(summary.warnings) == 1
    for words in ("instrumented 4,553", "4,231", "7.6% faster", "not comparable"):
        assert words in summary.warnings[0]
    assert summary.training_rate == pytest.approx(4231)
    assert summary.publishable


def test_profile_at_the_pace_of_a_cold_process() -> None:
    """A profile of 1,180 steps/s beside runs of 1,904 is told as 38.0 % slower, though its own bare steps agree."""
    data = profile_data({"forward": (64e3 / 1180, "network")})
    bare = {"steps": 202, "seconds": 202 * 64 / 1174}
    cold = parse_profile({**data, "work_per_step": 64, "uninstrumented": bare}, "p.json")
    told = stage_table({"reference": cold}, {"reference": (1933 * 1874) ** 0.5}).arms["reference"].warnings
    assert len(told) == 1
    assert "38.0% slower" in told[0]
    assert "instrumented shares" in told[0]


def test_stage_factor_beside_the_headline() -> None:
    """Document 000: the stages give 2.279x, the runs 2.399x and 2.368x; 4.03x measured beside 6.97x is a gap."""
    table = stage_table({"reference": document_000(0), "fast": document_000(1)})
    for measured, gap, flagged in [(10150 / 4231, 0.0527, True), (10150 / (4231 * 4341) ** 0.5, 0.0392, False)]:
        found = table.check("reference", "fast", measured)
        assert found.predicted == pytest.approx(2.279, abs=5e-4)
        assert found.gap == pytest.approx(gap, abs=5e-4)
        assert found.flagged is flagged
    assert amdahl.compare(6.97, 4.03).flagged


def test_cost_of_the_brackets() -> None:
    """Timers that slow the loop by over 5 % turn shares into instrumented shares; less is silent."""
    slow = document_000(0, uninstrumented={"steps": 202, "seconds": 0.8 * 224.89 * 202 / 1e3})
    assert "instrumented shares" in stage_table({"reference": slow}).arms["reference"].warnings[0]
    near = document_000(0, uninstrumented={"steps": 100, "seconds": 0.97 * 224.89 * 100 / 1e3})
    assert stage_table({"reference": near}, {"reference": near.rate * 1.03}).arms["reference"].warnings == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "profile/2"}, "expected 'profile/1'"),
        ({"steps": 0}, "steps is 0"),
        ({"total_seconds": float("nan")}, "total_seconds is nan"),
        ({"stages": [{"name": "a", "seconds": -1, "calls": 1}]}, "stage 'a' took -1"),
        ({"stages": [{"name": "a", "calls": 1}]}, "key 'seconds' is missing"),
        ({"stages": [{"name": "a", "seconds": "x", "calls": 1}]}, "expected the numbers"),
        ({"stages": [{"name": "a", "seconds": 1, "calls": 1}] * 2}, "'a' stands twice"),
        ({"stages": [{"name": "a", "seconds": 1, "calls": 1, "parent": "b"}]}, "unknown parent 'b'"),
        (
            {"stages": [{"name": n, "seconds": 1, "calls": 1, "parent": p} for n, p in ("ab", "ba")]},
            "'a' lies inside of itself",
        ),
    ],
)
def test_bad_profiles_are_refused(change: dict[str, object], message: str) -> None:
    """A profile that contradicts itself is refused, naming file and place."""
    with pytest.raises(ProfileError, match=rf"p\.json: .*{message}"):
        parse_profile({**profile_data({"x": (1.0, "loop")}), **change}, "p.json")


def test_profiles_of_different_work_are_not_compared() -> None:
    """Two arms that measured different work per step have no common table."""
    with pytest.raises(ProfileError, match="different work"):
        stage_table({"reference": document_000(0), "fast": document_000(1, work_per_step=512)})


def test_amdahl_ranking_and_ceiling() -> None:
    """I23: a stage of 95.7 % allows 23.3x at most; 4,300x is too good to be true."""
    table = stage_table({"reference": document_000(0)})
    ranked = amdahl.rank({row.name: row.arms["reference"].share for row in table.rows})
    assert ranked[0].name == "move network forward"
    assert ranked[0].ceiling == pytest.approx(224.89 / (224.89 - 215.27))
    assert [row.pays for row in ranked] == [True] + [False] * 11
    assert f"{amdahl.ceiling(0.957):.1f}" == "23.3"
    assert amdahl.too_good(215 / 0.05, amdahl.ceiling(0.957)) is not None
    assert amdahl.too_good(2.4, amdahl.ceiling(0.957)) is None


def test_ceiling_of_the_stages_that_became_faster() -> None:
    """I23: where the forward alone (95.7 %) became faster the ceiling is 23.3x; without true shares there is none."""
    reference = document_000(0)
    cached = profile(
        {name: (0.05 if name == "move network forward" else ms[0], "loop") for name, ms in DOCUMENT_000.items()}
    )
    found = stage_table({"reference": reference, "fast": cached}).bound("reference", "fast")
    assert found is not None
    assert found.parts == ("move network forward",)
    assert f"{found.factor:.1f}" == "23.4"  # 224.89 / 9.62: the document's share is rounded to 95.7 %
    both = stage_table({"reference": reference, "fast": document_000(1)}).bound("reference", "fast")
    assert both == found  # nothing else of the document's stages became faster
    loose = document_000(0, synchronized=False)
    assert stage_table({"reference": loose, "fast": cached}).bound("reference", "fast") is None
    slower = stage_table({"reference": reference, "fast": reference}).bound("reference", "fast")
    assert slower is not None
    assert slower.parts == ("move network forward",)


def test_amdahl_check_of_document_000() -> None:
    """Collection 2.399x and update 1.657x predict the iteration's factor within 5 % of the measured 2.10."""
    shares = {"collection": 206_848 / 4231 / 73.5, "update": 23.2 / 73.5}
    found = amdahl.check(shares, {"collection": 2.399, "update": 1.657}, 73.5 / 35.0)
    assert not found.flagged
    assert found.predicted == pytest.approx(2.05, abs=0.01)
    assert amdahl.check(shares, {"collection": 2.399, "update": 1.657}, 1.8).flagged


def test_shares_that_sum_to_one_but_for_rounding_set_no_limit():
    """Ten shares of 0.1 add up to 0.9999999999999999 in floating point."""
    shares = {f"stage {number}": 0.1 for number in range(10)}
    assert sum(shares.values()) < 1
    assert amdahl.bound(shares, shares).factor == float("inf")
    assert amdahl.bound({**shares, "stage 0": 0.0}, shares).factor == pytest.approx(10)
