"""The environment of a run: what it gets, and which part of it we write down."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping
from pathlib import Path

from tachograph.study.planning import PlannedRun

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
# Only these are ever written into our files: the rest of an environment may hold secrets.
RECORDED = (
    *THREAD_VARIABLES,
    "OPENBLAS_*", "MKL_*", "OMP_*", "NUMBA_*", "TORCH_*", "PYTORCH_*", "TORCHINDUCTOR_*", "TRITON_*",
    "CUDA_*", "NVIDIA_*", "HIP_*", "HSA_*", "ROCR_*", "MIOPEN_*", "ROCBLAS_*", "HIPBLASLT_*", "TUNABLEOP_*",
    "GPU_*", "LD_PRELOAD", "SLURM_JOB_ID", "SLURM_NODEID",
)  # fmt: skip
SECRET = ("*TOKEN*", "*SECRET*", "*PASSWORD*", "*API_KEY*", "*CREDENTIAL*")


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def run_environment(planned: PlannedRun, kernels: Path, caller: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the trainer: the caller's, less what the trainer file clears, plus the arm's and ours.

    ``kernels`` is the folder of compiled kernels for this very code: numba's own cache would go on using machine
    code of a kernel that was edited in another file (numba 0.68).
    """
    caller = os.environ if caller is None else caller
    environment = {k: v for k, v in caller.items() if not _matches(k, planned.clear_environment)}
    environment.update(dict.fromkeys(THREAD_VARIABLES, str(planned.threads)))
    environment["NUMBA_CACHE_DIR"] = str(kernels / planned.code[:16])
    environment["PYTHONUNBUFFERED"] = "1"
    environment.update(planned.environment)
    return environment


def redacted(text: str, environment: Mapping[str, str], planned: PlannedRun) -> str:
    """``text``, which a program wrote, with the values of variables that we may not write down replaced by their names.

    Values of fewer than eight characters, and names of files, are left: they would hide half of any sentence.
    """
    known = recorded(environment, planned)
    hidden = {name: value for name, value in environment.items() if name not in known and len(value) >= 8}
    for name, value in sorted(hidden.items(), key=lambda item: -len(item[1])):
        if not value.startswith("/"):
            text = text.replace(value, f"[{name}]")
    return text


def recorded(environment: Mapping[str, str], planned: PlannedRun) -> dict[str, str]:
    """The part of ``environment`` that goes into run.json: an allow-list and what the arm sets itself."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if name in planned.environment or (_matches(name, RECORDED) and not _matches(name.upper(), SECRET))
    }


def portable(text: str, root: Path) -> str:
    """``text`` with paths below the working directory ``root`` relative to it: a record tells nobody's folders."""
    return text if root == root.parent else text.replace(f"{root}/", "")
