"""The command line: ``python -m lost_cities COMMAND``. Bad input is one sentence and exit code 2."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from lost_cities.config import load_config
from lost_cities.errors import (
    LostCitiesError,
    NonFiniteTrainingError,
    WorkerLostError,
    is_memory_error,
    not_enough_memory,
)
from lost_cities.files import check_writable, write_json

RESULT = "file to write as well (JSON), with its folder"
READ_BY = {  # how the keys begin that a command reads
    "train": ("",),
    "forward": ("game.", "network.", "run.device", "run.threads", "run.deterministic"),
    "parity": (
        "game.",
        "network.",
        "run.device",
        "run.use_amp",
        "run.compile",
        "run.deterministic",
        "run.threads",
        "traversal.",
        "memory.advantage_capacity",
        "optimization.advantage",
        "optimization.gradient_clip",
        "optimization.linear_weighting",
    ),
    "engine": ("game.",),
}
EXIT_BAD_INPUT = 2
EXIT_NOT_FINITE = 3
EXIT_WORKER_LOST = 4
EXIT_INTERRUPTED = 130  # what shells use for SIGINT
LARGEST = 2**63 - 1  # what every generator that is seeded with it takes
EXIT_CODES = {
    LostCitiesError: EXIT_BAD_INPUT,
    NonFiniteTrainingError: EXIT_NOT_FINITE,
    WorkerLostError: EXIT_WORKER_LOST,
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence, without the usage."""
        self.exit(EXIT_BAD_INPUT, f"lost_cities: error: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        command: Callable[[argparse.Namespace], None] = options.command
        command(options)
    except tuple(EXIT_CODES) as error:
        return _told(str(error), EXIT_CODES[type(error)])
    except OSError as error:  # it says what the system refused, a full disk say
        where = f"{error.filename}: " if error.filename else ""
        return _told(f"{where}{error.strerror or error}", EXIT_BAD_INPUT)
    except (MemoryError, RuntimeError) as error:
        if not is_memory_error(error):
            raise
        return _told(not_enough_memory(error), EXIT_BAD_INPUT)
    except KeyboardInterrupt:
        return _told("interrupted; with --resume a training goes on from its last checkpoint", EXIT_INTERRUPTED)
    return 0


def _told(sentence: str, code: int) -> int:
    with suppress(OSError):  # closed too: the exit code must do
        print(f"lost_cities: error: {sentence}", file=sys.stderr)
    return code


def _say(text: str) -> None:
    """Print ``text``. :class:`LostCitiesError` if nobody reads it any more, as behind ``| head``."""
    try:
        print(text, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains again when it ends
        raise LostCitiesError(f"standard output cannot be written: {error.strerror}") from None


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="lost_cities", description="Deep CFR training of the game of Lost Cities.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    train = _command(commands, "train", _train, "train from scratch or go on with --resume")
    train.add_argument("--out", type=_path, required=True, help="folder of metrics.jsonl and checkpoint.pt")
    train.add_argument("--seed", type=_seed, default=0, help="default: 0")
    train.add_argument("--resume", action="store_true", help="continue the training in --out")

    forward = _command(commands, "forward", _forward, "time calls of the network at several batch sizes")
    sizes = [1, 4, 16, 64, 256, 1024]
    forward.add_argument("--batch-sizes", type=_sizes, default=sizes, help="default: 1,4,16,64,256,1024")
    forward.add_argument("--warm-up", type=_positive, default=10, help="untimed calls per batch size (default: 10)")
    forward.add_argument("--calls", type=_positive, default=1000, help="timed calls per batch size (default: 1000)")
    forward.add_argument("--out", type=_path, help=RESULT)

    parity = _command(commands, "parity", _parity, "compare ways of inference on frozen batches with float64")
    arms = "reference=single,fast=batched"
    parity.add_argument("--arms", type=_arms, default=arms, help=f"the reference first (default: {arms})")
    parity.add_argument("--batches", type=_positive, default=20, help="of 64 states, per player (default: 20)")
    parity.add_argument("--iterations", type=_positive, default=2, help="of training before (default: 2)")
    parity.add_argument("--seed", type=_seed, default=0, help="default: 0")
    parity.add_argument("--out", type=_path, help=RESULT)

    engine = _command(commands, "engine", _engine, "time the engine alone, CPU time of one thread")
    engine.add_argument("--games", type=_positive, default=2000, help="per repeat (default: 2000)")
    engine.add_argument("--out", type=_path, help=RESULT)

    strength = commands.add_parser("strength", help="strength against each opponent before and after training")
    strength.set_defaults(command=_strength)
    strength.add_argument("--checkpoint", type=_path, required=True, help="checkpoint.pt of a training")
    strength.add_argument("--games", type=_positive, default=400, help="per opponent (default: 400)")
    strength.add_argument("--seed", type=_seed, default=0, help="of the deals (default: 0)")
    strength.add_argument("--out", type=_path, help=RESULT)
    return parser


def _command(
    commands: Any, name: str, function: Callable[[argparse.Namespace], None], help_text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=help_text)
    parser.set_defaults(command=function, read=READ_BY[name])
    parser.add_argument("--config", type=_path, help="YAML file; the defaults without one")
    parser.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="change one key; may be repeated"
    )
    return parser


def _whole(text: str, least: int, most: int) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"found {text[:40]!r}, expected a whole number from {least} to {most}")
    return number


