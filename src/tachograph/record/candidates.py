"""The section about candidates: measured and kept, measured and rejected, not run."""

from __future__ import annotations

from typing import Any

from tachograph.evidence.candidates import bad_steps
from tachograph.record.markdown import UNKNOWN, code, factor, number, percent, significant, table, text

Record = dict[str, Any]
ORDER = ("KEPT", "REJECTED", "NO VERDICT", "NOT RUN")
INTRODUCTION = (
    "Ideas that were measured against an arm, base and candidate in turn. A factor is that of what was timed, "
    "candidate over base, with its interval over the pairs. Kept is what is finite, is as near to float64 as its base "
    "(or, where whole runs were compared, was not shown to learn otherwise), and whose interval lies above the least "
    "gain that is worth having: worth an arm of its own, which is more than these pairs can adopt."
)


def candidates(record: Record) -> str:
    """Every registered candidate with its verdict and its figures, those of a rejected one included."""
    found = record["candidates"]
    rows = [_row(one) for verdict in ORDER for one in found if one["verdict"] == verdict]
    headers = [
        "candidate", "verdict", "factor", "of", "worth from", "not finite", "parity or curves", "costs once",
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
        bad_steps(measured["nonfinite_steps"], measured["steps"], measured["step_unit"]).split(" with ")[0],
        text(measured["parity"] if measured["curves"] is None else measured["curves"]),
        "–" if once is None else _once(once),
        "–" if once is None else _break_even(once),
    ]


def _once(once: dict[str, Any]) -> str:
    """Seconds: with the caches that there were, then with filled ones."""
    first = UNKNOWN if once["first"] is None else f"{once['first']:.2f} s"
    return first if once["later"] is None else f"{first}, then {once['later']:.2f} s"


def _break_even(once: dict[str, Any]) -> str:
    if once["break_even"] is None:
        return "never"
    return "at once" if once["break_even"] == 0 else f"{number(once['break_even'])} {text(once['unit'])}"


def _paragraph(one: dict[str, Any]) -> str:
    """What it is, what was found, and where the evidence lies."""
    sentences = [
        f"- **{text(one['name'])}**: {text(one['title'])}. Why: {text(one['why'])}.",
        f"{one['verdict']}: {text(one['sentence'])}.",
        *([] if one["measured"] is None else _figures(one["measured"], one["against"])),
    ]
    if one["evidence"] is not None:
        sentences.append(f"Evidence: {code(one['evidence']['path'])}, SHA-256 {code(one['evidence']['sha256'])}.")
    return " ".join(sentences)


def _figures(measured: dict[str, Any], against: str) -> list[str]:
    """Mean rates, what the outputs or curves were compared with, and what the factor means for a whole step."""
    sentences = []
    rates = [[pair[side] for pair in measured["pairs"]] for side in ("candidate", "base")]
    if all(rates):
        own, base = (significant(sum(values) / len(values)) for values in rates)
        what = f"{text(measured['unit'])} ({text(measured['part'])})"
        sentences.append(f"Mean of {len(rates[0])} pairs: {own} against {base} {what}.")
    checked = measured["parity_sentence"] if measured["curves"] is None else measured["curves_sentence"]
    sentences.append(f"Compared: {text(checked)}.")
    whole = measured["whole"]
    if whole is not None:
        sentences.append(
            f"The part takes {percent(whole['share'])} of a step of {text(against)}, which by Amdahl's law would "
            f"become {whole['factor']:.2f}x as fast."
        )
    return sentences
