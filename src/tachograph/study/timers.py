"""Whether the timers that a trainer file declares can be told apart and lie inside of each other as it says.

Asked before anything runs, and not of the files in a record: an older one stays readable.
"""

from __future__ import annotations

from tachograph.errors import TachographError
from tachograph.models.sentences import meant
from tachograph.models.trainer import HistoryFile, inside_itself


def check_timers(history: HistoryFile, file: str) -> None:
    """Raise TachographError naming ``file`` and key for a name with two columns, and for a parent that is none."""
    _check_names(history, file)
    names = [phase.name for phase in history.phases]
    parents = {phase.name: phase.parent for phase in history.phases}
    for index, phase in enumerate(history.phases):
        place = f"{file}: history.phases[{index}]"
        if names.count(phase.name) > 1:
            raise TachographError(f"{place}.name: found {phase.name!r} twice, expected names that differ")
        if phase.parent is not None and (phase.parent not in names or inside_itself(phase.name, parents)):
            others = [name for name in names if name not in (phase.name, phase.parent)]
            raise TachographError(
                f"{place}.parent: found {phase.parent!r}, expected a phase that contains {phase.name!r} "
                f"and is no part of it: {', '.join(others) or 'none'}{meant(phase.parent, others)}"
            )


def _check_names(history: HistoryFile, file: str) -> None:
    """A phase may be the stage or the whole iteration, by whose names their seconds are kept, and nothing else so."""
    whole, stage = (history.iteration_seconds, history.iteration_start), (history.stage.column, history.stage.start)
    if history.stage.name == "iteration" and stage != whole:
        raise TachographError(
            f"{file}: history.stage.name: found 'iteration' for another column, expected another name"
        )
    known = {"iteration": whole, history.stage.name: stage}
    for index, phase in enumerate(history.phases):
        if (phase.column, phase.start) != known.get(phase.name, (phase.column, phase.start)):
            raise TachographError(
                f"{file}: history.phases[{index}].name: found {phase.name!r} for {_told(phase.column, phase.start)}, "
                f"but it names {_told(*known[phase.name])} already; expected another name"
            )


def _told(column: str, start: str | None) -> str:
    return f"the column {column!r}" if start is None else f"the columns {start!r} to {column!r}"
