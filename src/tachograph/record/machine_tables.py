"""The tables of a machine study's page: right, repeats, workarounds, reference, self-test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tachograph.record.markdown import NOT_SHOWN, bold, code, table, text
from tachograph.wording import counted

Record = dict[str, Any]
Row = Mapping[str, Any]
REPEATS = "machine repeats"  # the preflight's name of a check of repeatability


def correctness(record: Record) -> str:
    """One line per cell: errors against float64, and how much of the allowed error was used."""
    rows = [
        [
            code(row["cell"]),
            code(row["of"]),
            bold(row["verdict"]),
            _or_dash(row["nonfinite"], str),
            _or_dash(row["wrong"], lambda value: f"{value:,}"),
            _or_dash(row["relative"], lambda value: f"{value:.3e}"),
            _or_dash(row["frobenius"], lambda value: f"{value:.3e}"),
            _or_dash(row["share_of_bound"], lambda value: f"{value:.3f}"),
            "; ".join([*map(text, row["reasons"]), *([f"kernel {code(row['kernel'])}"] if row["kernel"] else [])]),
        ]
        for row in record["rows"]["correctness"]
    ]
    if not rows:
        return "No cell is registered."
    headers = ["cell", "of", "verdict", "not finite", "wrong elements", "relative error", "Frobenius error",
               "share of the bound", "found"]  # fmt: skip
    about = (
        "Against a float64 reference of the inputs as rounded to the tested format, computed by two routes that agree "
        "and repeat; else nothing is compared. Relative error: largest error over largest magnitude. Frobenius "
        "error: of all elements together, ‖C − R‖/‖R‖, which a product is held to as well. Share of the "
        "bound: the largest error over what rounding can explain, element by element, above 1 an element is wrong; of "
        "a result without such a bound (networks, layers, optimisers), its root mean square error over what that of "
        "its baseline allows, the same computation in the same format by other code. – where a cell has no such "
        "number: a product of whole numbers has to be equal, and of training steps losses and parameters have to be "
        "finite and every parameter has to change."
    )
    parts = [about, _by_arm(record, "correctness"), table(headers, rows, right=(3, 4, 5, 6, 7))]
    return "\n\n".join([*parts, *_network_errors(record["rows"]["correctness"])])


def _network_errors(rows: Sequence[Row]) -> list[str]:
    """What document 003 prints of a network: the largest error of its outputs, and that of its gradients, apart."""
    found = [
        [
            code(row["cell"]),
            f"{row['logit_error']:.3e}",
            _or_dash(row["gradient_error"], lambda value: f"{value:.3e}"),
        ]
        for row in rows
        if row["logit_error"] is not None
    ]
    if not found:
        return []
    headers = ["network", "logits and value", "gradients"]
    return ["Largest absolute error of a network's outputs and of its gradients:", table(headers, found, right=(1, 2))]


def repeats(record: Record) -> str:
    """One line per operation, backend and thread count."""
    rows = [
        [
            code(row["cell"]),
            code(row["of"]),
            text(row["operation"]),
            text(row["backend"]),
            _threads(row),
            f"{row['calls']:,}",
            str(row["distinct_results"]),
            _or_dash(row["differing_rate_upper_bound"], lambda value: f"≤ {value:.1%}"),
            _or_dash(row["wrong_calls"], str),
            bold(row["verdict"]),
        ]
        for row in record["rows"]["repeatability"]
    ]
    if not rows:
        return "No cell was measured."
    headers = ["cell", "of", "operation", "backend", "threads", "calls", "different results", "not excluded",
               "wrong calls", "verdict"]  # fmt: skip
    about = (
        "SHA-256 of the raw output over repeats, thread counts and processes, each time of the same input. Calls: of "
        "all processes together. “Not excluded” is the 95 % upper bound 3/n on the rate of calls that differ, where "
        "none did. Different thread counts may give different bytes: they sum in another order. Wrong calls: those "
        "beyond the bound on rounding; – where no bound is known."
    )
    parts = [about, _by_arm(record, "repeatability"), table(headers, rows, right=(4, 5, 6, 7, 8))]
    return "\n\n".join([*parts, *_over_threads(record["rows"]["repeatability"])])


def _over_threads(rows: Sequence[Row]) -> list[str]:
    """Where a result depends on the number of threads, it may be compared only at the same number."""
    alike = {row["cell"]: row["alike_over_threads"] for row in rows if row["alike_over_threads"] is not None}
    same = [code(cell) for cell, found in alike.items() if found]
    other = [code(cell) for cell, found in alike.items() if not found]
    said = [f"The same bytes at all their thread counts: {', '.join(same)}."] if same else []
    said += [f"Other bytes at other thread counts: {', '.join(other)}."] if other else []
    return [" ".join(said)] if said else []


def _by_arm(record: Record, name: str) -> str:
    """How many cells the rows of a table are about, and in which environments these ran."""
    cells = {row["cell"]: row["arm"] for row in record["rows"][name]}
    arms = [f"{count} in {code(arm)}" for arm, count in Counter(cells.values()).items()]
    return f"{counted(len(record['rows'][name]), 'row')} of {counted(len(cells), 'cell')}: {', '.join(arms)}."


def _threads(row: Row) -> str:
    if row["threads"] is None:
        return "device"
    return f"{row['threads']}{' (more than processors)' if row.get('oversubscribed') else ''}"


def environments(record: Record) -> str:
    """Each cell that ran in several arms: crash or not, right or not."""
    by_cell: dict[str, dict[str, str]] = {}
    for row in record["rows"]["workarounds"]:
        how = row["signal"] or ("" if row["outcome"] == "done" else row["outcome"])
        by_cell.setdefault(row["cell"], {})[row["arm"]] = f"{row['verdict']}{f' ({how})' if how else ''}"
    if not by_cell:
        return "One environment is registered, so no workaround was compared."
    norm = record["registration"]["norm"]
    arms = [norm, *(arm for arm in record["registration"]["arms"] if arm != norm)]
    rows = [[code(cell), *(text(found.get(arm, NOT_SHOWN)) for arm in arms)] for cell, found in by_cell.items()]
    return table(["cell", *map(code, arms)], rows)


def right_for(record: Record) -> str:
    """What a result of this machine may be compared with: the cells that say so, and how much they show."""
    checks = record["preflight"]["checks"]
    if not checks:
        return "No cell asks for it."
    against = [check for check in checks if check["verdict"] != "PASS"]
    repeating = [check for check in checks if check["check"] == REPEATS and check["verdict"] == "PASS"]
    right = [check for check in checks if check["check"] != REPEATS and check["verdict"] == "PASS"]
    parts = [
        f"{counted(len(checks), 'cell was', 'cells were')} asked: {counted(len(right), 'is', 'are')} right, "
        f"{counted(len(repeating), 'repeats', 'repeat')}, {counted(len(against), 'shows', 'show')} neither."
    ]
    if against:
        parts.append("Nothing may be compared with a result of this machine that uses these:")
        parts.append("\n".join(_check(check, f"**{check['verdict']}**: ") for check in against))
    if repeating:
        parts.append("These gave the same bytes, as far as n calls show it (95 % upper bound 3/n):")
        parts.append("\n".join(_check(check) for check in repeating))
    parts.append(
        "A result that was found right was looked at once: how rarely it may be wrong, only repeats show. Nothing is "
        f"shown of other operations, shapes, formats and numbers of threads.{_not_asked(record['not_asked'])}"
    )
    return "\n\n".join(parts)


def _check(check: Row, verdict: str = "") -> str:
    return f"- {code(check['arm'])}: {verdict}{text(check['detail'])}"


def _not_asked(operations: Mapping[str, list[str]]) -> str:
    left = [f"{kind} of {', '.join(map(text, names))}" for kind, names in operations.items() if names]
    return f" Known to the checker and not asked: {'; '.join(left)}." if left else ""


def selftest(record: Record) -> str:
    """The detection power that the check had on this day."""
    section = record["selftest"]
    if not section["registered"]:
        return "No fault was planted."
    rows = [
        [
            text(row["fault"]),
            f"{row['caught']} of {row['planted']}" if row["planted"] else "not planted",
            text(row["must"]),
            _or_dash(row["verdict"], bold),
            text(row["about"] or ""),
            text("; ".join([*row["by"], *row["missed"]])),
        ]
        for row in section["rows"]
    ]
    about = (
        "Faults planted on purpose, through the same workflow as every other cell. What the last column quotes was "
        "provoked and says nothing of this machine. Of a fault that was not planted, the power to detect it is not "
        "shown."
    )
    headers = ["fault", "caught", "must end as", "verdict", "what is planted", "said by the planted cells"]
    return f"{about}\n\n{table(headers, rows)}"


def _or_dash(value: Any, show: Callable[[Any], str]) -> str:
    return NOT_SHOWN if value is None else show(value)
