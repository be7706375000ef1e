"""Correctness cells pass on clean operations and fail, naming the path, on damaged ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from judged import right

from machinecheck import attention as sdpa
from machinecheck import faults, formulas, products
from machinecheck import network as nets
from machinecheck.cells import board_network, convolution, layers, matmul
from machinecheck.errors import MachineCheckError
from machinecheck.reference import prove, scaled_bounds
from tachograph.machine.verdict import Verdict


@pytest.mark.parametrize("library", products.LIBRARIES)
@pytest.mark.parametrize("form", products.FORMS)
def test_products_by_every_path(library, form):
    """D23: every library and call path, on an odd shape, is right and exact on this machine."""
    assert right(matmul.matmul(size="100x224x43", form=form, library=library)).verdict is Verdict.PASS
    assert right(matmul.integers(size="100x224x43", form=form, library=library)).verdict is Verdict.PASS


@pytest.mark.parametrize("dtype", ["fp64", "fp16", "bf16"])
def test_products_in_every_format(dtype):
    """Formats are rounded as they should be, and whole numbers come out exactly rounded."""
    assert right(matmul.matmul(size="128", dtype=dtype), dtype).verdict is Verdict.PASS
    assert right(matmul.integers(size="128", dtype=dtype), dtype).verdict is Verdict.PASS


def test_wrong_only_through_the_transposed_path(monkeypatch):
    """D23: a product right for A@B and wrong for A@A.T fails, names that path, and is not symmetric."""
    monkeypatch.setenv(faults.VARIABLE, faults.TRANSPOSED)
    assert right(matmul.matmul(size="64", form="A@B")).verdict is Verdict.PASS
    measured = matmul.matmul(size="64", form="A@A.T")
    found = right(measured)
    assert found.verdict is Verdict.FAIL
    assert all(reason.startswith("A@A.T (torch)") for reason in found.reasons)
    assert measured["comparisons"]["A@A.T (torch)"]["wrong"] == 1
    assert measured["comparisons"]["A@A.T (torch) over its transpose"]["wrong"] == 2
    assert right(matmul.integers(size="64", form="A@A.T")).verdict is Verdict.FAIL


def test_structural_zero_that_is_not():
    """D21: an exact zero that becomes 0.0023 fails the whole-number probe."""
    operands = products.integer_operands(products.parse_shape("64", "A@B"), "A@B", 0)
    assert not (operands.left @ operands.right)[:, 32].any()
    assert not (operands.left @ operands.right)[32].any()


def test_integer_reference_is_proven_without_a_blas(monkeypatch):
    """A wrong element in the claimed exact product is found by Freivalds' check."""
    operands = products.integer_operands(products.parse_shape("64", "A@B"), "A@B", 0)
    right = products.proven_integer_product(operands, 0)
    assert np.array_equal(right, operands.left.astype(int) @ operands.right.astype(int))
    monkeypatch.setattr(products, "_one_thread", lambda _: {"C": right + np.eye(64)})
    assert products.proven_integer_product(operands, 0) is None


def test_convolution_that_does_not_repeat_is_no_reference():
    """D22: 6.25 % of the elements perturbed: the fraction, REFERENCE NOT REPEATABLE, and no comparison."""
    calls = []

    def stub():
        calls.append(1)
        values = np.ones(6400)
        values[:400] += 0.146 * (len(calls) > 1)
        return {"output": values}

    reference = prove({"conv": stub}, scaled_bounds(1e-9))
    assert not reference.usable
    assert reference.evidence["routes"]["conv"]["fraction_differing"] == 0.0625
    assert reference.evidence["routes"]["conv"]["max_abs_difference"] == pytest.approx(0.146)
    assert reference.reason.startswith("REFERENCE NOT REPEATABLE (conv: 2 different results in 5 repeats")
    result = right(reference.unusable())
    assert result.verdict is Verdict.INCOMPLETE
    assert result.reasons == [f"{reference.reason}; nothing was compared"]


def test_routes_that_disagree_are_no_reference():
    """Two repeatable routes that differ beyond float64's rounding make the reference unusable."""
    reference = prove(
        {"a": lambda: {"C": np.ones(4)}, "b": lambda: {"C": np.array([1, 1, 1, 1 + 1e-6])}},
        scaled_bounds(1e-9),
    )
    assert reference.reason == "REFERENCE UNUSABLE (a and b disagree on C by 1e-06)"


