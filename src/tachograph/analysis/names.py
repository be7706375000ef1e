"""Which tables and figures a study has. Imported each time the Snakefile is read, so models only."""

from __future__ import annotations

from tachograph.models import AnyStudy, MachineStudy, Program, Study, Trainer

TABLES_OF_MACHINES = (
    "cells", "correctness", "repeatability", "matmul", "formats", "training", "speedups", "batches", "clocks",
    "clock_falls", "workarounds", "soak", "series", "selftest", "preflight", "attempts", "deviations",
)  # fmt: skip
FIGURES_OF_MACHINES = ("matmul", "training", "clock", "soak")


def table_names(study: AnyStudy, trainer: Program) -> list[str]:
    """Names of ``tables/NAME.csv``; only those that the registration calls for."""
    if isinstance(study, MachineStudy):
        return list(TABLES_OF_MACHINES)
    assert isinstance(trainer, Trainer)
    wanted = {
        "runs": True,
        "iterations": True,
        "factors": len(study.arms) > 1,
        "blocks": len(study.arms) > 1,
        "spread": True,
        "stages": study.profile is not None,
        "component": study.component,
        "sweep": study.sweep is not None,
        "supply": study.sweep is not None and trainer.history.supply is not None,
        "phases": bool(trainer.history.phases),
        "evaluation": trainer.history.evaluation is not None,
        "subjects": trainer.history.evaluation is not None and bool(trainer.history.evaluation.subjects),
        "projection": study.projection is not None,
        "ceilings": study.profile is not None or bool(trainer.history.phases),
        "candidates": bool(study.candidates),
        "decision": study.decision is not None and len(study.arms) > 1,
        "curves": bool(metric_columns(study, trainer)),
        "curve_tests": bool(study.curves) and len(study.arms) > 1,
        "equivalence": bool(study.curves) and len(study.arms) > 1,
        "steadiness": True,
        "endings": bool(trainer.history.endings),
        "preflight": study.parity is not None or bool(study.smoke) or study.machine is not None,
        "attempts": True,
        "deviations": True,
    }
    return [name for name, applies in wanted.items() if applies]


def figure_names(study: AnyStudy, trainer: Program) -> list[str]:
    """Names of ``figures/NAME.svg`` and ``.png``; only those that the registration calls for."""
    if isinstance(study, MachineStudy):
        return list(FIGURES_OF_MACHINES)
    assert isinstance(trainer, Trainer)
    wanted = {
        "stages": study.profile is not None,
        "rates": True,
        "curves": bool(metric_columns(study, trainer)),
        "factor": len(study.arms) > 1,
    }
    return [name for name, applies in wanted.items() if applies]


def metric_columns(study: Study, trainer: Trainer) -> list[str]:
    """The columns whose curves are compared: the registered ones first, then the trainer's other metrics."""
    columns = [*(metric.column for metric in study.curves), *trainer.history.metrics, *trainer.history.sparse_metrics]
    return list(dict.fromkeys(columns))
