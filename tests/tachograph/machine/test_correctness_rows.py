"""What a correctness cell computes stands on the page: errors of networks apart, the norm, the kernel that ran."""

from __future__ import annotations

from measured_cells import cell_of, file_of, host

from tachograph.machine import tables
from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import judge_cell
from tachograph.models.bounds import Bounds
from tachograph.record import machine_tables

ONE = {"elements": 100, "nonfinite": 0, "relative": 1e-6, "frobenius": 2.345e-7, "rmse": 1e-6, "baseline_rmse": 1e-6,
       "reference_rms": 1.0}  # fmt: skip


def row_of(operation, dtype="fp32", **numbers):
    """The row of a judged cell with these numbers."""
    measured = {"reference": {"usable": True}, "comparisons": {"C": ONE}} | numbers
    record = {"settings": {"device": "cpu", "dtype": dtype}, "measured": measured, "host": host()}
    cell = cell_of("correctness", operation, {}, name=operation)
    judged = judge_cell(cell, file_of(record=record), Bounds(), {})
    (row,) = tables.correctness(
        [MeasuredCell(cell, judged.outcome, judged.verdict, judged.reasons, record, derived=judged.derived)]
    )
    return row


def page_of(*rows):
    """The page's part on correctness, blanks of its tables taken together."""
    return " ".join(machine_tables.correctness({"rows": {"correctness": list(rows)}}).split())


def test_errors_of_logits_and_gradients_stand_apart():
    """Document 003's 1.132e-06 (logits) and 3.278e-07 (gradients) are two numbers; evaluation has no gradients."""
    trained = row_of("network", max_logit_error=1.132e-06, max_gradient_error=3.278e-07)
    evaluated = row_of("network-eval", max_logit_error=2.5e-06, max_gradient_error=None)
    page = page_of(trained, evaluated, row_of("convolution"))
    assert "| `network` | 1.132e-06 | 3.278e-07 |" in page
    assert "| `network-eval` | 2.500e-06 | – |" in page
    assert "Largest absolute error of a network" not in page_of(row_of("convolution"))


def test_the_kernel_that_ran_stands_in_the_row_of_its_cell():
    """What was asked for and what ran are two things: the row of attention names the kernel, others none."""
    page = page_of(row_of("attention", kernel="scaled_dot_product_flash_attention_for_cpu"), row_of("convolution"))
    assert page.count("| kernel `scaled_dot_product_flash_attention_for_cpu` |") == page.count("kernel") == 1


def test_the_norm_is_shown():
    """The Frobenius error has a column of its own."""
    assert "| 1.000e-06 | 2.345e-07 |" in page_of(row_of("convolution"))


def test_without_a_verdict_there_are_no_numbers():
    """Where no gate is registered nothing was judged, so nothing is shown beside it."""
    row = row_of("network", dtype="fp8", max_logit_error=1.0)
    assert (row["verdict"], row["relative"], row["logit_error"]) == ("INCOMPLETE", None, None)