def test_reference_product_is_checked_against_exact_sums(monkeypatch):
    """If both BLAS routes agree on a wrong product, the exactly summed samples still refuse it."""
    operands = products.normal_operands(products.parse_shape("32", "A@B"), "A@B", torch.float32, 0)
    wrong = {"C": operands.left @ operands.right + 1e-6}
    monkeypatch.setattr(products, "_one_thread", lambda _: wrong)
    monkeypatch.setattr(products, "_blocked", lambda _: wrong)
    reference = products.prove_product(operands, operands.magnitude)
    assert "is not the exact sum" in reference.reason


@pytest.mark.parametrize("onednn", [True, False])
def test_convolution(onednn):
    """The convolution and both gradients are right, through oneDNN and without it."""
    found = right(convolution.convolution(batch=4, channels=16, onednn=onednn))
    assert found.verdict is Verdict.PASS, found.reasons


@pytest.mark.parametrize(("channels", "count"), [(128, 2_006_888), (64, 667_112)])
def test_network_has_the_stated_parameter_counts(channels, count):
    """Document 003's two networks have exactly 2,006,888 and 667,112 parameters."""
    assert nets.parameter_count(nets.build(channels, 0)) == count


@pytest.mark.parametrize(("mode", "dtype"), [("train", "fp32"), ("eval", "fp32"), ("train", "bf16"), ("train", "fp16")])
def test_network(mode, dtype):
    """Logits, value and, in training mode, all 51 gradients pass the gate."""
    measured = board_network.network(channels=16, batch=4, mode=mode, dtype=dtype)
    found = right(measured, dtype)
    assert found.verdict is Verdict.PASS, found.reasons
    assert len(measured["comparisons"]) == (53 if mode == "train" else 2)
    errors = {name: one["max_abs"] for name, one in measured["comparisons"].items()}
    gradients = [error for name, error in errors.items() if name.startswith("gradient ")]
    assert found.derived["logit_error"] == max(errors["policy logits"], errors["value"])
    assert found.derived["gradient_error"] == (max(gradients) if mode == "train" else None)


def test_damaged_gradient_of_the_network_fails(monkeypatch):
    """A gradient damaged in one layer fails and the layer is named."""
    real = board_network.outputs_and_gradients

    def damaged(*arguments):
        found, tested = real(*arguments), len(arguments) == 5  # the tested network alone has a planter
        if tested:
            found["gradient blocks.2.first.0.weight"] *= 1.0001
        return found

    monkeypatch.setattr(board_network, "outputs_and_gradients", damaged)
    found = right(board_network.network(channels=16, batch=2))
    assert found.verdict is Verdict.FAIL
    assert len(found.reasons) == 1
    assert found.reasons[0].startswith("gradient blocks.2.first.0.weight")


def test_steps_change_every_parameter():
    """Five steps change all parameters and leave them finite; one that stands still fails, by its name."""
    measured = board_network.steps(channels=16, batch=4)
    assert right(measured).verdict is Verdict.PASS
    still = right(measured | {"unchanged_parameters": ["stem.0.weight"]})
    assert (still.verdict, still.reasons) == (Verdict.FAIL, ["parameters that did not change: stem.0.weight"])


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_batch_norm(mode):
    """D28: training and evaluation mode are both right, running moments included."""
    measured = layers.batch_norm(batch=8, channels=16, mode=mode)
    found = right(measured)
    assert found.verdict is Verdict.PASS, found.reasons
    assert len(measured["comparisons"]) == 6


def test_group_norm():
    """Group normalisation and its gradients are right."""
    assert right(layers.group_norm(batch=8, channels=16)).verdict is Verdict.PASS


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("implementation", ["single", "foreach", "fused"])
def test_optimisers(name, implementation):
    """Every optimiser kernel follows its published formula."""
    assert right(layers.optimiser(name=name, implementation=implementation, numbers=1000)).verdict is Verdict.PASS


def test_formulas_against_torch_in_float64():
    """The written-out attention equals torch's in float64, so that a shared error is no proof."""
    query, key, value = torch.randn(3, 2, 2, 9, 8, dtype=torch.float64).unbind()
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    assert torch.allclose(formulas.attention(query, key, value), expected, rtol=1e-12)


