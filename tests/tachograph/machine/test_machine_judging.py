"""The verdict follows from a cell's numbers and the registered bounds, whatever the cell says of itself."""

from __future__ import annotations

import pytest
from measured_cells import cell_of, file_of, host

from tachograph.machine.judging import judge_record
from tachograph.machine.outcome import judge_cell
from tachograph.models.bounds import Bounds, Gate

PROVEN = {"usable": True, "reason": ""}
BLOCK = {"calls": 10, "seconds": 0.1, "drained": True, "clock_mhz": None}
ROW = {"threads": 1, "process": 0, "repeats": 20, "hashes": {"a": 20}, "fraction_differing": 0.0,
       "max_abs_difference": 0.0, "max_magnitude": 1.0, "nonfinite_calls": 0, "corrupted_calls": 0}  # fmt: skip


def compared(**numbers):
    """A correctness cell with one comparison."""
    one = {"elements": 1000, "nonfinite": 0, "wrong": 0, "ratio": 0.5, "max_abs": 1e-6} | numbers
    return {"reference": PROVEN, "comparisons": {"C": one}}


def gated(**numbers):
    """A correctness cell with one result that has no bound of its own."""
    one = {"elements": 1000, "nonfinite": 0, "rmse": 1e-6, "baseline_rmse": 1e-6, "reference_rms": 1.0} | numbers
    return {"reference": PROVEN, "comparisons": {"gradient": one}}


def product(**numbers):
    """A timed product of 1 TFLOP per call, so 100 TFLOP/s."""
    looked = {"elements": 16, "nonfinite": 0, "wrong": 0, "ratio": 0.5}
    blocks = {"burst": [BLOCK], "sustained": [BLOCK] * 8}
    return {"flop_per_call": 1e12, "blocks": blocks, "comparisons": {"C": looked}, "nonfinite_elements": 0} | numbers


def training(**numbers):
    """Timed training steps."""
    found = {
        "samples_per_call": 64, "blocks": {"best": [BLOCK]}, "parameters": 5, "last_loss": 1.0,
        "stage_seconds_per_step": {"forward": 0.1, "backward": 0.2},
        "memory": {"peak_bytes": 1, "total_bytes": 4, "of": "main memory"},
    }  # fmt: skip
    return found | numbers


def steps(**numbers):
    """A soak that learns."""
    return {"losses": [2.948, 0.003], "nonfinite_parameters": 0, "step_ends": [0.0, 1.0]} | numbers


def record_of(numbers, **more):
    """What a cell writes that thinks highly of itself."""
    settings = {"device": "cpu", "dtype": "fp32", "size": "64", "channels": 64, "batch": 16}
    found = {"settings": settings, "device_name": "X", "fault": None, "measured": numbers, "host": host()}
    return {**found, "verdict": "PASS", "reasons": []} | more


def outcome(kind, measured, bounds=None, peaks=None, more=None):
    """What becomes of a cell with these numbers, which claims PASS."""
    operation = "matmul" if "flop_per_call" in measured else "x"
    file = file_of(record=record_of(measured, **(more or {})))
    return judge_cell(cell_of(kind, operation, {}), file, bounds or Bounds(), {"X": peaks or {}})


