"""Is the code that is about to run the code that was planned? Hours may lie between a plan and its run."""

from __future__ import annotations

from pathlib import Path

from tachograph.errors import TachographError
from tachograph.models import AnyStudy, Program, Study, Trainer
from tachograph.study.fingerprint import code_fingerprint
from tachograph.study.loading import load_checker
from tachograph.study.opening import CONFIG
from tachograph.study.planning import PlannedRun


def refuse_edited_code(planned: PlannedRun, study: AnyStudy, program: Program, root: Path) -> None:
    """Raise TachographError if the program's code is no longer what ``planned`` names, before anything is started.

    A run made of edited code would stand under the fingerprint of the code before, and count for it for ever.
    """
    if planned.role == "cell" and isinstance(program, Trainer):  # the preflight cells of a training study
        assert isinstance(study, Study)
        assert study.machine is not None
        program = load_checker(root / CONFIG, study.machine.checker)
    kind = "trainer" if isinstance(program, Trainer) else "checker"
    found = code_fingerprint(program.code, root, f"{CONFIG}/{kind}s/{program.name}.toml")
    if found != planned.code:
        raise TachographError(
            f"{planned.study}: {planned.key} is not started: the code of {kind} {program.name} was edited since this "
            f"snakemake planned it (SHA-256 {found[:16]}…, planned {planned.code[:16]}…); start snakemake again, which "
            "plans with the code as it is now; a run that writes into its own code is edited by every run"
        )
