"""Names of paths, and what is set before torch is imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from armies.errors import ArmiesError
from armies.paths import STEPS, VARIABLE, path_from_environment, path_named
from tachograph.study.loading import load_study
from tachograph.study.planning import plan_study

REPOSITORY = Path(__file__).parents[2]


def test_fast_is_every_step_and_reference_none():
    """The two named ends; the reference collects in bf16 with math attention over all actions."""
    fast, reference = path_named("fast"), path_named("reference")
    assert fast.steps == set(STEPS)
    assert (fast.attention, fast.collection_dtype("cpu")) == ("flash", "float32")
    assert all((fast.legal, fast.table, fast.rows, fast.lean, fast.product_attention("cpu", "float32")))
    assert (reference.attention, reference.collection_dtype("cpu")) == ("math", "bfloat16")
    assert not reference.legal
    assert not any((reference.table, reference.rows, reference.lean, reference.plain))


def test_gpus_collect_in_bf16_and_update_without_flash():
    """GPUs have flash kernels in half precision only: fast collects in bf16 there, and updates without."""
    fast = path_named("fast")
    assert fast.collection_dtype("cuda") == "bfloat16"
    assert (fast.update_attention("cuda"), fast.update_attention("cpu")) == ("efficient", "flash")
    assert path_named("reference").update_attention("cuda") == "math"
    assert (fast.keeps_policy("cuda"), fast.keeps_policy("cpu")) == (False, True)
    assert not fast.product_attention("cuda", "float32")


def test_steps_can_be_chosen_one_by_one():
    """Any steps joined by + make a path, named in the order of STEPS."""
    path = path_named("lean+flash")
    assert path.name == "flash+lean"
    assert (path.attention, path.lean, path.legal) == ("flash", True, False)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("quick", "path is 'quick', expected reference, unforced, plain, fast, fused or steps"),
        ("flash+", r"path is 'flash\+', expected"),
        ("flash+flash", "names a step twice"),
        ("flash+rows", "has rows without legal"),
    ],
)
def test_unknown_paths_are_refused(name, sentence):
    """A name that is no path is one sentence with what was found and expected."""
    with pytest.raises(ArmiesError, match=sentence):
        path_named(name)


def test_environment_names_the_path(monkeypatch):
    """ARMIES_COLLECT_PATH decides, an empty value does not, and a wrong one names the variable."""
    monkeypatch.setenv(VARIABLE, "reference")
    assert path_from_environment().name == "reference"
    monkeypatch.setenv(VARIABLE, "")
    assert path_from_environment().name == "fast"
    monkeypatch.setenv(VARIABLE, "slow")
    with pytest.raises(ArmiesError, match="ARMIES_COLLECT_PATH: path is 'slow'"):
        path_from_environment()


@pytest.mark.parametrize(("path", "expected"), [("fast", "1"), ("reference", "None")])
def test_rocm_variable_is_set_before_torch_is_imported(path, expected):
    """On a flash path the variable is there before torch is; on the reference path it is not touched."""
    program = f"""
import os, sys
import armies.cli, armies.paths
assert "torch" not in sys.modules
armies.paths.prepare_environment(armies.paths.path_named({path!r}))
assert "torch" not in sys.modules
print(os.environ.get("TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"))
"""
    environment = {k: v for k, v in os.environ.items() if "AOTRITON" not in k}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == expected


def flag_of(path: str, environment: dict[str, str]) -> str:
    """ROCm's flag as torch would find it, after a process has prepared itself for ``path``."""
    program = (
        "import os; from armies.paths import *; prepare_environment(path_named(sys.argv[1])); "
        "print(os.environ.get('TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL'))"
    )
    return subprocess.run(
        [sys.executable, "-c", f"import sys; {program}", path],
        env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_unforced_attention_leaves_the_flag_to_the_environment():
    """The path whose kernel torch chooses sets no flag, so that a study changes the flag and nothing else."""
    name = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"
    assert (flag_of("unforced", {}), flag_of("unforced", {name: "1"})) == ("None", "1")
    assert (flag_of("reference", {}), flag_of("fast", {}), flag_of("fast", {name: "0"})) == ("None", "1", "0")


def test_flag_study_changes_the_flag_and_nothing_else():
    """Base and candidate of the flag's own A/B run one command; their environments differ in the flag alone."""
    study, trainer = load_study(REPOSITORY / "config", "armies-throughput")
    run = next(one for one in plan_study(study, trainer, "gpu", "0" * 64) if one.arm == "experimental-attention")
    changed = run.changed()
    assert changed.command == run.command
    assert run.command[-2:] == ("--path", "unforced")
    assert dict(changed.environment.items() - run.environment.items()) == {
        "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL": "1"
    }
    assert run.environment.items() <= changed.environment.items()
    assert "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL" in run.clear_environment  # whatever the caller has set
