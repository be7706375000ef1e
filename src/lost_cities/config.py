"""The configuration of a training: typed sections, read from YAML, changed by dotted overrides."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from lost_cities.errors import LostCitiesError
from lost_cities.idle_options import refuse_idle
from lost_cities.rules import Rules, make_rules
from lost_cities.yaml_file import read_yaml, shortened

PER_PROCESSOR, LEAST_BOUND = 4, 16  # most threads of a process, and most workers; so many on any machine
LARGEST_COUNT = 2**40  # what no computer holds or finishes, and what numpy and torch still take as a size
Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
CountOrNone = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
AtOnce = Annotated[int, Field(ge=1, le=1_000_000)]  # games, traversals or states that are in memory together
LearningRate = Annotated[float, Field(gt=0, le=1000)]  # a larger one overflows in float32, in torch itself at last
OpponentName = Literal[
    "random", "passive_discard", "safe_heuristic", "safe_heuristic_loose", "safe_heuristic_strict", "noisy_safe"
]
ALL_OPPONENTS: list[OpponentName] = [
    "random",
    "passive_discard",
    "safe_heuristic",
    "safe_heuristic_loose",
    "safe_heuristic_strict",
    "noisy_safe",
]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Game(Section):
    """The variant; the defaults are the standard game."""

    colours: int = 5
    ranks: int = Field(default=9, description="numbers per colour, from 2")
    handshakes: int = Field(default=3, description="per colour")
    hand: int = 8
    cost: int = Field(default=20, description="points that a started expedition costs")
    bonus: int = Field(default=20, description="points for a long expedition")
    bonus_cards: int = Field(default=8, description="cards of a long expedition")
    action_cap: int = Field(default=1000, description="a game ends after this many actions, two per turn")

    def rules(self) -> Rules:
        """The rules; :class:`LostCitiesError` if the variant cannot be played."""
        return make_rules(**self.model_dump())


class Run(Section):
    iterations: Count = 100
    device: str = Field(default="cpu", description="of the trainer: cpu, cuda or cuda:N")
    use_amp: bool = Field(default=False, description="bfloat16 autocast in the networks' training")
    compile: bool = Field(default=False, description="torch.compile of the networks that are trained")
    deterministic: bool = Field(default=False, description="torch.use_deterministic_algorithms")
    threads: CountOrNone = Field(default=1, description="of torch in each process; 0 leaves torch's own choice")


class Network(Section):
    hidden: Count = 512
    layers: int = Field(default=3, ge=1, le=100)


class Traversal(Section):
    traversals_per_player: AtOnce = 280
    sampling: Literal["outcome", "external"] = Field(
        default="outcome", description="one action of the traverser explores, or every one is tried"
    )
    epsilon: float = Field(default=0.05, gt=0, le=1, description="outcome sampling: exploration")
    explored_share: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="share of the traverser's decisions to learn from; external: small, or 1 in small games",
    )
    baseline: Literal["none", "score"] = Field(
        default="score", description="outcome sampling: control variate, none or the present difference of the scores"
    )
    points_per_unit: float = Field(default=50.0, gt=0, description="scale of the advantages that networks learn")
    inference: Literal["single", "batched"] = "batched"
    width: AtOnce = Field(
        default=256, description="batched: most traversals side by side in a process, never more than it has to walk"
    )
    num_workers: CountOrNone = Field(default=0, description="processes; 0 traverses in the trainer's own")
    worker_chunk_size: AtOnce = Field(default=140, description="workers: traversals that one takes at a time")
    device: str = Field(default="cpu", description="of the networks that traversals ask: cpu, cuda or cuda:N")
    max_decisions: Count = Field(default=200_000, description="most decisions of one traversal; more is an error")


class MemorySizes(Section):
    advantage_capacity: Count = Field(default=2_000_000, description="records per player")
    strategy_capacity: Count = 2_000_000


class Optimization(Section):
    advantage_learning_rate: LearningRate = Field(
        default=1e-4,
        description="of Adam; sampled advantages are mostly noise, which a high one learns",
    )
    strategy_learning_rate: LearningRate = Field(default=1e-4, description="of Adam; its targets are known exactly")
    gradient_clip: float = Field(default=1.0, gt=0)
    advantage_batch_size: AtOnce = 1024
    advantage_updates: Count = Field(default=100, description="per player and iteration")
    strategy_batch_size: AtOnce = 1024
    strategy_updates: Count = Field(default=100, description="per iteration")
    advantage_from_scratch: bool = Field(default=False, description="advantage networks start anew in every iteration")
    linear_weighting: bool = Field(
        default=True, description="linear CFR: a record weighs its iteration; else all alike"
    )


class Evaluation(Section):
    eval_every: CountOrNone = Field(default=25, description="full evaluation every so many iterations; 0: never")
    games: AtOnce = Field(default=100, description="per opponent")
    opponents: list[OpponentName] = Field(default=ALL_OPPONENTS, min_length=1)
    light_every: CountOrNone = Field(default=0, description="light evaluation every so many iterations; 0: never")
    light_games: AtOnce = 20
    light_opponents: list[OpponentName] = Field(default=["random", "safe_heuristic"], min_length=1)
    batch_size: AtOnce = Field(default=64, description="most states per call of the strategy network")
    num_workers: CountOrNone = Field(default=0, description="processes, an opponent each; 0: the trainer's own")
    diagnostics: bool = Field(default=True, description="counts of plays, draws and expeditions")
    asynchronous: bool = Field(default=False, description="training goes on while workers evaluate")
    use_amp: bool = Field(default=False, description="bfloat16 autocast of the strategy network in evaluation")
    compile: bool = Field(default=False, description="torch.compile of the strategy network in evaluation")
    device: str = Field(default="cpu", description="of the strategy network in evaluation")
    exploitability_every: CountOrNone = Field(default=0, description="exact, for solvable games; 0: never")


class Checkpoint(Section):
    every: Count = Field(default=25, description="iterations; the last one is always saved")
    memories: bool = Field(default=True, description="save the memories too: without them a training cannot be resumed")


class Config(Section):
    game: Game = Game()
    run: Run = Run()
    network: Network = Network()
    traversal: Traversal = Traversal()
    memory: MemorySizes = MemorySizes()
    optimization: Optimization = Optimization()
    evaluation: Evaluation = Evaluation()
    checkpoint: Checkpoint = Checkpoint()


def load_config(path: Path | None, overrides: Sequence[str] = (), read: Sequence[str] = ("",)) -> Config:
    """The configuration in ``path`` (defaults without one) with ``section.key=value`` overrides.

    An option that does nothing is refused where it is set: in the file by the file alone, since an override may switch
    off what it belongs to, and among the overrides by all that is set. ``read``: how the keys begin that the caller
    reads; to override another one would do nothing.
    :class:`LostCitiesError` names the file or override, the key, what was found and what is expected.
    """
    values = {} if path is None else read_yaml(path)
    config = _validated(Config, values, "the defaults" if path is None else str(path))
    refuse_idle(config, (f"{section}.{name}" for section, keys in values.items() for name in keys), str(path))
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals:
            raise LostCitiesError(f"--set: found {override!r}, expected section.key=value")
        section, name = _known_key(key)
        if not key.startswith(tuple(read)):
            raise LostCitiesError(f"--set {override[:80]}: {key} does nothing here, expected one of {', '.join(read)}")
        changed = config.model_dump()
        changed[section][name] = _parse(key, text, _field(section, name))
        config = _validated(Config, changed, f"--set {override}")
    check(config)
    refuse_idle(config, (override.partition("=")[0] for override in overrides), "--set")
    return config


def check(config: Config) -> None:
    """Rules that more than one key, or this machine, takes part in; :class:`LostCitiesError` names what it found."""
    config.game.rules()
    _check_machine(config)
    for key in ("opponents", "light_opponents"):
        names = getattr(config.evaluation, key)
        if len(set(names)) < len(names):
            raise LostCitiesError(f"evaluation.{key}: found {', '.join(names)}, expected each once")
    if config.evaluation.asynchronous and config.evaluation.num_workers == 0:
        raise LostCitiesError(
            "evaluation.asynchronous: found true with evaluation.num_workers 0, expected at least one worker"
        )


def _check_machine(config: Config) -> None:
    """Threads and processes that the processors can carry: thousands of them end in no error, only in no progress."""
    processors = os.cpu_count() or 1
    most = max(LEAST_BOUND, PER_PROCESSOR * processors)
    for key, found in (
        ("run.threads", config.run.threads),
        ("traversal.num_workers", config.traversal.num_workers),
        ("evaluation.num_workers", config.evaluation.num_workers),
    ):
        if found > most:
            raise LostCitiesError(f"{key}: found {found}, expected at most {most} on {processors} logical processors")


def _validated(model: type[Config], values: dict[str, Any], source: str) -> Config:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise LostCitiesError(f"{source}: {_sentence(error)}") from None


def _sentence(error: ValidationError, key: str = "") -> str:
    """The first complaint of pydantic as ``key: found value, expected ...``."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or key
    if first["type"] == "extra_forbidden":
        return f"{where} is not a key of the configuration, expected one of {', '.join(_siblings(where))}"
    if first["type"] == "model_type":
        expected = "keys with values"
    elif first["type"] == "invalid_key":
        expected = "a name as key"
    elif first["type"] == "int_parsing_size":
        expected = "a smaller integer"
    elif first["type"] == "too_short":
        expected = f"at least {first['ctx']['min_length']}"
    else:
        expected = first["msg"].removeprefix("Input should be ").removeprefix("a valid ")
        if first["type"] != "literal_error":
            expected = expected.split(",")[0]
    return f"{where}: found {shortened(first['input'])}, expected {expected}"


