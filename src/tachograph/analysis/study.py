"""The analysis of one study: every section, from the sealed files alone."""

from __future__ import annotations

from typing import Any

from tachograph.analysis import conditions, execution, factors, phases, rates, stages, verdicts
from tachograph.analysis import curves as curve_section
from tachograph.analysis.candidates import candidates
from tachograph.analysis.clocks import clocks
from tachograph.analysis.conduct import conduct
from tachograph.analysis.decision import decision
from tachograph.analysis.deviations import deviations
from tachograph.analysis.disturbance import quiet
from tachograph.analysis.endings import endings
from tachograph.analysis.evaluation import evaluation
from tachograph.analysis.notmeasured import not_measured
from tachograph.analysis.preflight import preflight
from tachograph.analysis.projection import projection
from tachograph.analysis.registered import registered
from tachograph.analysis.remarks import remarks
from tachograph.analysis.sealed import SealedMachine, SealedStudy, read_sealed, with_first_attempts
from tachograph.analysis.sweep import forward_sweep
from tachograph.analysis.variance import variance
from tachograph.machine import sections as machine
from tachograph.study.layout import StudyFolder
from tachograph.study.state import counts


def analyse(folder: StudyFolder) -> dict[str, Any]:
    """``analysis/1``: the same dictionary from a study's folder and from its record.

    Raises TachographError naming the file if a sealed file is gone, altered or cannot be read.
    """
    return sections(read_sealed(folder))


def sections(sealed: SealedStudy | SealedMachine) -> dict[str, Any]:
    """All sections of a study of either kind."""
    return machine.sections(sealed) if isinstance(sealed, SealedMachine) else throughput_sections(sealed)


def throughput_sections(sealed: SealedStudy) -> dict[str, Any]:
    """All sections of a throughput study; see the module of each for its content."""
    steadiness = conditions.steadiness(sealed)
    runs = rates.run_rows(sealed, steadiness["longer_warmup"])
    series = rates.series(sealed)
    found: dict[str, Any] = {
        "schema": "analysis/1",
        "study": {"name": sealed.study.name, "title": sealed.study.title},
        "registration": registration(sealed),
        "machine": sealed.machine,
        "commands": execution.commands(sealed),
        "counts": counts(sealed.planned, sealed.state),
        "planned_runs": [execution.planned_row(run, sealed.state.run_status(run)) for run in sealed.planned],
        "attempts": execution.attempts(sealed),
        "runs": runs,
        "quiet": quiet(sealed),
        "factors": factors.factors(sealed, runs),
        "baseline": factors.baseline(sealed, series),
        "seed_spread": factors.seed_spread(sealed, runs),
        "component": stages.component(sealed),
        "sweep": forward_sweep(sealed),
        "evaluation": evaluation(sealed),
        "curves": curve_section.curves(sealed),
        "repeat": curve_section.repeat(sealed),
        "steadiness": steadiness,
        "endings": endings(sealed),
        "preflight": preflight(sealed),
        "order": execution.order(sealed),
        "time": execution.time(sealed),
        "series": {"rates": series, "curves": curve_section.curve_series(sealed)},
    }
    found["stages"] = stages.stages(sealed, runs, found["factors"])
    found["costs"] = conditions.costs(sealed, found["factors"])
    found["phases"] = phases.phases(sealed, found["factors"])
    found["projection"] = projection(sealed, found["phases"], found["evaluation"])
    found["ceilings"] = phases.ceilings(found["stages"], found["phases"])
    found["first_attempts"] = first_attempts(sealed)
    found["placebo"] = conditions.placebo(sealed, runs, found["factors"])
    found["drift"] = conditions.drift(found["registration"]["arm_order"], runs, found["order"]["realised"])
    found["variance"] = variance(found["registration"]["arm_order"], runs, found["factors"], steadiness)
    found["clocks"] = clocks(found)
    found["reservations"] = conditions.reservations(found)
    found["remarks"] = remarks(found)
    found["curve_verdicts"] = verdicts.curve_verdicts(sealed)
    unsteady = conditions.no_headline(found["steadiness"])
    found["prediction"] = verdicts.prediction(sealed, found["factors"], runs, unsteady)
    found["deviations"] = deviations(sealed, runs, found["order"], found["stages"])
    if sealed.trainer.history.checkpoint is not None:
        found["checkpoints"] = rates.checkpoints(sealed)
    if sealed.study.candidates:
        found["candidates"] = candidates(sealed, found["stages"])
    found["not_measured"] = not_measured(sealed, found)
    found["decision"] = decision(sealed, found)
    found["status"] = "complete" if found["counts"]["counted"] == found["counts"]["planned"] else "incomplete"
    return found


def first_attempts(sealed: SealedStudy) -> list[dict[str, Any]]:
    """The headline factors with the first valid attempt of every run, where a discard made another one count."""
    earlier = with_first_attempts(sealed)
    if earlier is None:
        return []
    return [one for one in factors.factors(earlier, rates.run_rows(earlier)) if one["headline"]]


def registration(sealed: SealedStudy) -> dict[str, Any]:
    """Who registered what and when, with the chain of amendments."""
    study = sealed.study
    return {
        **registered(sealed),
        **conduct(sealed),
        "arms": {name: arm.model_dump(mode="json") for name, arm in study.arms.items()},
        "arm_order": [study.design.reference, *sealed.other_arms],
        "design": study.design.model_dump(mode="json"),
        "settings": dict(study.settings),
        "threads": study.threads,
        "device": study.device,
        "prediction": None if study.prediction is None else study.prediction.model_dump(mode="json"),
        "trainer": {
            "name": sealed.trainer.name,
            "title": sealed.trainer.title,
            "about": sealed.trainer.about,
            "work_unit": sealed.trainer.history.work.unit,
            "stage": sealed.trainer.history.stage.name,
            "phases": [phase.name for phase in sealed.trainer.history.phases],
            "endings": [count.name for count in sealed.trainer.history.endings],
            "code": sorted({run.code for run in sealed.planned}),
        },
    }
