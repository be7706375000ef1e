"""A candidate that the trainer's own command measured: from its candidate file to figures."""

from __future__ import annotations

from dataclasses import asdict

from tachograph.analysis.measured import Measured, OnceOnly, pair_rows
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.evidence.cost import break_even
from tachograph.evidence.interval import Factor, paired_log_t
from tachograph.evidence.judging import judged
from tachograph.evidence.parity import Parity, judge_parity
from tachograph.evidence.trial import Trial, parse_trial
from tachograph.evidence.verdicts import ParityVerdict
from tachograph.study.reach import alpha_of
from tachograph.wording import counted

BASE, CANDIDATE = "base", "candidate"


def read_trial(sealed: SealedStudy, run: SealedRun) -> Measured | str:
    """What the candidate command measured, or why it says that the candidate cannot run on this device.

    Raises TachographError for a file that does not say what it must.
    """
    source = f"{run.attempt.folder}/{run.facts['result']}"
    trial = parse_trial(run.content(), source)
    if isinstance(trial, str):
        return f"the trainer says: {trial.rstrip('. ')}"
    rates = {side: list(trial.rates(side)) for side in (BASE, CANDIDATE)}
    confidence = 1 - alpha_of(sealed.study)
    parity, sentence, tables = _parity(trial, source)
    factor = judged("the factor", lambda: paired_log_t(rates[BASE], rates[CANDIDATE], confidence))
    return Measured(
        part=trial.part,
        unit=f"{trial.unit}/s",
        pairs=pair_rows(rates[BASE], rates[CANDIDATE]),
        factor=factor,
        steps=trial.steps,
        step_unit="steps",
        nonfinite_steps=trial.nonfinite_steps[CANDIDATE],
        base_nonfinite_steps=trial.nonfinite_steps[BASE],
        parity=parity,
        parity_sentence=sentence,
        tensors=[asdict(tensor) for tensor in tables.tensors] if tables else [],
        once=_once(trial, factor.result),
    )


def _parity(trial: Trial, source: str) -> tuple[ParityVerdict, str, Parity | None]:
    """The candidate against float64, held to the error of its base; a base that is not finite can judge nothing."""
    bad = trial.nonfinite_steps[BASE]
    if bad:
        return (
            ParityVerdict.REFERENCE_BROKEN,
            f"the base itself is not finite in {bad} of {counted(trial.steps, 'step')}",
            None,
        )
    if trial.parity is None:
        return ParityVerdict.NOT_REGISTERED, f"the trainer says: {trial.no_parity}", None
    document = trial.parity
    found = judged("parity", lambda: judge_parity(document, source, BASE))
    if found.result is None:
        return ParityVerdict.NO_VERDICT, found.reason or "unknown", None
    return found.result.verdicts[CANDIDATE], found.result.reasons[CANDIDATE], found.result


def _once(trial: Trial, factor: Factor | None) -> OnceOnly | None:
    """The one-off cost against what a step gains, at equal work per step."""
    if trial.cold_seconds is None and trial.warm_seconds is None:
        return None
    first = trial.cold_seconds if trial.cold_seconds is not None else trial.warm_seconds
    assert first is not None
    ahead = break_even(first, trial.step_seconds(BASE), factor)
    return OnceOnly(trial.cold_seconds, trial.warm_seconds, 0.0, ahead, "steps")
