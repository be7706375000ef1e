"""Reading the histories of trainings in tests."""

import json
from pathlib import Path

TIMES = ("collection_seconds", "move_update_seconds", "setup_update_seconds", "iteration_seconds")


def history_without_times(folder: Path) -> list[dict]:
    """All rows of a training's history, without what may differ between two equal runs."""
    rows = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    for row in rows:
        for key in (*TIMES, "monotonic", "wall"):
            del row[key]
    return rows
