"""Can the factors be relied on: steadiness, placebo, drift, one-off costs, and what speaks against it."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.conditions import FALSE_CAPS
from tachograph.evidence.placebo import LEAST_EFFECT, false_cap_rate
from tachograph.record.markdown import ahead, code, factor, number, significant, table, text
from tachograph.wording import counted

Record = dict[str, Any]
TENFOLD = 10.0


def reliability(record: Record) -> str:
    """The section; reservations first, then remarks."""
    parts = [
        *_said_first(record),
        _placebo(record),
        _steadiness(record["steadiness"]),
        _drift(record),
        _variance(record),
        _clocks(record["clocks"]),
        _costs(record),
    ]
    return "\n\n".join(part for part in parts if part)


def _said_first(record: Record) -> list[str]:
    """What makes a verdict PROVISIONAL, and what must be read with the factors although it does not."""
    reservations, remarks = record["reservations"], record["remarks"]
    if reservations:
        said = ["What speaks against it (a GAIN or NO GAIN is PROVISIONAL under such conditions):", _list(reservations)]
    else:
        said = [f"Nothing makes a GAIN or NO GAIN PROVISIONAL. {_checked(record)}"]
    if remarks:
        count = "A remark belongs" if len(remarks) == 1 else f"{len(remarks)} remarks belong"
        said += [f"{count} to the factors all the same, and must be read with them:", _list(remarks)]
    return said


def _checked(record: Record) -> str:
    """Which conditions were looked at, and which could not be: what nobody measured speaks neither for nor against."""
    placebo, clocks = record["placebo"], record["clocks"]
    looked = {
        "the preflight": bool(record["preflight"]["checks"]),
        "the steadiness of the runs of the blocks": bool(record["steadiness"]["runs"]),
        "their order": True,
        "the work of other programs during them": True,  # where it is unknown there is a reservation
        "the reference against itself (A/A)": placebo.get("factor") is not None,
        "a drift over the session": any(one["factor"] is not None and not _untellable(one) for one in record["drift"]),
        "clocks": bool(clocks["cycles"]),
    }
    yes, no = ([what for what, was in looked.items() if was is wanted] for wanted in (True, False))
    return f"Looked at: {', '.join(yes)}." + (f" Not measured or not told apart: {', '.join(no)}." if no else "")


def _list(rows: list[dict[str, Any]]) -> str:
    return "\n".join(f"- {text(one['sentence'])}" for one in rows)


def _placebo(record: Record) -> str:
    section = record["placebo"]
    if not section["registered"]:
        return ""
    if section["factor"] is None:
        return f"A/A: {text(section.get('reason', 'a rate is missing'))}."
    return (
        f"A/A placebo, the reference against itself (same seed, run twice): {code(section['numerator'])} over "
        f"{code(section['denominator'])} = {number(section['values'][0])} / {number(section['values'][1])} = "
        f"{section['factor']:.3f}x. Identical runs differ by {section['largest']:.1%}, noise and drift together, as "
        "far as one pair shows them, and an effect that is not clearly larger cannot be told from it. "
        + _what_one_pair_tells(record["decision"].get("rule"))
    )


def _what_one_pair_tells(rule: dict[str, Any] | None) -> str:
    """The rule on the pair, and how often identical runs break it."""
    told = (
        "A pair that differs by more than half of an effect makes its GAIN or NO GAIN PROVISIONAL, whatever the chance "
        "of that: one pair can warn of a noisy host, but shows neither that it is quiet nor that the arms differ"
    )
    if rule is None or not rule["sd_log_factor"] > 0:
        return f"{told}."
    effect = rule["minimum_effect"] if rule["minimum_effect"] > 1 else LEAST_EFFECT
    share = false_cap_rate(effect, rule["sd_log_factor"])
    return (
        f"{told}. With the registered spread of {rule['sd_log_factor']:.1%} between blocks {share:.0%} of pairs of "
        f"identical runs differ by more than half of {effect:g}x, the least effect worth having."
    )


def _steadiness(section: dict[str, Any]) -> str:
    """What the warm-up rule says of every run, with the precision within it."""
    rows = [
        [
            code(one["run"]),
            ", ".join(_outcome(flag) for flag in one["flags"]),
            f"{one['change']:+.1%}",
            f"{one['halves']:+.1%}",
            str(one["mser"]),
            "–" if one["within_run"] is None else f"±{one['within_run']['half_width']:.1%}",
        ]
        for one in section["runs"]
    ]
    if not rows:
        return ""
    headers = ["run", "outcome", "trend of the duration", "later half", "MSER would drop", "within-run precision"]
    arms = [f"{text(arm)}: {_outcome(one['outcome'])}" for arm, one in section["arms"].items()]
    of_arms = f"\n\nMean series of the arms: {'; '.join(arms)}." if arms else ""
    meaning = (
        f"\n\nNo trend shown: none that stationary noise would not give in {FALSE_CAPS / 2:.1%} of studies of this "
        "size. A large change beside it was not excluded either."
    )
    if section["no_headline"]:
        meaning += f"\n\n**No headline factor**: {text('; '.join(section['no_headline']))}."
    return "Were the runs steady after their warm-up?\n\n" + table(headers, rows, right=range(2, 6)) + meaning + of_arms


def _outcome(word: str) -> str:
    """``steady`` says more than a test that found nothing."""
    return "no trend shown" if word == "steady" else text(word)


def _untellable(drift: dict[str, Any]) -> bool:
    """Whether the interval of a drift reaches tenfold to either side: then the blocks say nothing of it."""
    return bool(drift["low"] < 1 / TENFOLD - 1 or drift["high"] > TENFOLD - 1)


def _drift(record: Record) -> str:
    lines = []
    for one in record["drift"]:
        if one["factor"] is None:
            continue
        if _untellable(one):
            said = f"Of a drift over the session the blocks of {text(one['arm'])} tell nothing"
            lines.append(f"{said}: its interval reaches tenfold.")
            continue
        called = f", so that none is shown: it takes over 2 % and p up to {one['alpha']:.3g}"
        lines.append(
            f"With a drift over the session taken out, the factor of {text(one['arm'])} is {one['factor']:.2f}x "
            f"(drift {one['total']:+.1%}, 95% interval {one['low']:+.1%} to {one['high']:+.1%}, p = {one['p']:.2g}"
            f"{'' if one['flagged'] else called})."
        )
    return " ".join(lines)


def _variance(record: Record) -> str:
    """Whether more blocks or longer runs would narrow the interval of a factor."""
    lines = []
    for one in record["variance"]:
        if one["reason"]:
            continue
        told = (
            f"The factor of {text(one['arm'])} has a standard deviation of {one['total']:.1%} from block to block; the "
            f"noise within runs of {counted(one['iterations'], 'iteration')} alone would give {one['within']:.1%}"
        )
        best = one["best_iterations"]
        if best is None:
            lines.append(f"{told}, no less: longer runs are as good as more blocks.")
        else:
            lines.append(
                f"{told}, runs and blocks alone {one['between']:.1%}: the interval narrows soonest with {best} "
                "retained iterations in a run, and more blocks in the time that is left."
            )
    return " ".join(lines)


def _clocks(section: Record) -> str:
    """The factor in clock cycles, and the best runs with ≥, N and exposure; a ratio of bests is never the headline."""
    lines = [
        f"In clock cycles the factor of {text(one['arm'])} is {one['cycles']:.2f}x, in time {one['time']:.2f}x."
        for one in section["cycles"]
    ]
    for one in section["best"]:
        load = "" if one["load_low"] is None else f", load {one['load_low']:.2f} to {one['load_high']:.2f}"
        lines.append(
            f"Best of {counted(one['n'], 'run')} of {text(one['arm'])}: ≥ {number(one['value'])} "
            f"{text(section['unit'])} "
            f"(exposure {significant(one['exposure'])} s{load})."
        )
    if len(section["best"]) > 1:
        lines.append(
            "A best run bounds the uncontended throughput of its arm from below; the ratio of two is no factor."
        )
    for one in section["best"]:
        if one["ratio_is_lower_bound"]:
            lines.append(
                f"That of {text(one['arm'])} over the reference is a lower bound of the factor all the same: equal "
                "exposure, and a mean clock that was not the higher one."
            )
    return " ".join(lines)


def _carried(record: Record, rows: list[list[str]]) -> str:
    """What the interval of a number of iterations is, where a row has one."""
    costs = "The costs are single values of their block, whose spread is in no interval."
    if not any("[" in row[-1] for row in rows):
        return costs
    return (
        f"The interval beside a number of iterations is that of the factor of the iteration wall over all blocks "
        f"({_wall(record)}), carried through. {costs}"
    )


def _costs(record: Record) -> str:
    """What was paid once, and after how many iterations it is made up for, with the interval of the factor."""
    known = [one for one in record["costs"] if one["ahead"] is not None]
    lines = _untold([one for one in record["costs"] if one["ahead"] is None])
    if not known:
        return " ".join(lines)
    rows = [
        [
            text(one["arm"]),
            str(one["seed"]),
            f"{significant(one['once_seconds'])} s",
            f"{significant(one['reference_once_seconds'])} s",
            ahead(one["ahead"], "iterations"),
        ]
        for one in known
    ]
    headers = ["arm", "seed", "one-off cost", "of the reference", "ahead after"]
    parts = [
        "What the warm-up iterations cost beyond a typical one:",
        table(headers, rows, right=range(1, 5)),
        _carried(record, rows),
    ]
    if any(min(one["once_seconds"], one["reference_once_seconds"]) < 0 for one in known):
        parts.append("A negative cost: the warm-up iterations were shorter than the later ones, nothing was paid once.")
    return "\n\n".join([*parts, *([" ".join(lines)] if lines else [])])


def _untold(rows: list[dict[str, Any]]) -> list[str]:
    """One sentence per arm where a longer iteration may have done more, so that nothing is known to be paid once."""
    reasons: dict[str, list[str]] = {}
    for one in rows:
        reasons.setdefault(one["arm"], []).append(f"seed {one['seed']}: {one['reason']}")
    return [
        f"What the warm-up of {text(arm)} costs once, and when it is made up for, is not known, since a longer "
        f"iteration may have done more ({text('; '.join(told))})."
        for arm, told in reasons.items()
    ]


def _wall(record: Record) -> str:
    """The factors of the iteration wall after warm-up, arm by arm."""
    return ", ".join(
        f"{text(one['numerator'])} {factor(one['factor'], one['low'], one['high'])}"
        for one in record["factors"]
        if (one["quantity"], one["kind"]) == ("iteration", "retained")
    )