def _siblings(where: str) -> list[str]:
    section = where.split(".")[0]
    if "." in where and section in Config.model_fields:
        return list(_section_model(section).model_fields)
    return list(Config.model_fields)


def _section_model(section: str) -> type[Section]:
    return type(getattr(Config(), section))


def _field(section: str, name: str) -> FieldInfo:
    return _section_model(section).model_fields[name]


def _known_key(key: str) -> tuple[str, str]:
    section, _, name = key.partition(".")
    if section not in Config.model_fields:
        raise LostCitiesError(f"--set: {key} is not a key, expected a section out of {', '.join(Config.model_fields)}")
    if name not in _section_model(section).model_fields:
        expected = ", ".join(_section_model(section).model_fields)
        raise LostCitiesError(f"--set: {key} is not a key, expected {section}. and one of {expected}")
    return section, name


def _parse(key: str, text: str, field: FieldInfo) -> Any:
    """``text`` as the type of the field, never as what YAML would guess; a list is separated by commas."""
    try:
        if get_origin(field.annotation) is list:
            item = TypeAdapter(get_args(field.annotation)[0])
            return [item.validate_strings(part) for part in text.split(",")] if text else []
        whole: Any = Annotated[field.annotation, field]
        return TypeAdapter(whole).validate_strings(text)
    except ValidationError as error:
        raise LostCitiesError(f"--set {key}={text[:80]}: {_sentence(error, key)}") from None
