"""The command line: ``python -m armies COMMAND``. Bad input is one sentence and exit code 2.

torch is imported by the commands, after :func:`armies.paths.prepare_environment`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from armies.errors import ArmiesError, NonFiniteTrainingError
from armies.files import check_writable, write_json
from armies.paths import (
    VARIABLE,
    CollectPath,
    allow_experimental_attention,
    path_from_environment,
    path_named,
    prepare_environment,
)
from armies.presets import PRESETS, preset_named

EXIT_BAD_INPUT = 2
EXIT_NOT_FINITE = 3
LARGEST_SEED = 2**63 - 1  # what every generator that is seeded with it takes


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence, without the usage."""
        self.exit(EXIT_BAD_INPUT, f"armies: error: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        command: Callable[[argparse.Namespace], None] = options.command
        command(options)
    except (ArmiesError, OSError) as error:  # an OSError says what the system refused, a full disk say
        print(f"armies: error: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except NonFiniteTrainingError as error:
        print(f"armies: error: {error}", file=sys.stderr)
        return EXIT_NOT_FINITE
    return 0


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="armies", description="Self-play training of the game of armies.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    train = _command(commands, "train", _train, "train from scratch or go on with --resume")
    train.add_argument("--iterations", type=_positive, required=True, help="iterations in all")
    train.add_argument("--out", type=_path_argument, required=True, help="folder of history.jsonl and checkpoint.pt")
    train.add_argument("--resume", action="store_true", help="continue the training in --out")
    _device_options(train, path=True)

    profile = _command(commands, "profile", _profile, "time the stages of a collection step")
    profile.add_argument("--steps", type=_positive, default=202, help="plies of every game (default: 202)")
    profile.add_argument("--out", type=_path_argument, required=True, help="file to write (JSON)")
    _device_options(profile, path=True)

    engine = _command(commands, "engine", _engine, "time the engine alone")
    engine.add_argument("--out", type=_path_argument, required=True, help="file to write (JSON)")

    parity = _command(commands, "parity", _parity, "compare all paths on frozen batches with float64")
    parity.add_argument("--batches", type=_positive, default=20, help="batches of positions (default: 20)")
    parity.add_argument("--out", type=_path_argument, required=True, help="file to write (JSON)")
    parity.add_argument("--paths", help="joined by commas (default: all paths and the steps between them)")
    parity.add_argument("--checkpoint", type=_path_argument, help="weights to compare with (default: fresh ones)")
    _device_options(parity, path=False)

    candidate = _command(commands, "candidate", _candidate, "measure a candidate against a path, on real batches")
    candidate.add_argument("--name", required=True, help="which one; a wrong name lists them")
    candidate.add_argument("--steps", type=_positive, default=202, help="batches (default: 202)")
    candidate.add_argument("--pairs", type=_several, default=6, help="parts to take a factor from (default: 6)")
    candidate.add_argument("--out", type=_path_argument, required=True, help="file to write (JSON)")
    _device_options(candidate, path=True)

    evaluate = commands.add_parser("evaluate", help="play a checkpoint against an opponent")
    evaluate.set_defaults(command=_evaluate)
    evaluate.add_argument("--checkpoint", type=_path_argument, required=True)
    evaluate.add_argument("--opponent", required=True, help="random or heuristic")
    evaluate.add_argument("--games", type=_positive, default=400, help="default: 400")
    evaluate.add_argument("--seed", type=_seed, default=0, help="default: 0")

    strength = _command(commands, "strength", _strength, "train with several seeds; table of win rates")
    strength.set_defaults(preset="cpu")
    strength.add_argument("--path", help=f"how to train (default: ${VARIABLE}, then fast)")
    strength.add_argument("--seeds", type=_seed, nargs="+", default=[0, 1, 2], help="default: 0 1 2")
    strength.add_argument("--iterations", type=_positive, nargs="+", default=[60], help="after which (default: 60)")
    strength.add_argument("--games", type=_positive, default=400, help="per number (default: 400)")
    strength.add_argument("--out", type=_path_argument, required=True, help="folder for trainings and strength.json")
    return parser


def _command(
    commands: Any, name: str, function: Callable[[argparse.Namespace], None], help_text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=help_text)
    parser.set_defaults(command=function)
    parser.add_argument("--preset", default="small", help=f"{', '.join(PRESETS)} (default: small)")
    return parser


def _device_options(parser: argparse.ArgumentParser, path: bool) -> None:
    parser.add_argument("--device", default="cpu", help="cpu or cuda:N, on CUDA and ROCm (default: cpu)")
    parser.add_argument("--seed", type=_seed, default=0, help="default: 0")
    if path:
        parser.add_argument("--path", help=f"how to compute (default: ${VARIABLE}, then fast)")


def _whole(text: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        found = text if len(text) <= 40 else text[:40] + "…"
        raise argparse.ArgumentTypeError(f"found {found!r}, expected a whole number from {least} to {most}")
    return number


def _positive(text: str) -> int:
    return _whole(text, 1, 10**9)


def _several(text: str) -> int:
    return _whole(text, 2, 10**9)  # of fewer there is no interval


def _seed(text: str) -> int:
    return _whole(text, 0, LARGEST_SEED)


def _path_argument(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("found an empty name, expected a path")
    return Path(text)


def _path(options: argparse.Namespace) -> CollectPath:
    name = getattr(options, "path", None)
    path = path_from_environment() if name is None else path_named(name)
    prepare_environment(path)
    return path


def _train(options: argparse.Namespace) -> None:
    preset, path = preset_named(options.preset), _path(options)
    from armies.train import train
    from armies.trainer import enough_memory

    def report(row: dict[str, Any]) -> None:
        rate = row["steps"] / row["collection_seconds"]
        print(
            f"iteration {row['iteration']}/{options.iterations}  {row['iteration_seconds']:.2f} s  "
            f"{rate:,.0f} steps/s in collection  kept {row['kept']}  games {row['games_finished']}",
            flush=True,
        )

    out, seed = options.out, options.seed
    with enough_memory(preset, options.device):
        train(preset, path, options.iterations, out, seed, options.device, options.resume, report)


def _profile(options: argparse.Namespace) -> None:
    preset, path = preset_named(options.preset), _path(options)
    if path.plain:
        raise ArmiesError("path plain has no stages to time, expected reference, fast or steps of it")
    check_writable(options.out)
    from armies.profile import profile
    from armies.trainer import enough_memory

    with enough_memory(preset, options.device):
        result = profile(preset, path, options.steps, options.device, options.seed)
    write_json(options.out, result)


def _engine(options: argparse.Namespace) -> None:
    preset = preset_named(options.preset)
    check_writable(options.out)
    import numba

    from armies.engine_alone import engine_alone

    result = engine_alone(preset.board, preset.games, preset.steps, numba.get_num_threads())
    write_json(options.out, {**result, "preset": preset.name})


def _parity(options: argparse.Namespace) -> None:
    preset = preset_named(options.preset)
    prepare_environment(path_named("fast"))
    check_writable(options.out)
    from armies.parity import ARMS, parity

    arms = ARMS if options.paths is None else options.paths.split(",")
    result = parity(preset, options.batches, options.device, options.seed, options.checkpoint, arms)
    write_json(options.out, result)


def _candidate(options: argparse.Namespace) -> None:
    preset, path = preset_named(options.preset), _path(options)
    check_writable(options.out)
    allow_experimental_attention()  # base and candidate each force their kernels, so it changes what there is, no more
    from armies.candidates.trial import measure
    from armies.trainer import enough_memory

    with enough_memory(preset, options.device):
        result = measure(options.name, preset, path, options.steps, options.pairs, options.device, options.seed)
    write_json(options.out, result)


def _evaluate(options: argparse.Namespace) -> None:
    from armies.evaluate import against_opponent, load_player
    from armies.opponents import OPPONENTS
    from armies.trainer import enough_memory

    if options.opponent not in OPPONENTS:
        raise ArmiesError(f"opponent is {options.opponent!r}, expected one of {', '.join(OPPONENTS)}")
    player = load_player(options.checkpoint)
    with enough_memory(player.preset, "cpu"):
        score = against_opponent(player, options.opponent, options.games, options.seed)
    low, high = score.interval()
    print(
        f"against {options.opponent}: {100 * score.rate:.1f} % [{100 * low:.1f}, {100 * high:.1f}] "
        f"(wins {score.wins}, draws {score.draws}, losses {score.losses}; "
        "wins and half of the draws, 95 % interval)"
    )


def _strength(options: argparse.Namespace) -> None:
    preset, path = preset_named(options.preset), _path(options)
    from armies.strength import measure_strength, strength_table

    rows = measure_strength(preset, path, options.seeds, options.iterations, options.games, options.out)
    write_json(options.out / "strength.json", {"schema": "strength/1", "rows": rows})
    print(strength_table(rows))