@pytest.mark.parametrize(
    ("kind", "measured", "verdict", "reason"),
    [
        ("correctness", compared(), "PASS", None),
        ("correctness", compared(wrong=1, ratio=98.0), "FAIL", "C: 1 of 1000 elements beyond rounding"),
        ("correctness", compared(ratio=98.0), "FAIL", "98 times the bound"),
        ("correctness", compared(wrong=3, ratio=None), "FAIL", "3 of 1000 elements differ from the exact result"),
        ("correctness", compared(nonfinite=2), "FAIL", "2 of 1000 elements are not finite"),
        ("correctness", compared(frobenius=7e-6, frobenius_limit=7.6e-6), "PASS", None),
        ("correctness", compared(frobenius=8e-6, frobenius_limit=7.6e-6), "FAIL",
         "C: Frobenius error 8e-06, rounding allows 7.6e-06"),
        ("correctness", compared(wrong=500, ratio=5.0, wrong_with_half_sums=0), "WARN", "sums are kept in half"),
        ("correctness", compared(wrong=1, ratio=5.0, wrong_with_half_sums=0), "FAIL", "beyond rounding"),
        ("correctness", compared() | {"reference": {"usable": False, "reason": "REFERENCE NOT REPEATABLE (x)"}},
         "INCOMPLETE", "REFERENCE NOT REPEATABLE (x); nothing was compared"),
        ("correctness", compared() | {"comparisons": {}}, "INCOMPLETE", "nothing was compared"),
        ("correctness", {"refused": "flash: unavailable: head_dim"}, "WARN", "flash: unavailable: head_dim"),
        ("correctness", gated(), "PASS", None),
        ("correctness", gated(rmse=1.3e-5), "FAIL", "gradient: error 1.3e-05 against float64, allowed 1.2e-05"),
        ("correctness", gated(baseline_rmse=None), "FAIL", "the baseline is not finite"),
        ("correctness", gated(rmse=None), "INCOMPLETE", "neither wrong elements nor root mean squares"),
        ("correctness", steps(losses=[1.0, 2.0]), "PASS", None),  # a few steps need not yet learn
        ("correctness", steps(losses=[1.0, None]), "FAIL", "1/2 (50.00%) losses not finite, first at step 2"),
        ("repeatability", {"rows": [ROW]}, "PASS", None),
        ("repeatability", {"rows": []}, "INCOMPLETE", "no repeat was measured"),
        ("repeatability", {"rows": [ROW | {"corrupted_calls": 20}]}, "FAIL", "20 of 20 results wrong at 1 thread"),
        ("repeatability", {"rows": [ROW | {"nonfinite_calls": 1}]}, "FAIL", "1 of 20 results not finite"),
        ("repeatability", {"rows": [ROW | {"hashes": {"a": 5}}]}, "INCOMPLETE", "5 results are counted of 20"),
        ("repeatability", {"rows": [ROW], "lost": "process 1: crashed(SIGSEGV)"}, "INCOMPLETE", "crashed(SIGSEGV)"),
        ("throughput", product(), "PASS", None),
        ("throughput", product(nonfinite_elements=1), "FAIL", "1 elements of the product are not finite"),
        ("throughput", product(blocks={"burst": [BLOCK], "sustained": []}), "FAIL", "sustained: no valid samples"),
        ("throughput", product(blocks={"burst": [BLOCK | {"drained": False}], "sustained": [BLOCK] * 8}), "FAIL",
         "burst: no valid samples: not synchronised"),
        ("throughput", product(blocks={"burst": [BLOCK], "sustained": [BLOCK, BLOCK | {"seconds": 0.2}]}), "WARN",
         "the sustained window was not steady"),
        ("throughput", training(), "PASS", None),
        ("throughput", training(last_loss=None), "FAIL", "the loss is not finite"),
        ("throughput", training(blocks={"best": [BLOCK | {"seconds": 1e-6}]}), "FAIL", "below timer resolution"),
        ("soak", steps(), "PASS", None),
        ("soak", steps(losses=[1.0, 1.5]), "FAIL", "the loss did not fall: 1 at first, 1.5 at last"),
        ("soak", steps(nonfinite_parameters=4), "FAIL", "4 parameters are not finite"),
    ],
)  # fmt: skip
def test_numbers_make_the_verdict(kind, measured, verdict, reason):
    """A cell that claims PASS with these numbers gets the verdict that they deserve, and the reason."""
    found = outcome(kind, measured)
    assert (found.outcome, found.verdict) == ("done", verdict)
    assert found.reasons == [] if reason is None else reason in "; ".join(found.reasons)


@pytest.mark.parametrize(
    ("kind", "measured", "more", "words"),
    [
        ("correctness", {}, {"measured": None}, "measured: input should be a valid dictionary, found 'None'"),
        ("correctness", compared(wrong="none"), {}, "measured.comparisons.C.wrong: input should be a valid integer"),
        ("correctness", compared(elements=0), {}, "measured.comparisons.C.elements"),
        ("correctness", compared() | {"reference": None}, {}, "measured.reference: input should be a valid dictionary"),
        ("correctness", {"quality": "excellent"}, {}, "measured.reference: field required"),
        ("repeatability", {"summary": "fine"}, {}, "measured.rows: field required"),
        ("throughput", {"rate": 9000.0}, {}, "measured.samples_per_call: field required"),
        ("soak", {"losses": []}, {}, "measured.losses"),
        ("soak", steps(), {"host": {}}, "host.processors: field required"),
        ("soak", steps(), {"settings": None}, "settings"),
        ("soak", steps(), {"fault": "one NaN"}, "fault: found 'one NaN', expected none"),
        ("soak", steps(), {"settings": {"device": "cpu"}}, "settings.channels: field required"),
        ("soak", steps(), {"host": host(device_users=["me"])}, "host.device_users.0"),
        ("soak", steps(), {"host": host(cpu_clock_mhz=2600.0)}, "host.cpu_clock_mhz"),
        ("soak", steps(series={"clock": [1.0, 2.0]}), {}, "measured.series.clock.0"),
        ("throughput", product(), {"settings": {"device": "cpu", "size": "ten", "dtype": "fp32"}}, "settings.size"),
    ],
)
def test_a_file_without_the_numbers_is_no_pass(kind, measured, more, words):
    """A claim without numbers is unreadable, and the missing one is named."""
    found = outcome(kind, measured, more=more)
    assert (found.outcome, found.verdict) == ("unreadable", "INCOMPLETE")
    assert words in found.reasons[0]


