"""Rows of a JSON Lines history: damage is refused, a torn last line is tolerated and told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tachograph.evidence.findings import Findings, HistoryError, Kind
from tachograph.evidence.lines import HashedLines
from tachograph.wording import counted

Row = tuple[int, dict[str, Any]]

# What may stand behind the place of the error when a number, a literal or an escape was cut off.
_CUT_TOKEN = re.compile(
    r"\s*(-?\d*\.?\d*([eE][+-]?\d*)?|t(ru?)?|f(a(ls?)?)?|n(ul?)?|N(aN?)?|-?I(n(f(i(n(it?)?)?)?)?)?"
    r"|u[0-9a-fA-F]{0,4})\s*"
)


class _DuplicateKeyError(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKeyError(next(key for key in keys if keys.count(key) > 1))
    return row


_decode = json.JSONDecoder(object_pairs_hook=_unique).decode


def _is_cut_off(raw: bytes, error: ValueError) -> bool:
    """Whether ``raw`` is the beginning of an object, cut off somewhere, rather than damaged."""
    if not raw.lstrip().startswith(b"{"):
        return False
    if isinstance(error, UnicodeDecodeError):
        return error.reason == "unexpected end of data" and error.end == len(raw)
    if not isinstance(error, json.JSONDecodeError):
        return False
    if error.msg.startswith("Unterminated string"):
        return True
    return _CUT_TOKEN.fullmatch(error.doc, error.pos) is not None


def json_rows(lines: HashedLines, path: Path, findings: Findings) -> Iterator[Row]:
    """Yield ``(line number, object)`` of each line.

    Raises :class:`HistoryError`, naming the line, for a line that is not a strict JSON object with unique
    keys. Only the last line may be incomplete: a beginning of an object never parses, so a last line that
    parses and is no object is damage, too.
    """
    broken: tuple[int, bytes, ValueError] | None = None
    for number, raw in lines:
        if broken is not None:
            raise _damaged(path, broken[0], broken[2])
        try:
            row = _decode(raw.decode())
        except _DuplicateKeyError as error:
            raise HistoryError(f"{path}, line {number}: key {str(error)!r} stands twice") from None
        except ValueError as error:
            broken = number, raw, error
            continue
        except RecursionError:
            raise HistoryError(f"{path}, line {number}: nested too deeply; expected a flat object") from None
        if not isinstance(row, dict):
            raise HistoryError(f"{path}, line {number}: found {raw[:40].decode()!r}, expected a JSON object")
        yield number, row
    if broken is not None:
        number, raw, fault = broken
        if not _is_cut_off(raw, fault):
            raise _damaged(path, number, fault)
        sentence = f"line {number} is cut off after {counted(len(raw), 'byte')} and was left out"
        findings.add(Kind.TORN_TAIL, number, sentence)
    elif not lines.complete:
        findings.add(Kind.NO_FINAL_NEWLINE, None, "the last line is complete but not ended by a newline")


def _damaged(path: Path, number: int, error: ValueError) -> HistoryError:
    return HistoryError(f"{path}, line {number}: damaged ({error}); expected a JSON object")
