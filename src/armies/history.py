"""The history file of a training, where a resumed training takes it up."""

from __future__ import annotations

import json
import os
from pathlib import Path

from armies.errors import ArmiesError
from armies.files import part_of

HISTORY = "history.jsonl"


def drop_iterations_after(path: Path, iteration: int) -> None:
    """Keep the rows up to ``iteration``, whose state the checkpoint holds; the rest is computed again.

    A training that was killed between its row and its checkpoint has one row more, perhaps cut short.
    """
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise ArmiesError(f"{path} cannot be read: {error.strerror}") from None
    kept = []
    for number, line in enumerate(lines[:iteration], start=1):
        try:
            found = json.loads(line)["iteration"]
        except (ValueError, KeyError, TypeError):
            found = "no iteration"
        if found != number or not line.endswith(b"\n"):
            raise ArmiesError(f"{path}, line {number}: found {found}, expected iteration {number}")
        kept.append(line)
    if len(kept) < iteration:
        raise ArmiesError(f"{path} ends at iteration {len(kept)}, expected {iteration} as in the checkpoint")
    if len(lines) > iteration:
        part_of(path).write_bytes(b"".join(kept))
        os.replace(part_of(path), path)