@pytest.mark.parametrize("record", [[], "PASS", 7, {"verdict": "PASS", "reasons": []}, {"id": "MACH-x"}])
def test_other_files_are_unreadable(record):
    """Whatever JSON a program leaves, it is judged without a traceback, also as a probe."""
    for kind in ("correctness", "soak", "probe"):
        found = judge_cell(cell_of(kind, "x", {}), file_of(record=record), Bounds(), {})
        assert (found.outcome, found.verdict) == ("unreadable", "INCOMPLETE")


def test_numbers_of_other_settings_do_not_count():
    """A cell that measured something else than was asked has not measured what was asked."""
    asked = cell_of("soak", "x", {"steps": 200, "rate": 1})
    settings = {"device": "cpu", "dtype": "fp32", "channels": 64, "batch": 16, "steps": 2, "rate": 1.0}
    found = judge_cell(asked, file_of(record=record_of(steps(), settings=settings)), Bounds(), {})
    assert found.reasons == ["settings.steps: found 2, expected 200, which was asked for"]
    settings["steps"] = 200
    assert judge_cell(asked, file_of(record=record_of(steps(), settings=settings)), Bounds(), {}).verdict == "PASS"


def test_bounds_are_those_that_were_registered():
    """The same numbers are right under one registered gate and wrong under another; a missing one is no pass."""
    assert outcome("correctness", gated(rmse=1.3e-5)).verdict == "FAIL"
    wider = Bounds(gates={"fp32": Gate(factor=10.0, tolerance=1e-4)})
    assert outcome("correctness", gated(rmse=1.3e-5), wider).verdict == "PASS"
    none = Bounds().model_copy(update={"gates": {}})
    assert outcome("correctness", gated(), none).reasons == ["gradient: no gate is registered for fp32"]
    assert outcome("correctness", gated(), more={"settings": {"device": "cpu"}}).reasons == [
        "gradient: its settings give no dtype"
    ]
    longer = Bounds(block_seconds=0.5)
    assert outcome("throughput", training(), longer).verdict == "FAIL"


def test_rate_above_the_declared_peak_is_withdrawn():
    """D29: 516.2 TFLOP/s on a device with a declared peak of 59.4 is no rate, and the cell FAILs."""
    fast = product(flop_per_call=5.162e12)
    found = outcome("throughput", fast, peaks={"fp32": 59.4})
    assert found.verdict == "FAIL"
    assert found.reasons[0] == "burst: rejected: above peak: 516.2, declared peak 59.4"
    assert found.derived["sustained"]["rate"] is None
    for peaks in ({}, {"X": {"bf16": 59.4}}, {"Y": {"fp32": 59.4}}):  # none, of another format, of another device
        assert judge_record(cell_of("throughput", "matmul", {}), record_of(fast), Bounds(), peaks).verdict == "PASS"


def test_soak_counts_bad_steps():
    """NaN in steps 3 and 7 of 202 is "2/202 (0.99%)", first at step 3."""
    losses = [1.0] * 202
    losses[2] = losses[6] = None
    found = outcome("soak", steps(losses=losses))
    assert found.reasons == ["2/202 (0.99%) losses not finite, first at step 3"]


SLOWS = [*range(100), *range(102, 302, 2)]  # half of the steps take one second, the other half two