@pytest.mark.parametrize("backend", ["math", "flash"])
def test_attention_backends(backend):
    """D24: [2, 2, 49, 32] in fp32: output and gradients within twice math's error; the kernel is named."""
    measured = layers.attention(backend=backend, shape="2,2,49,32")
    found = right(measured)
    assert found.verdict is Verdict.PASS, found.reasons
    assert "refused" not in measured
    assert (measured["kernel"] == "math") == (backend == "math")
    for tensor in measured["comparisons"].values():
        assert tensor["rmse"] <= 2 * tensor["baseline_rmse"]


def test_a_wrong_math_backend_does_not_pass_beside_itself(monkeypatch):
    """One per cent too much in fp32 alone, output and gradients, fails: math's baseline is not math."""
    real = sdpa.attend

    def off(backend, query, *more):
        return real(backend, query, *more) * (1.01 if query.dtype == torch.float32 else 1)

    monkeypatch.setattr(sdpa, "attend", off)
    found = right(layers.attention(backend="math"))
    assert found.verdict is Verdict.FAIL
    assert {reason.partition(":")[0] for reason in found.reasons} >= {"output", "gradient 0"}


def test_kernel_is_found_behind_other_nodes():
    """The fused kernel is named by its node in the graph, also under what pads and slices; "math" has none."""
    query = torch.ones(1, 2, 16, 32, requires_grad=True)
    flash = sdpa.attend("flash", query, query, query)
    assert sdpa.kernel_of((flash[..., :3] * 2).transpose(1, 2)) == "scaled_dot_product_flash_attention_for_cpu"
    assert sdpa.kernel_of(sdpa.attend("math", query, query, query)) == "math"


def test_refused_attention_backend_is_no_pass():
    """D24: a backend that does not take the input is refused with its reason: no crash and no pass."""
    measured = layers.attention(backend="efficient")
    found = right(measured)
    assert found.verdict is Verdict.WARN
    assert "comparisons" not in measured
    assert "unavailable: no such kernel on this device" in found.reasons[0]


def test_reason_of_refusal_is_torchs_own(monkeypatch):
    """D24: torch's warning about the head dimension becomes "unavailable: head_dim"."""
    import warnings

    def refuse(*_):
        warnings.warn("Flash attention kernel not used because:", stacklevel=1)
        warnings.warn("Flash attention requires q,k,v head_dim at most 256. Got 512 instead.", stacklevel=1)
        raise RuntimeError("No available kernel. Aborting execution.")

    monkeypatch.setattr(sdpa, "attend", refuse)
    said = sdpa.refusal("flash", torch.zeros(1, 1, 2, 512))
    assert said is not None
    assert said.startswith("unavailable: head_dim (")


def test_defect_of_a_backend_is_not_a_refusal(monkeypatch):
    """Another error than a refusal is raised, not taken for one."""

    def broken(*_):
        raise RuntimeError("HIP error: invalid device function")

    monkeypatch.setattr(sdpa, "attend", broken)
    with pytest.raises(RuntimeError, match="invalid device function"):
        sdpa.refusal("flash", torch.zeros(1, 1, 2, 8))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: matmul.matmul(size="0"), "size"),
        (lambda: matmul.matmul(dtype="fp8"), "dtype"),
        (lambda: matmul.matmul(form="B@A"), "form"),
        (lambda: matmul.matmul(library="atlas"), "library"),
        (lambda: matmul.matmul(library="numpy", dtype="bf16"), "library numpy"),
        (lambda: matmul.matmul(device="cuda:99"), "device"),
        (lambda: matmul.matmul(device="tpu"), "device"),
        (lambda: layers.attention(shape="2,2"), "shape"),
        (lambda: layers.attention(backend="xla"), "backend"),
        (lambda: layers.batch_norm(mode="both"), "mode"),
        (lambda: layers.optimiser(name="lion"), "name"),
        (lambda: layers.optimiser(dtype="fp16"), "dtype"),
        (lambda: board_network.network(dtype="tf32"), "dtype"),
        (lambda: matmul.integers(size="1x300000x1"), "size"),
    ],
)
def test_wrong_settings_are_one_sentence(call, words):
    """A wrong setting is named with what was found and what was expected."""
    with pytest.raises(MachineCheckError, match=r"found .*expected|only|sees") as caught:
        call()
    assert str(caught.value).startswith(words)