def _seed(text: str) -> int:
    return _whole(text, 0, LARGEST)


def _positive(text: str) -> int:
    return _whole(text, 1, 1_000_000)


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("found an empty name, expected a path")
    return Path(text)


def _sizes(text: str) -> list[int]:
    sizes = [_positive(part) for part in text.split(",")]
    if sizes != sorted(set(sizes)):
        raise argparse.ArgumentTypeError(f"found {text[:40]!r}, expected rising numbers, each once")
    return sizes


def _arms(text: str) -> dict[str, str]:
    arms = dict(part.partition("=")[::2] for part in text.split(","))
    if "" in arms or len(arms) < len(text.split(",")) or not set(arms.values()) <= {"single", "batched"}:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected NAME=single or NAME=batched, each name once")
    return arms


def _train(options: argparse.Namespace) -> None:
    config = load_config(options.config, options.set, options.read)
    from lost_cities.train import train  # torch takes a second to import; bad input is told before it

    done = 0

    def report(row: dict[str, Any]) -> None:
        nonlocal done
        done += 1
        _say(
            f"iteration {row['iteration']}/{config.run.iterations}  {row['iteration_seconds']:.2f} s  "
            f"traversal {row['traversal_seconds']:.2f} s  {row['traversal/nodes_per_second']:,.0f} nodes/s"
        )

    train(config, options.out, options.seed, options.resume, report)
    if not done:
        _say(f"nothing to do: {options.out} holds all {config.run.iterations} iterations of run.iterations already")


def _check_out(options: argparse.Namespace) -> None:
    if options.out:
        check_writable(options.out)


def _write_out(options: argparse.Namespace, result: dict[str, Any]) -> None:
    if options.out:
        write_json(options.out, result)


def _forward(options: argparse.Namespace) -> None:
    config = load_config(options.config, options.set, options.read)
    _check_out(options)
    from lost_cities.forward import forward_sweep

    result = forward_sweep(config, options.batch_sizes, options.warm_up, options.calls)
    _write_out(options, result)
    for row in result["rows"]:
        _say(
            f"batch {row['batch_size']:5d}: {row['microseconds_per_call']:10.1f} us per call "
            f"{row['microseconds_per_state']:9.2f} us per state  {row['speed_up']:6.2f} x"
        )


def _parity(options: argparse.Namespace) -> None:
    config = load_config(options.config, options.set, options.read)
    _check_out(options)
    from lost_cities.parity import parity

    result = parity(config, options.arms, options.batches, options.iterations, options.seed)
    _write_out(options, result)
    for row in result["tensors"]:
        _say(f"{row['arm']}, {row['name']}: RMSE {row['rmse_fp64']:.3g}, largest error {row['max_abs_fp64']:.3g}")


def _engine(options: argparse.Namespace) -> None:
    config = load_config(options.config, options.set, options.read)
    _check_out(options)
    from lost_cities.engine_alone import engine_alone

    result = engine_alone(config.game.rules(), options.games)
    _write_out(options, result)
    for rate in result["rates"]:
        _say(f"{rate['name']}: {rate['value']:,.0f} {rate['unit']}")


def _strength(options: argparse.Namespace) -> None:
    _check_out(options)
    from lost_cities.strength import strength, strength_table

    result = strength(options.checkpoint, options.games, options.seed)
    _write_out(options, result)
    _say(strength_table(result))