def test_a_soak_that_slows_down_is_a_warning():
    """0.5 of the first quarter's speed is a warning, with what the sensors said of both; another bound allows it."""
    series = {"foreign_processors": [[float(second), second / 300] for second in range(0, 301, 10)]}
    watched = steps(losses=[2.0] * 199 + [0.1], step_ends=[float(end) for end in SLOWS], series=series)
    watched["losses"][-20:] = [0.1] * 20
    found = outcome("soak", watched)
    assert found.verdict == "WARN"
    assert found.derived["seconds"] == 300
    assert found.reasons[0].startswith(
        "slowed down: the last quarter ran at 0.50 of the first one's speed, allowed is 0.9"
    )
    assert "processors used by others 0.1167, then 0.8833" in found.reasons[0]
    assert outcome("soak", watched, bounds=Bounds(soak_speed=0.5)).verdict == "PASS"


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([{"repeats": 1, "hashes": {"a": 1}}], "INCOMPLETE"),
        ([{"repeats": 1, "hashes": {"a": 1}, "corrupted_calls": 1}], "FAIL"),
        ([{"repeats": 1, "hashes": {"a": 1}}, {"repeats": 1, "hashes": {"a": 1}, "process": 1}], "PASS"),
        ([{"repeats": 1, "hashes": {"a": 1}}, {"repeats": 1, "hashes": {"b": 1}, "process": 1}], "WARN"),
        ([{}, {"repeats": 1, "hashes": {"a": 1}, "threads": 2}], "INCOMPLETE"),
    ],
)
def test_one_call_repeats_nothing(rows, verdict):
    """A single call is always like itself: no pass at a thread count that was called once, in one process."""
    found = outcome("repeatability", {"rows": [ROW | row for row in rows]})
    assert found.verdict == verdict
    assert any("nothing was repeated" in reason for reason in found.reasons) == (verdict == "INCOMPLETE")


@pytest.mark.parametrize(
    ("place", "number"), [("elements", 10**400), ("nonfinite", 2**63), ("ratio", 10**400), ("max_abs", -(10**400))]
)
def test_numbers_that_no_machine_counts_to_are_unreadable(place, number):
    """A whole number beyond 64 bits or beyond float64 is no count and no error, and ends no analysis."""
    found = outcome("correctness", compared(**{place: number}))
    assert (found.outcome, found.verdict) == ("unreadable", "INCOMPLETE")
    assert found.reasons[0].startswith(f"measured.comparisons.C.{place}: ")


def test_a_refusal_says_why():
    """That an operation is not available is a warning in somebody's words; without words it is nothing."""
    assert outcome("correctness", {"refused": "unavailable: head_dim"}).reasons == ["unavailable: head_dim"]
    assert outcome("correctness", {"refused": ""}).outcome == "unreadable"


@pytest.mark.parametrize(
    ("kind", "numbers", "place"),
    [
        ("throughput", product(flop_per_call=5e-324), "measured.flop_per_call"),
        (
            "throughput",
            product(blocks={"burst": [BLOCK], "sustained": [BLOCK | {"seconds": 1e300}]}),
            "measured.blocks",
        ),
        ("throughput", training(stage_seconds_per_step={"forward": 5e-324, "backward": 1.0}), "measured.stage_seconds"),
        ("soak", steps(step_ends=[-1.0, 0.0, 5e-324]), "measured: found numbers from which no finite"),
    ],
)
def test_numbers_from_which_no_finite_number_follows(kind, numbers, place):
    """A time or a size at the end of float64 gives no rate of 0, none of infinity, and no division by zero."""
    found = outcome(kind, numbers)
    assert (found.outcome, found.verdict) == ("unreadable", "INCOMPLETE")
    assert found.reasons[0].startswith(place)
    huge = outcome("correctness", gated(rmse=1e300, baseline_rmse=5e-324, reference_rms=0.0))
    assert (huge.verdict, huge.derived["share_of_bound"]) == ("FAIL", None)


@pytest.mark.parametrize(
    "more", [{"effective": {"library_copies": 0}}, {"settings": {"device": "cpu", "dtype": "fp32", "library": ["x"]}}]
)
def test_what_stands_beside_the_numbers_is_of_its_kind_too(more):
    """Settings are single values and doubled libraries are named by files, or the file is no cell's."""
    assert outcome("correctness", compared(), more=more).outcome == "unreadable"


def test_a_sampled_quantity_may_begin_at_any_time():
    """Quarters are those of the time that was sampled; of samples at one moment there are none."""
    slow = steps(losses=[2.0, 1.0], step_ends=[0.0, 1.0, 2.0, 3.0, 9.0])
    late = {"clock_mhz": [[100.0, 3000.0], [101.0, 2500.0], [102.0, 2500.0], [103.0, 2000.0]]}
    assert "clock 3000, then 2000" in outcome("soak", slow | {"series": late}).reasons[0]
    backwards = {"clock_mhz": [[3.0, 1.0], [2.0, 1.0], [1.0, 1.0], [0.0, 1.0]]}
    assert outcome("soak", slow | {"series": backwards}).verdict == "WARN"
