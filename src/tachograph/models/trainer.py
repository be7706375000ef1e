"""The trainer file: how a trainer is started and how its files are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tachograph.models.base import Identifier, Model, Number, PositiveNumber, RelativePath, Scalar, Text
from tachograph.models.sentences import meant

EVENT_STEP = "step"  # the column that holds the step of a TensorBoard event
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_-]*)\}")
# Without these a command would make the same run whatever the study says.
REQUIRED_PLACEHOLDERS = {
    "command": ("seed", "iterations", "out"),
    "profile": ("out", "steps"),
    "component": ("out",),
    "parity": ("out",),
    "candidate": ("candidate", "out", "pairs", "steps"),
    "sweep": ("out", "batch_sizes"),
}
COMMANDS = tuple(REQUIRED_PLACEHOLDERS)
BUILT_IN_PLACEHOLDERS = frozenset({"python", "seed", "iterations", "out", "device", "threads", "steps", "arms"})
OWN_PLACEHOLDERS = {  # what has a meaning in one command only
    "candidate": frozenset({"candidate", "arm", "pairs"}),
    "sweep": frozenset({"batch_sizes", "warm_up", "calls"}),
}


def unknown_placeholder(part: str, known: Iterable[str]) -> str | None:
    """A sentence about the first placeholder of ``part`` that is not ``known`` and would be passed on as it is."""
    for name in PLACEHOLDER.findall(part):
        if name not in known:
            choice = ", ".join(f"{{{one}}}" for one in sorted(known)) or "none"
            return f"found {{{name}}}, expected one of: {choice}{meant(name, known)}"
    return None


class Setting(Model):
    """A setting that a study may give to this trainer; ``{name}`` in a command stands for its value."""

    type: Literal["string", "integer", "number", "boolean"] = "string"
    choices: list[Scalar] | None = None
    default: Scalar | None = None
    about: Text

    def check(self, value: Scalar) -> str | None:
        """A sentence about what is wrong with ``value``, or None."""
        kinds: dict[str, tuple[type, ...]] = {
            "string": (str,),
            "integer": (int,),
            "number": (int, float),
            "boolean": (bool,),
        }
        if not isinstance(value, kinds[self.type]) or (isinstance(value, bool) and self.type != "boolean"):
            return f"found {value!r}, expected a {self.type}"
        if self.choices is not None and value not in self.choices:
            return f"found {value!r}, expected one of {', '.join(map(str, self.choices))}"
        return None


class Code(Model):
    """What determines the trainer's results: Python modules and paths (hashed by content), or a version command."""

    modules: list[Text] = Field(default=[], description="importable modules or packages, hashed by content")
    paths: list[Text] = Field(default=[], description="files or folders, relative to the working directory")
    version_command: list[Text] | None = Field(
        default=None, description="argument list whose standard output identifies the trainer's version"
    )

    @model_validator(mode="after")
    def _something(self) -> Code:
        if not (self.modules or self.paths or self.version_command):
            raise ValueError("expected modules, paths or version_command: what a change of is a change of result")
        return self


class Work(Model):
    """The column that counts work, or the same work in every iteration, and its unit ("samples", "tokens")."""

    column: Text | None = None
    constant: PositiveNumber | None = Field(
        default=None, description="work of every iteration, where no column says it"
    )
    unit: Text
    cumulative: bool = False

    @model_validator(mode="after")
    def _one(self) -> Work:
        if (self.column is None) == (self.constant is None) or (self.cumulative and self.column is None):
            raise ValueError("found neither or both of column and constant, expected one; only a column is cumulative")
        return self


class Phase(Model):
    """Part of an iteration, from the trainer's own timers; ``parent`` names the phase that contains it."""

    name: Text
    column: Text
    start: Text | None = Field(
        default=None,
        exclude_if=lambda value: value is None,  # so that a trainer without it is registered as it always was
        description="column with the clock as the phase began, in seconds like column, which then holds it at the end",
    )
    parent: Text | None = None
    parallel: bool = Field(default=False, description="several of these run at the same time, so they are no sum")
    inference: bool = Field(default=False, description="it times the network's answers: a faster one could shorten it")


