"""The section about candidates: measured and kept, measured and rejected, not run."""

from __future__ import annotations

from typing import Any

from tachograph.evidence.candidates import bad_steps
from tachograph.record.markdown import UNKNOWN, ahead, code, factor, number, percent, significant, table, text
from tachograph.record.speed import SAME_WORK
from tachograph.wording import counted

Record = dict[str, Any]
FACTOR = ("factor", "low", "high")
ORDER = ("KEPT", "REJECTED", "NO VERDICT", "NOT RUN")
INTRODUCTION = (
    "Ideas that were measured against an arm, base and candidate in turn. A factor is that of the quantity beside it, "
    "candidate over base, the geometric mean over the pairs with its interval; it says nothing of the rest of a step "
    "or an iteration. Kept is what is finite, is shown to be as near to float64 as its base (or, where whole runs were "
    "compared, to learn the same), and whose interval lies above the least gain that is worth having: worth an arm "
    "of its own, which is more than these pairs can adopt. A gain whose numerics nothing shows is NO VERDICT "
    "(numerics-not-shown). Beside the steps that are not finite stand those of the base on the same batches or seeds."
)


def candidates(record: Record) -> str:
    """Every registered candidate with its verdict and its figures, those of a rejected one included."""
    found = record["candidates"]
    rows = [_row(one) for verdict in ORDER for one in found if one["verdict"] == verdict]
    headers = [
        "candidate", "verdict", "factor", "of", "worth from", "not finite", "parity, curves", "costs once",
        "ahead after",
    ]  # fmt: skip
    return "\n\n".join([INTRODUCTION, table(headers, rows, right=(2, 4, 7, 8)), "\n".join(map(_paragraph, found))])


def _row(one: dict[str, Any]) -> list[str]:
    verdict = f"**{one['verdict']}**" + (f" ({one['reason']})" if one["reason"] else "")
    measured = one["measured"]
    if measured is None:
        return [text(one["name"]), verdict, *["–"] * 7]
    once = measured["once"]
    return [
        text(one["name"]),
        verdict,
        factor(measured["factor"], measured["low"], measured["high"]),
        f"{text(measured['part'])}, {text(one['against'])}",
        f"{one['minimum_effect']:.2f}x",
        _not_finite(measured),
        ", ".join(text(verdict) for verdict, _ in _compared(measured)),
        "–" if once is None else _once(once, one["against"]),
        "–" if once is None else ahead(once["ahead"], once["unit"]),
    ]


def _not_finite(measured: dict[str, Any]) -> str:
    """Steps with rows that are not finite, of the candidate and of its base on the same batches or seeds."""
    own = bad_steps(measured["nonfinite_steps"], measured["steps"], measured["step_unit"]).split(" with ")[0]
    return f"{own}, base {measured['base_nonfinite_steps']}/{measured['steps']}"


def _compared(measured: dict[str, Any]) -> list[tuple[str, str]]:
    """Verdict and sentence of what was compared: outputs with float64, whole runs, or both."""
    parity, curves = ((measured[name], measured[f"{name}_sentence"]) for name in ("parity", "curves"))
    if measured["curves"] is None:
        return [parity]
    return [curves] if measured["parity"] == "NOT REGISTERED" else [parity, curves]


def _once(once: dict[str, Any], against: str) -> str:
    """Seconds: with the caches that there were, then with filled ones, and what the arm itself costs once."""
    told = UNKNOWN if once["first_seconds"] is None else f"{once['first_seconds']:.2f} s"
    told += "" if once["later_seconds"] is None else f", then {once['later_seconds']:.2f} s"
    return told if not once["base_seconds"] else f"{told} ({text(against)} {once['base_seconds']:.2f} s)"


def _paragraph(one: dict[str, Any]) -> str:
    """What it is, what was found, and where the evidence lies."""
    sentences = [
        f"- **{text(one['name'])}**: {text(one['title'])}. Why: {text(one['why'])}.",
        f"{one['verdict']}: {text(one['sentence'])}.",
        *([] if one["measured"] is None else _figures(one["measured"], one["against"])),
    ]
    if one["measured"] is not None and one["disturbed"]:
        sentences.append(
            f"Disturbed while it was measured, base and candidate alike: {text('; '.join(one['disturbed']))}."
        )
    if one["evidence"] is not None:
        sentences.append(f"Evidence: {code(one['evidence']['path'])}, SHA-256 {code(one['evidence']['sha256'])}.")
    return " ".join(sentences)


def _figures(measured: dict[str, Any], against: str) -> list[str]:
    """What the factor is of, mean rates, what else differed, the outputs or curves, and what it means for a step."""
    sentences = [f"Judged by: {text(measured['part'])}, in {text(measured['unit'])}."]
    rates = [[pair[side] for pair in measured["pairs"]] for side in ("candidate", "base")]
    if all(rates):
        own, base = (significant(sum(values) / len(values)) for values in rates)
        note = f" ({text(measured['note'])})" if measured["note"] else ""
        sentences.append(f"Mean of {counted(len(rates[0]), 'pair')}{note}: {own} against {base}.")
    sentences += _else(measured, against)
    sentences.append(f"Compared: {'; '.join(text(sentence) for _, sentence in _compared(measured))}.")
    whole = measured["whole"]
    if whole is not None:
        sentences.append(
            f"The part takes {percent(whole['share'])} of a step of {text(against)}, which by Amdahl's law would "
            f"become {whole['factor']:.2f}x as fast{_between(whole)}."
        )
    return sentences


def _else(measured: dict[str, Any], against: str) -> list[str]:
    """What else differed between training runs in turn: their work, and the whole iteration beside what was judged."""
    sentences = []
    work, whole = measured["work"], measured["iteration"]
    if work is not None:
        own, base = work["candidate"], work["base"]
        told = f"An iteration did {number(own)} {text(measured['work_unit'])}, one of {text(against)} {number(base)}"
        if abs(own / base - 1) <= SAME_WORK:
            sentences.append(f"{told}.")
        elif measured["unit"].startswith("times"):
            sentences.append(f"{told}: the time of this quantity is compared whatever the work.")
        else:
            sentences.append(f"{told}: the rates are fair only as far as time grows with that work and nothing else.")
    if whole is not None:
        rate = text(whole["reason"]) if whole["factor"] is None else factor(*(whole[k] for k in FACTOR))
        sentences.append(f"The whole iteration, in {text(measured['work_unit'])}/s: {rate}.")
    return sentences


def _between(whole: dict[str, Any]) -> str:
    """The interval of the part's factor carried through; the share is of one profile and has none."""
    return " (no interval)" if whole["low"] is None else f" ({whole['low']:.2f} to {whole['high']:.2f})"
