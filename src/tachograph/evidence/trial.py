"""A candidate file: what a trainer's candidate command measured, base and candidate interleaved on real batches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tachograph.errors import TachographError
from tachograph.wording import counted

SCHEMA = "candidate/1"
SIDES = ("base", "candidate")
MIN_PAIRS = 2  # of fewer there is no interval


class TrialError(TachographError):
    """A candidate file that does not say what it must say."""


@dataclass(frozen=True)
class Trial:
    """One candidate against its base, both on the same batches.

    ``part``: what was timed, named as in the stage profile; ``unit``: of the work, per second a rate.
    ``seconds`` and ``work``: for either side one value per pair. ``nonfinite_steps``: of ``steps`` batches those in
    which a row of the side's output was not finite. ``cold_seconds``, ``warm_seconds``: what the candidate costs
    once, without and with its caches; None where it costs nothing. ``parity``: a ``parity/1`` document of arms base
    and candidate; None where the outputs cannot be compared, ``no_parity`` then says why in the trainer's words.
    """

    part: str
    unit: str
    seconds: Mapping[str, tuple[float, ...]]
    work: Mapping[str, tuple[float, ...]]
    steps: int
    nonfinite_steps: Mapping[str, int]
    cold_seconds: float | None
    warm_seconds: float | None
    parity: Mapping[str, Any] | None
    no_parity: str | None

    def rates(self, side: str) -> tuple[float, ...]:
        """Work per second, pair by pair."""
        return tuple(w / s for w, s in zip(self.work[side], self.seconds[side], strict=True))

    def step_seconds(self, side: str) -> float:
        """Mean seconds of a batch."""
        return sum(self.seconds[side]) / self.steps


def parse_trial(data: Any, source: str) -> Trial | str:
    """The content of a candidate file, or why the candidate cannot run on this device, in the trainer's words.

    Raises :class:`TrialError` for another schema, missing keys, numbers that cannot be, or fewer than two pairs.
    """
    if not isinstance(data, dict):
        raise TrialError(f"{source}: found no JSON object, expected one with schema {SCHEMA!r}")
    if data.get("schema") != SCHEMA:
        raise TrialError(f"{source}: schema is {data.get('schema')!r}, expected {SCHEMA!r}")
    try:
        if data["available"] is False:
            return _text(data["reason"], "reason")
        if data["available"] is not True:
            raise ValueError(f"available is {data['available']!r}, expected true or false")
        pairs = data["pairs"]
        if len(pairs) < MIN_PAIRS:
            raise ValueError(f"{counted(len(pairs), 'pair')}, expected at least {MIN_PAIRS}")
        steps = _whole(data["steps"], "steps", 1)
        parity = data["parity"]
        return Trial(
            part=_text(data["part"], "part"),
            unit=_text(data["unit"], "unit"),
            seconds={side: tuple(_positive(pair[side]["seconds"], "seconds") for pair in pairs) for side in SIDES},
            work={side: tuple(_positive(pair[side]["work"], "work") for pair in pairs) for side in SIDES},
            steps=steps,
            nonfinite_steps={side: _bad(data["nonfinite_steps"][side], steps) for side in SIDES},
            cold_seconds=_cost(data["one_off"], "cold_seconds"),
            warm_seconds=_cost(data["one_off"], "warm_seconds"),
            parity=parity,
            no_parity=None if parity is not None else _text(data["no_parity"], "no_parity"),
        )
    except KeyError as error:
        raise TrialError(f"{source}: {error} is missing") from None
    except (TypeError, ValueError) as error:
        raise TrialError(f"{source}: {error}") from None


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r}, expected words")
    return value


def _positive(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{name} is {value!r}, expected a positive number")
    return float(value)


def _whole(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} is {value!r}, expected a whole number of at least {least}")
    return value


def _bad(value: Any, steps: int) -> int:
    found = _whole(value, "nonfinite_steps", 0)
    if found > steps:
        raise ValueError(f"nonfinite_steps is {found}, expected at most the {counted(steps, 'step')}")
    return found


def _cost(one_off: Any, name: str) -> float | None:
    value = None if one_off is None else one_off.get(name)
    return None if value is None else _positive(value, name)