def inside_itself(name: str, parents: Mapping[str, str | None]) -> bool:
    """Whether going from part to ``parents`` leads round in a circle; a parent that is no part ends the way."""
    seen: set[str] = set()
    at: str | None = name
    while at is not None and at not in seen:
        seen.add(at)
        at = parents.get(at)
    return at is not None


class Count(Model):
    """A count per iteration that the record sums up over a run, such as games by kind of ending."""

    name: Text
    column: Text


class Evaluation(Model):
    """Iterations that hold an evaluation: they give no rate, and what they cost is told apart from the others."""

    seconds: Text = Field(description="column that is present and not 0 in an iteration with an evaluation, in seconds")
    subjects: list[Text] = Field(default=[], description="what is evaluated against or on: opponents, tasks, data sets")
    column: Text | None = Field(default=None, description="column of one timer of one subject, {subject} and {timer}")
    elapsed: Text | None = Field(default=None, description="the timer of the whole evaluation of one subject")
    timers: list[Text] = Field(default=[], description="its parts, by the names that stand for {timer}")
    games: Text | None = Field(
        default=None,
        description="the name that stands for {timer} in the column with a subject's games (samples, tasks): "
        "evaluations of different sizes are told apart by it",
    )
    inference: Text | None = Field(default=None, description="the timer that a faster network could shorten")
    parallel: bool | None = Field(
        default=None,
        description="whether subjects are evaluated at the same time; else found from the sum of their times",
    )

    @model_validator(mode="after")
    def _whole(self) -> Evaluation:
        if self.subjects and (self.column is None or self.elapsed is None):
            raise ValueError("subjects: found no column or no elapsed, expected both to find their timers")
        if self.games is not None and not self.subjects:
            raise ValueError(f"games: found {self.games!r} without subjects, expected those that the games are against")
        if self.column is not None and not ("{subject}" in self.column and "{timer}" in self.column):
            raise ValueError(f"column: found {self.column!r}, expected {{subject}} and {{timer}} in it")
        if self.inference is not None and self.inference not in self.timers:
            raise ValueError(f"inference: found {self.inference!r}, expected one of the timers {self.timers}")
        return self

    def column_of(self, subject: str, timer: str) -> str:
        """The column that holds ``timer`` of ``subject``. ``column`` must be given."""
        assert self.column is not None
        return self.column.replace("{subject}", subject).replace("{timer}", timer)

    def columns(self) -> list[str]:
        """The columns of all timers and games of all subjects."""
        timers = [self.elapsed, *self.timers] if self.elapsed is not None else []
        timers += [self.games] if self.games is not None else []
        return [self.column_of(subject, timer) for subject in self.subjects for timer in timers]


class Supply(Model):
    """How many states could share a call of the network: those that need not wait for the answer to another one."""

    group: Text = Field(description="what a group is, such as traversal")
    states: Text = Field(description="column: states that the network was asked about in an iteration")
    groups: Text = Field(description="column: groups of an iteration")
    chains: Text | None = Field(
        default=None,
        description="column: the longest chain of each group, summed over the groups of an iteration; a chain is "
        "states of which each waits for the answer to the one before it",
    )
    longest_chain: Text | None = Field(default=None, description="column: the longest of the chains of an iteration")
    side_by_side: Text | None = Field(
        default=None, description="column: groups walked at the same time, so that their states can share a call"
    )
    networks: Annotated[int, Field(ge=1)] = Field(
        default=1, description="networks between which the states divide, as a call asks one of them"
    )
    mean_batch: Text | None = Field(default=None, description="column: states per call that were really made")

    def columns(self) -> dict[str, str]:
        """The columns that are named, by what they hold."""
        kinds = ("states", "groups", "chains", "longest_chain", "side_by_side", "mean_batch")
        return {kind: column for kind in kinds if (column := getattr(self, kind)) is not None}


