"""Curves of the runs of two arms, aligned: what every curve test works on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.errors import TachographError
from tachograph.wording import counted

Floats = NDArray[np.float64]


class CurveError(TachographError):
    """Curves that cannot be compared; the sentence says which run and why."""


@dataclass(frozen=True)
class RunCurve:
    """One counted run: ``iteration`` int64[n], ``values`` metric -> float64[n]; ``seed`` pairs the arms."""

    run: str
    seed: int | None
    iteration: NDArray[np.int64]
    values: Mapping[str, Floats]


@dataclass(frozen=True)
class Curves:
    """``reference`` float64[k, J, I] and ``fast`` float64[m, J, I] of J ``metrics`` at I ``iteration``s.

    ``paired``: run r of both arms has the same seed (then k = m). Every value is finite, but for sparse
    metrics: those are NaN in all runs where any run lacks them, and tests leave these places out.
    """

    metrics: tuple[str, ...]
    iteration: NDArray[np.int64]
    reference: Floats
    fast: Floats
    paired: bool

    @property
    def k(self) -> int:
        return len(self.reference)

    @property
    def m(self) -> int:
        return len(self.fast)

    def present(self, metric: str) -> NDArray[np.bool_]:
        """bool[I]: the iterations in which ``metric`` has a value, all of them unless it is sparse."""
        return np.isfinite(self.reference[0, self.metrics.index(metric)])

    def evaluated(self) -> dict[str, list[int]]:
        """The iterations that a metric has values in, for every metric that some iteration lacks."""
        places = {metric: self.present(metric) for metric in self.metrics}
        return {metric: self.iteration[there].tolist() for metric, there in places.items() if not there.all()}


@dataclass(frozen=True)
class Window:
    """Iterations ``first`` to ``last``, both inclusive, registered under a name."""

    name: str
    first: int
    last: int


def align(
    reference: Sequence[RunCurve],
    fast: Sequence[RunCurve],
    metrics: Sequence[str],
    paired: bool = False,
    sparse: Sequence[str] = (),
) -> Curves:
    """Stack the runs of both arms over the iterations they share; no value is smoothed or filled in.

    ``sparse`` metrics may be missing in some iterations (an evaluation, a mean over nothing); only
    iterations in which every run has them count.
    ``paired`` asks for run r of both arms to share its seed; runs are then sorted by seed.
    Raises :class:`CurveError` for an arm without runs, unequal numbers of rows, different iterations, a
    value that is not finite, an absent metric, or seeds that do not pair.
    """
    runs = [*reference, *fast]
    if not reference or not fast or not metrics:
        raise CurveError(
            f"{len(reference)} reference and {counted(len(fast), 'fast run')} with {counted(len(metrics), 'metric')}: "
            "nothing to compare"
        )
    first = runs[0]
    for run in runs:
        if len(run.iteration) != len(first.iteration):
            raise CurveError(
                f"{run.run} has {counted(len(run.iteration), 'row')}, {first.run} has {len(first.iteration)}; "
                "expected equal numbers"
            )
        if not np.array_equal(run.iteration, first.iteration):
            raise CurveError(f"{run.run} and {first.run} hold different iterations")
        for metric in metrics:
            if metric not in run.values:
                raise CurveError(f"{run.run} has no metric {metric!r}")
            if metric not in sparse and not np.isfinite(run.values[metric]).all():
                raise CurveError(f"{run.run}: {metric!r} is not finite in every row")
    if paired:
        reference, fast = _by_seed(reference), _by_seed(fast)
        if [run.seed for run in reference] != [run.seed for run in fast]:
            raise CurveError("the arms do not hold the same seeds, so their runs are not paired")
    stacked = _stack([*reference, *fast], metrics)
    shared: NDArray[np.bool_] = np.all(np.isfinite(stacked), axis=0)
    for metric, here in zip(metrics, shared, strict=True):
        if not here.any():
            raise CurveError(f"{metric!r} is in no iteration of every run")
    stacked[:, ~shared] = np.nan
    k = len(reference)
    return Curves(tuple(metrics), first.iteration, stacked[:k], stacked[k:], paired)


def _by_seed(runs: Sequence[RunCurve]) -> list[RunCurve]:
    seeds = [run.seed for run in runs]
    if None in seeds or len(set(seeds)) != len(seeds):
        raise CurveError(f"paired runs need distinct seeds, found {seeds}")
    return sorted(runs, key=lambda run: run.seed or 0)


def _stack(runs: Sequence[RunCurve], metrics: Sequence[str]) -> Floats:
    return np.array([[run.values[metric] for metric in metrics] for run in runs], dtype=np.float64)


def identical(curves: Curves) -> bool:
    """Tier 0: every pair of runs with the same seed is byte-identical in the registered columns."""
    return curves.paired and curves.reference.tobytes() == curves.fast.tobytes()


def seed_correlation(curves: Curves) -> dict[str, float | None]:
    """Correlation over seeds of the run means of both arms, by metric; None below three pairs or without spread.

    Relabelling paired runs is conservative where it is positive, and pairing gains where it is large.
    """
    found: dict[str, float | None] = {}
    for row, metric in enumerate(curves.metrics):
        means = [np.nanmean(arm[:, row], axis=1) for arm in (curves.reference, curves.fast)]
        usable = curves.paired and curves.k >= 3 and all(np.ptp(values) > 0 for values in means)
        found[metric] = float(np.corrcoef(*means)[0, 1]) if usable else None
    return found


def default_windows(iteration: NDArray[np.int64]) -> list[Window]:
    """Early, mid and late thirds; fewer windows where there are fewer than three iterations."""
    names = ("early", "mid", "late")
    parts = [part for part in np.array_split(iteration, 3) if len(part)]
    return [Window(name, int(p[0]), int(p[-1])) for name, p in zip(names, parts, strict=False)]


@dataclass(frozen=True)
class Repeatability:
    """The reference run twice with the same seed, against two seeds of it.

    ``repeat_max`` max |Δ| of the two equal runs per metric; ``seed_max`` the same between two seeds, None
    without a second seed. ``usable``: repeats are closer than seeds, so same-seed runs may be paired.
    """

    repeat_max: Mapping[str, float]
    seed_max: Mapping[str, float] | None
    usable: bool


def repeatability(
    first: RunCurve,
    second: RunCurve,
    other_seeds: Sequence[RunCurve],
    metrics: Sequence[str],
    sparse: Sequence[str] = (),
) -> Repeatability:
    """Compare two runs of the reference with the same seed (A/A), and with runs of other seeds.

    Pairing is disabled where the repeat differs as much as two seeds in any metric, and, lacking other
    seeds, where it is not exact. Raises :class:`CurveError` as :func:`align` does.
    """
    both = align([first], [second], metrics, sparse=sparse)
    repeat = np.nanmax(np.abs(both.reference[0] - both.fast[0]), axis=1)
    if not other_seeds:
        return Repeatability(dict(zip(metrics, repeat.tolist(), strict=True)), None, bool((repeat == 0).all()))
    seeds = align([first], other_seeds, metrics, sparse=sparse)
    between = np.nanmax(np.abs(seeds.fast - seeds.reference), axis=(0, 2))
    return Repeatability(
        dict(zip(metrics, repeat.tolist(), strict=True)),
        dict(zip(metrics, between.tolist(), strict=True)),
        bool(((repeat < between) | (repeat == 0)).all()),
    )
