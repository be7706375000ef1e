"""Small histories and profiles for the tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tachograph.evidence.history import Counter, History, HistorySpec, read_history
from tachograph.evidence.profile import Profile, parse_profile


def history(tmp_path: Path, rows: Sequence[Mapping[str, Any]], **spec: Any) -> History:
    """Write rows of iteration ("it"), duration ("d"), work ("w") and whatever else, and read them back."""
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings: dict[str, Any] = {
        "work": Counter("w"),
        "work_unit": "steps",
        "durations": {"iteration": Counter("d")},
        "iteration": "it",
    }
    return read_history(path, HistorySpec(**{**settings, **spec}))


def rows(durations: Sequence[float], work: float = 1000, **more: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows of the given durations from iteration 1; further columns by keyword."""
    return [
        {"it": i + 1, "d": d, "w": work, **{name: values[i] for name, values in more.items()}}
        for i, d in enumerate(durations)
    ]


# Document 000: milliseconds per step over 202 steps of 1,024 transitions: reference, fast, group.
DOCUMENT_000 = {
    "move network forward": (215.27, 87.60, "network"),
    "sampling": (2.79, 2.83, "loop"),
    "env.observe": (1.53, 1.82, "environment"),
    "env.observe copy": (0.92, 1.05, "environment"),
    "env.legal_mask": (0.78, 0.99, "environment"),
    "env.legal_mask copy": (0.31, 0.34, "environment"),
    "observation store": (0.30, 0.31, "loop"),
    "log-probability, value and acting bookkeeping": (0.27, 0.32, "loop"),
    "env.step": (0.66, 0.82, "environment"),
    "env.step copies": (0.22, 0.28, "environment"),
    "finished-game bookkeeping": (0.87, 1.30, "loop"),
    "python remainder": (0.97, 1.03, "loop"),
}


def profile_data(stages: Mapping[str, tuple[float, str]], steps: int = 202, **more: Any) -> dict[str, Any]:
    """The content of a profile file from milliseconds per step and group of each stage."""
    data = {
        "schema": "profile/1",
        "unit": "transitions",
        "work_per_step": 1024,
        "steps": steps,
        "synchronized": True,
        "total_seconds": sum(ms for ms, _ in stages.values()) * steps / 1e3,
        "stages": [
            {"name": name, "seconds": ms * steps / 1e3, "calls": steps, "parent": None, "group": group}
            for name, (ms, group) in stages.items()
        ],
    }
    return {**data, **more}


def profile(stages: Mapping[str, tuple[float, str]], steps: int = 202, **more: Any) -> Profile:
    return parse_profile(profile_data(stages, steps, **more), "profile.json")


def document_000(arm: int, **more: Any) -> Profile:
    """The profile of document 000's reference (0) or fast (1) arm."""
    return profile({name: (row[arm], row[2]) for name, row in DOCUMENT_000.items()}, **more)