class HistoryFile(Model):
    """How to read what a run of the trainer writes, one row per iteration."""

    file: RelativePath = Field(
        description="path of the history, relative to {out}; of TensorBoard events the beginning of it, as writers "
        "append time, host and process: events.out.tfevents"
    )
    format: Literal["jsonl", "csv", "log", "tensorboard"] = "jsonl"
    patterns: list[Text] = Field(
        default=[], description="of a log: regular expressions whose named groups are the columns"
    )
    iteration: Text
    work: Work
    first_iteration: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="number of the first iteration, so that a later start is told; any unless given"
    )
    iteration_seconds: Text = Field(description="column with the seconds of the whole iteration")
    iteration_start: Text | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="column with the clock as the iteration began; iteration_seconds then holds it at the end",
    )
    seconds_scale: PositiveNumber = Field(
        default=1.0,
        description="seconds in one unit of the columns of iteration, stage and phases: 0.001 for milliseconds",
    )
    cumulative_seconds: bool = Field(
        default=False, description="the columns of iteration, stage and phases count up since the session began"
    )
    stage: Phase = Field(description="the phase that the study is about, such as collection")
    phases: list[Phase] = []
    metrics: list[Text] = Field(default=[], description="columns that must be finite numbers in every row")
    sparse_metrics: list[Text] = Field(default=[], description="columns of numbers that may be null in some rows")
    monotonic: Text | None = Field(default=None, description="column with CLOCK_MONOTONIC seconds at the end of a row")
    wall: Text | None = Field(default=None, description="column with Unix time, seconds, at the end of a row")
    zero_work: list[Text] = Field(default=[], description="columns that must not be 0 in every row of a run")
    zero_work_floor: Annotated[Number, Field(ge=0)] = Field(
        default=0.0, description="the columns of zero_work must exceed this in every row"
    )
    compilation: Text | None = Field(
        default=None, description="column that is present and not 0 in an iteration that compiled: a one-off cost"
    )
    period: Annotated[int, Field(ge=1)] = Field(
        default=1,
        description="iterations after which the work repeats, such as those of one pass over the data: the precision "
        "within a run is resampled in blocks of at least this length",
    )
    checkpoint: Text | None = Field(
        default=None, description="column that is present and not 0 in an iteration that wrote a checkpoint: no rate"
    )
    session: Text | None = Field(default=None, description="column with a number that changes when a session begins")
    resume: bool = Field(default=False, description="whether a run that was interrupted and resumed may count")
    cache: Text | None = Field(
        default=None, description="column that says 'cold' or 'warm': the state of the compiled kernels at the start"
    )
    facts: list[Text] = Field(default=[], description="columns that say what really ran; constant within a run")
    endings: list[Count] = Field(default=[], description="counts that the record sums up over each run")
    evaluation: Evaluation | None = None
    supply: Supply | None = None
    aliases: dict[str, str] = Field(default={}, description="renamed columns: old name = name used here")
    alias_patterns: dict[str, str] = Field(
        default={}, description="renamed columns by pattern: old_{a}_{b} = new/{a}/{b}, the same {names} on both sides"
    )

    @model_validator(mode="after")
    def _of_a_log(self) -> HistoryFile:
        if bool(self.patterns) != (self.format == "log"):
            raise ValueError(f"patterns: found {self.patterns} with format {self.format!r}, expected some for a log")
        for pattern in self.patterns:
            try:
                columns = re.compile(pattern).groupindex
            except re.error as error:
                raise ValueError(f"patterns: {pattern!r} is no regular expression: {error}") from None
            if self.iteration not in columns:
                raise ValueError(f"patterns: found {pattern!r}, expected a named group (?P<{self.iteration}>…) in it")
        return self

    @model_validator(mode="after")
    def _of_events(self) -> HistoryFile:
        if self.format == "tensorboard" and self.iteration != EVENT_STEP:
            raise ValueError(f"iteration: found {self.iteration!r}, expected {EVENT_STEP!r}, which every event has")
        return self

    @model_validator(mode="after")
    def _clock_readings(self) -> HistoryFile:
        starts = [self.iteration_start, self.stage.start, *(phase.start for phase in self.phases)]
        started = next((one for one in starts if one is not None), None)
        if self.cumulative_seconds and started is not None:
            raise ValueError(f"cumulative_seconds: found it beside the start column {started!r}, expected one of them")
        return self

    @model_validator(mode="after")
    def _patterns(self) -> HistoryFile:
        for old, new in self.alias_patterns.items():
            names = [PLACEHOLDER.findall(pattern) for pattern in (old, new)]
            if not names[0] or sorted(names[0]) != sorted(names[1]) or len(set(names[0])) != len(names[0]):
                raise ValueError(
                    f"alias_patterns: found {old!r} = {new!r}, expected the same {{names}} on both sides, each once"
                )
        return self

    def path_in(self, folder: Path) -> Path:
        """The history in the folder that a run wrote into; of several event files none is it."""
        named = folder / self.file
        if self.format == "tensorboard":
            found = [path for path in named.parent.glob("*") if path.name.startswith(named.name)]
            return found[0] if len(found) == 1 else named
        return named


