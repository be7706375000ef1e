"""Evaluations of one kind: as many games against the same subjects. A light one and a full one are never averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.history import History
from tachograph.models.trainer import Evaluation

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Kind:
    """``games``: subject -> games of one evaluation, None where no column says how many."""

    games: tuple[tuple[str, int | None], ...]

    @property
    def size(self) -> int | None:
        """The most games against one subject; None if unknown."""
        return max((number for _, number in self.games if number is not None), default=None)


def by_kind(history: History, declared: Evaluation, rows: Rows) -> dict[Kind, Rows]:
    """The evaluation ``rows``, shape (n,), of a history by what was evaluated in them."""
    found: dict[Kind, list[int]] = {}
    for row in rows.tolist():
        found.setdefault(_kind_of(history, declared, row), []).append(row)
    return {kind: np.array(own, dtype=np.int64) for kind, own in found.items()}


def largest_first(kinds: Sequence[dict[Kind, Rows]]) -> list[Kind]:
    """All kinds of several histories, by games, then by subjects, then by how often they were run."""
    times: dict[Kind, int] = {}
    for one in kinds:
        for kind, rows in one.items():
            times[kind] = times.get(kind, 0) + len(rows)
    return sorted(times, key=lambda kind: (-(kind.size or 0), -len(kind.games), -times[kind]))


def _kind_of(history: History, declared: Evaluation, row: int) -> Kind:
    """A subject takes part where its elapsed time is known and its games, if they are counted, are not 0."""
    taking_part: list[tuple[str, int | None]] = []
    for subject in declared.subjects:
        assert declared.elapsed is not None  # wherever there are subjects
        number = np.nan
        if declared.games is not None:
            number = history.columns[declared.column_of(subject, declared.games)][row]
        if np.isfinite(history.columns[declared.column_of(subject, declared.elapsed)][row]) and number != 0:
            taking_part.append((subject, round(number) if np.isfinite(number) else None))
    return Kind(tuple(taking_part))
