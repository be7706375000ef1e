"""A history read like evidence: what the trainer wrote, what is wrong with it, what follows per iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.clocks import check_clocks
from tachograph.evidence.columns import Missing, Wanted, collect
from tachograph.evidence.findings import Finding, Findings, HistoryError, Kind
from tachograph.evidence.rawrows import Format, open_rows
from tachograph.evidence.sessions import Segment, per_iteration, split_segments
from tachograph.evidence.sparserows import merged

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Counter:
    """A quantity per iteration: a column, the difference of two columns, or a constant.

    ``cumulative``: the column counts up (work over the whole training, seconds since the session began).
    ``start``: subtract this column (a pair of clock readings). ``scale`` turns the column into seconds or
    into the declared unit of work. ``constant`` is the quantity itself when no column holds it.
    """

    column: str | None = None
    cumulative: bool = False
    start: str | None = None
    scale: float = 1.0
    constant: float | None = None

    def __post_init__(self) -> None:
        if (self.column is None) == (self.constant is None):
            raise ValueError("a counter needs a column or a constant, and not both")
        if self.start is not None and (self.column is None or self.cumulative):
            raise ValueError("a start column goes with a column that is not cumulative")


@dataclass(frozen=True)
class HistorySpec:
    """How to read what a trainer writes.

    ``iteration`` None: the rows are counted from 1. ``durations`` maps a name ("iteration", "collection")
    to its counter of seconds. ``metrics`` are the registered columns of curves, ``zero_work`` columns that
    must never be 0, ``evaluation`` the column that is present and not 0 in iterations with an evaluation,
    ``compile_flag`` the same for (re)compilation, ``checkpoint`` for a checkpoint, ``session`` a number that
    changes when a session begins,
    ``extra`` further columns to keep (timers), ``sparse`` columns that a row may lack.
    ``parallel`` names durations that are sums over what runs at the same time.
    ``aliases`` maps old names to the names used here. ``patterns``: regular expressions whose named groups
    are the columns of a log.
    """

    work: Counter
    work_unit: str
    durations: Mapping[str, Counter]
    format: Format = "jsonl"
    iteration: str | None = "iteration"
    metrics: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    zero_work: tuple[str, ...] = ()
    evaluation: str | None = None
    compile_flag: str | None = None
    checkpoint: str | None = None
    monotonic: str | None = None
    wall: str | None = None
    session: str | None = None
    extra: tuple[str, ...] = ()
    sparse: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    parallel: tuple[str, ...] = ()

    def required(self) -> frozenset[str]:
        """Columns that every row must have."""
        names = [self.iteration, *self.metrics, *self.zero_work, self.monotonic, self.wall, self.session]
        for counter in (self.work, *self.durations.values()):
            names += [counter.column, counter.start]
        return frozenset(name for name in names if name is not None) - set(self.sparse)

    def wanted(self) -> list[Wanted]:
        """Every column that is read, each once."""
        required = self.required()
        flags = [name for name in (self.evaluation, self.compile_flag, self.checkpoint) if name is not None]
        names = dict.fromkeys([*sorted(required), *self.sparse, *flags, *self.extra])
        return [
            Wanted(
                name,
                name in required,
                name in flags,
                tuple(old for old, new in self.aliases.items() if new == name),
            )
            for name in names
        ]


@dataclass(frozen=True)
class History:
    """One history, rows in the order of the file. ``n`` rows.

    ``iteration`` int64[n] · ``line`` int64[n] (from 1; in an event file the record) ·
    ``segment`` int64[n], index into ``segments`` ·
    ``work`` float64[n] in ``spec.work_unit`` · ``durations`` name -> float64[n], seconds ·
    ``columns`` name -> float64[n], NaN where missing · ``missing`` name -> uint8[n] of :class:`Missing` ·
    ``clock_ok`` bool[n], False where a duration cannot be right.
    ``sha256`` and ``size`` are those of the original bytes, a torn tail included.
    """

    spec: HistorySpec
    sha256: str
    size: int
    iteration: NDArray[np.int64]
    line: NDArray[np.int64]
    segment: NDArray[np.int64]
    segments: tuple[Segment, ...]
    work: Floats
    durations: Mapping[str, Floats]
    columns: Mapping[str, Floats]
    missing: Mapping[str, NDArray[np.uint8]]
    clock_ok: NDArray[np.bool_]
    findings: tuple[Finding, ...]
    counts: Mapping[Kind, int]

    def __len__(self) -> int:
        return len(self.iteration)

    @cached_property
    def curve_rows(self) -> NDArray[np.int64]:
        """Row of the last occurrence of each iteration, by iteration: a resumed run is read as it ended."""
        _, from_end = np.unique(self.iteration[::-1], return_index=True)
        return len(self) - 1 - from_end

    @property
    def wasted(self) -> int:
        """Iterations that were executed more than once."""
        return len(self) - len(self.curve_rows)

    @property
    def resumed_first(self) -> NDArray[np.bool_]:
        """bool[n]: the first row of every segment but the first."""
        return np.diff(self.segment, prepend=self.segment[:1]) > 0

    def curve(self, metric: str) -> Floats:
        """Values of a registered column by iteration, shape (unique iterations,), NaN where missing."""
        return self.columns[metric][self.curve_rows]

    def between(self, first: int, last: int) -> History:
        """The rows of iterations ``first`` to ``last``, both included; segments keep their numbers."""
        rows = np.flatnonzero((self.iteration >= first) & (self.iteration <= last))
        return replace(
            self,
            iteration=self.iteration[rows],
            line=self.line[rows],
            segment=self.segment[rows],
            work=self.work[rows],
            durations={name: values[rows] for name, values in self.durations.items()},
            columns={name: values[rows] for name, values in self.columns.items()},
            missing={name: values[rows] for name, values in self.missing.items()},
            clock_ok=self.clock_ok[rows],
        )

    def flagged(self, column: str | None) -> NDArray[np.bool_]:
        """bool[n]: where ``column`` is present and not 0; nowhere for None."""
        return _flagged(self.columns, column, len(self))

    @property
    def is_evaluation(self) -> NDArray[np.bool_]:
        return self.flagged(self.spec.evaluation)

    @property
    def is_compile(self) -> NDArray[np.bool_]:
        return self.flagged(self.spec.compile_flag)

    @property
    def is_checkpoint(self) -> NDArray[np.bool_]:
        return self.flagged(self.spec.checkpoint)


def read_history(path: str | Path, spec: HistorySpec) -> History:
    """Read a history as it was written: nothing is repaired in silence, every finding is told.

    The file is streamed once; memory holds the columns that ``spec`` names, 9 bytes a value.
    Raises :class:`HistoryError`, naming file and line, for a damaged line that is not the torn tail, a key
    that stands twice, an oversized line, a row without a whole-numbered iteration; OSError if unreadable.
    """
    path = Path(path)
    findings = Findings()
    with path.open("rb") as stream:
        source, rows = open_rows(stream, path, spec, findings)
        if spec.format in ("csv", "log"):
            rows = merged(rows, spec.iteration, findings)
        numbers, raw = collect(rows, spec.wanted(), path, findings)
    columns: dict[str, Floats] = {}
    missing: dict[str, NDArray[np.uint8]] = {}
    for name in list(raw):
        columns[name], missing[name] = raw.pop(name).arrays()
    line = np.array(numbers, dtype=np.int64)
    iteration = _iterations(spec.iteration, columns, missing, line, path)
    cumulative = [c.column for c in spec.durations.values() if c.cumulative and c.column is not None]
    resets = [columns[name] for name in cumulative]
    if spec.monotonic is not None:
        resets.append(columns[spec.monotonic])
    session = None if spec.session is None else columns[spec.session]
    segment, segments = split_segments(iteration, resets, session, line, findings)
    work = _quantity(spec.work, columns, iteration, segment, None)
    durations = {
        name: _quantity(counter, columns, iteration, segment, session) for name, counter in spec.durations.items()
    }
    _tell_repeats(iteration, [columns[m] for m in spec.metrics], line, findings)
    _tell_gaps(iteration, findings)
    clock_ok = check_clocks(
        durations,
        line,
        segment,
        columns.get(spec.monotonic or ""),
        columns.get(spec.wall or ""),
        [columns[name] for name in cumulative],
        _said_longer(spec, columns, len(line)),
        spec.parallel,
        findings,
    )
    return History(
        spec=spec,
        sha256=source.sha256,
        size=source.size,
        iteration=iteration,
        line=line,
        segment=segment,
        segments=segments,
        work=work,
        durations=durations,
        columns=columns,
        missing=missing,
        clock_ok=clock_ok,
        findings=findings.finish(),
        counts=findings.counts,
    )


def _iterations(
    name: str | None,
    columns: Mapping[str, Floats],
    missing: Mapping[str, NDArray[np.uint8]],
    line: NDArray[np.int64],
    path: Path,
) -> NDArray[np.int64]:
    if name is None:
        return np.arange(1, len(line) + 1)
    values = columns[name]
    with np.errstate(invalid="ignore"):
        good = (values == np.floor(values)) & (values >= 0) & (values < 2**53)
    if not good.all():
        row = int(np.argmin(good))
        kind = Missing(missing[name][row])
        found = str(values[row]) if kind is Missing.PRESENT else kind.name.lower().replace("_", " ")
        raise HistoryError(f"{path}, line {line[row]}: iteration column {name!r} is {found}, expected a whole number")
    return values.astype(np.int64)


def _quantity(
    counter: Counter,
    columns: Mapping[str, Floats],
    iteration: NDArray[np.int64],
    segment: NDArray[np.int64],
    session: Floats | None,
) -> Floats:
    if counter.column is None:
        return np.full(len(iteration), counter.constant, dtype=np.float64)
    values = columns[counter.column]
    if counter.start is not None:
        values = values - columns[counter.start]
    elif counter.cumulative:
        values = per_iteration(values, iteration, segment, session)
    return values * counter.scale


def _flagged(columns: Mapping[str, Floats], column: str | None, n: int) -> NDArray[np.bool_]:
    if column is None:
        return np.zeros(n, dtype=bool)
    flagged: NDArray[np.bool_] = np.nan_to_num(columns[column]) != 0
    return flagged


def _said_longer(spec: HistorySpec, columns: Mapping[str, Floats], n: int) -> NDArray[np.bool_]:
    """bool[n]: rows that hold an evaluation, a compilation or a checkpoint."""
    flags = [_flagged(columns, name, n) for name in (spec.evaluation, spec.compile_flag, spec.checkpoint)]
    return np.logical_or.reduce(flags)


def _tell_repeats(
    iteration: NDArray[np.int64], metrics: list[Floats], line: NDArray[np.int64], findings: Findings
) -> None:
    if (np.diff(iteration) > 0).all():
        return
    seen: dict[int, int] = {}
    for row, number in enumerate(iteration.tolist()):
        before = seen.get(number)
        seen[number] = row
        if before is None:
            continue
        findings.add(Kind.REPEATED, int(line[row]), f"iteration {number} stands again in line {line[row]}")
        if any(not _same(values[before], values[row]) for values in metrics):
            sentence = f"iteration {number} has other metrics in line {line[row]} than in line {line[before]}"
            findings.add(Kind.CONFLICT, int(line[row]), sentence)


def _same(a: float, b: float) -> bool:
    return bool(a == b or (np.isnan(a) and np.isnan(b)))


def _tell_gaps(iteration: NDArray[np.int64], findings: Findings) -> None:
    unique = np.unique(iteration)
    for place in np.flatnonzero(np.diff(unique) > 1):
        first, last = int(unique[place]) + 1, int(unique[place + 1]) - 1
        span = f"iteration {first} is" if first == last else f"iterations {first} to {last} are"
        findings.add(Kind.MISSING, None, f"{span} missing", last - first + 1)