class ExitCodes(Model):
    """Exit codes by which the trainer says why it gave up. Any other one is a failure that nobody has explained."""

    unavailable: Annotated[int, Field(ge=1, le=125)] | None = Field(
        default=None, description="this device or installation cannot do what was asked for"
    )
    not_finite: Annotated[int, Field(ge=1, le=125)] | None = Field(
        default=None, description="a number of the training was not finite"
    )


class Trainer(Model):
    """``config/trainers/NAME.toml``: how a trainer is started and how its files are read."""

    schema_: Literal["trainer/1"] = Field(alias="schema")
    name: Identifier
    title: Text
    about: Text
    command: list[Text] = Field(min_length=1, description="argument list of one training run, never a shell string")
    profile: list[Text] | None = Field(default=None, description="argument list that writes a stage profile to {out}")
    component: list[Text] | None = Field(
        default=None, description="argument list that measures one part of the trainer alone, into {out}"
    )
    parity: list[Text] | None = Field(
        default=None,
        description="argument list that compares the arms with float64 on frozen batches, into {out}",
    )
    sweep: list[Text] | None = Field(
        default=None, description="argument list that times the network at {batch_sizes}, into {out}"
    )
    candidate: list[Text] | None = Field(
        default=None,
        description="argument list that measures one candidate against the arm of its environment, into {out}",
    )
    exit_codes: ExitCodes = ExitCodes()
    clear_environment: list[Text] = Field(
        default=[], description="variables (or PREFIX*) of the caller that a run must not inherit"
    )
    settings: dict[Identifier, Setting] = {}
    code: Code
    history: HistoryFile

    @model_validator(mode="after")
    def _known_placeholders(self) -> Trainer:
        for key, needed in REQUIRED_PLACEHOLDERS.items():
            text = " ".join(getattr(self, key) or [])
            for name in needed:
                if text and f"{{{name}}}" not in text:
                    raise ValueError(f"{key}: found no {{{name}}}, expected the command to be told")
        for key in COMMANDS:
            known = self.placeholders(key)
            for index, part in enumerate(getattr(self, key) or []):
                wrong = unknown_placeholder(part, known)
                if wrong:
                    raise ValueError(f"{key}[{index}]: {wrong}")
        return self

    def placeholders(self, command: str) -> frozenset[str]:
        """What may stand in braces in this command, and in what studies add to it."""
        return BUILT_IN_PLACEHOLDERS | frozenset(self.settings) | OWN_PLACEHOLDERS.get(command, frozenset())
