"""``tachograph phases``: where the time of a training goes, also of one that is still going on."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tachograph.analysis.evaluation import evaluation_of, network_phases
from tachograph.analysis.phases import arm_row, ceilings, checkpoints_among, table_of
from tachograph.errors import TachographError
from tachograph.evidence.history import History, read_history
from tachograph.evidence.judging import judged
from tachograph.execution.judging import history_spec
from tachograph.models import Trainer
from tachograph.models.study import Projection
from tachograph.record import evaluation as evaluation_page
from tachograph.record import phases as phases_page
from tachograph.study.loading import validate
from tachograph.study.timers import check_timers
from tachograph.tomlfile import read_toml

MOST_FINDINGS = 5  # that are printed
LONGEST = 15  # digits of a number that a float holds exactly


def add_parser(subparsers: Any) -> None:
    """Register ``phases`` with the program's parser."""
    parser = subparsers.add_parser("phases", help="the phases of one history, complete or still growing")
    parser.add_argument("trainer", type=Path, metavar="TRAINER.toml", help="how the history is read")
    parser.add_argument("history", type=Path, metavar="HISTORY", help="what the trainer writes")
    parser.add_argument("--first", type=_iteration, help="first iteration (default: the first one there is)")
    parser.add_argument("--last", type=_iteration, help="last iteration (default: the last one there is)")
    parser.add_argument(
        "--evaluation-every", type=_numbers, default=[], metavar="N,N,…", help="intervals to spread over"
    )
    parser.add_argument("--evaluation-games", type=_numbers, default=[], metavar="N,N,…",
                        help="numbers of games; the first as this history has it, if no column tells")  # fmt: skip
    parser.set_defaults(function=run)


def _iteration(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= LONGEST):
        raise argparse.ArgumentTypeError(f"found {value[:40]!r}, expected the number of an iteration, from 0 on")
    return int(value)


def _numbers(value: str) -> list[int]:
    parts = value.split(",")
    if not all(part.strip().isdecimal() and len(part) <= LONGEST and int(part) >= 1 for part in parts):
        raise argparse.ArgumentTypeError(f"found {value!r}, expected whole numbers from 1 on, with commas between them")
    return [int(part) for part in parts]


def run(arguments: argparse.Namespace) -> int:
    """Print the phase table, the evaluations and what could still be won over a window of one history."""
    if None not in (arguments.first, arguments.last) and arguments.first > arguments.last:
        raise TachographError(f"--first: found {arguments.first}, expected at most --last {arguments.last}")
    if arguments.evaluation_games and not arguments.evaluation_every:
        raise TachographError("--evaluation-games: found no --evaluation-every, expected the intervals to spread over")
    trainer = validate(Trainer, read_toml(arguments.trainer), str(arguments.trainer))
    check_timers(trainer.history, str(arguments.trainer))
    try:
        whole = read_history(arguments.history, history_spec(trainer.history))
    except OSError as error:
        raise TachographError(f"{arguments.history}: cannot be read: {error.strerror}") from None
    history = _window(whole, arguments)
    print(f"{arguments.history}: iterations {history.iteration.min()}–{history.iteration.max()} so far\n")
    _print_findings(whole)
    name = trainer.name
    found: dict[str, Any] = {
        "registration": {"arm_order": [name]},
        "phases": {"arms": {}, "predictions": [], "reason": "the trainer file declares no phase"},
        "evaluation": {"arms": {}},
    }
    if trainer.history.phases:
        table = judged("the phases", lambda: table_of([history], trainer.history.phases, 0))
        known = {} if table.result is None else {name: arm_row(table.result, checkpoints_among([history], 0))}
        found["phases"] = {"arms": known, "predictions": [], "reason": table.reason}
    found["ceilings"] = ceilings({"arms": {}, "rows": []}, found["phases"])
    declared = trainer.history.evaluation
    if declared is not None:
        spread = Projection(evaluation_every=arguments.evaluation_every, evaluation_games=arguments.evaluation_games)
        network = network_phases(trainer.history)
        one = judged("the evaluations", lambda: evaluation_of([history], declared, 0, spread, network))
        found["evaluation"]["arms"][name] = {"reason": one.reason} if one.result is None else one.result
    elif arguments.evaluation_every or arguments.evaluation_games:
        raise TachographError(
            f"{arguments.trainer}: history.evaluation: the key is missing, expected it for --evaluation-every"
        )
    parts = (phases_page.phases(found, "the iterations of this window"), evaluation_page.evaluation(found))
    print("\n\n".join(part for part in parts if part))
    return 0


def _print_findings(history: History) -> None:
    """What is odd about the file, the first of it; a torn last line is what a training under way looks like."""
    for one in history.findings[:MOST_FINDINGS]:
        print(f"- {one.sentence}")
    if len(history.findings) > MOST_FINDINGS:
        print(f"- and {len(history.findings) - MOST_FINDINGS} more")
    if history.findings:
        print()


def _window(history: History, arguments: argparse.Namespace) -> History:
    path = arguments.history
    if not len(history):
        raise TachographError(f"{path}: no iteration yet")
    first = int(history.iteration.min()) if arguments.first is None else arguments.first
    last = int(history.iteration.max()) if arguments.last is None else arguments.last
    found = history.between(first, last)
    if not len(found):
        have = f"{history.iteration.min()} to {history.iteration.max()}"
        raise TachographError(f"{path}: found no iteration from {first} to {last}, expected some of {have}")
    return found
