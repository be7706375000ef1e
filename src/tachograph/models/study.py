"""The study file: one study, as it is registered."""

from __future__ import annotations

import datetime
import uuid
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from tachograph.models.base import EnvironmentName, Identifier, Model, Number, PositiveNumber, Scalar, Text
from tachograph.models.bounds import Share
from tachograph.models.candidate import Candidate
from tachograph.models.cells import MachineChecks
from tachograph.wording import counted

MARGIN_IN_SIGMA = 2.0  # a margin in SD between seeds where none is registered (statistics.md, 3.2)
MAX_METRICS = 5  # primary metrics whose curves are tested together (statistics.md, 3.2)
RESERVED_ARMS = frozenset({"component", "parity", "sweep"})  # their files lie beside the arms' profiles


class Registration(Model):
    """Who asked what, when, and how binding the answer is."""

    id: str
    date: datetime.date
    question: Text
    kind: Literal["exploratory", "confirmatory"]

    @field_validator("id")
    @classmethod
    def _uuid(cls, value: str) -> str:
        try:
            return str(uuid.UUID(value))
        except ValueError:
            raise ValueError(f"found {value!r}, expected a UUID") from None


class Arm(Model):
    """One way to run the trainer: environment variables, settings and further arguments on top of the study's."""

    title: Text
    environment: dict[EnvironmentName, str] = {}
    settings: dict[Identifier, Scalar] = {}
    arguments: list[Text] = Field(default=[], description="appended to the training command")
    cache: Literal["cold", "warm"] | None = Field(
        default=None, description="in which state the trainer's cache of compiled kernels must be when a run starts"
    )


class Baseline(Model):
    """A short run before anything is compared."""

    iterations: Annotated[int, Field(ge=1)]
    seed: Annotated[int, Field(ge=0)] = 0
    arm: Identifier | None = Field(default=None, description="the reference arm unless named")


class CoolDown(Model):
    """Before each run of the blocks, and the repeat: wait until the device is as cool as it was before the first."""

    degrees: PositiveNumber = Field(description="degrees Celsius that it may be warmer than before the first of them")
    max_minutes: Annotated[Number, Field(gt=0, le=120)] = Field(
        default=10.0, description="longest wait of a run; then it starts all the same, which is a deviation"
    )


class Design(Model):
    """How many runs of how many iterations, in which order."""

    reference: Identifier
    iterations: Annotated[int, Field(ge=1, le=1_000_000)]
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=2**32)]], Field(min_length=1, max_length=1000)]
    order: Literal["ABBA"] = "ABBA"
    warmup: Annotated[int, Field(ge=0)] = 1
    window: tuple[int, int] | None = Field(default=None, description="first and last iteration of a second window")
    baseline: Baseline | None = None
    burn_in_iterations: Annotated[int, Field(ge=0)] = Field(
        default=0, description="iterations of one discarded run of the reference arm before the first block"
    )
    repeat_reference: bool = Field(default=False, description="run the reference arm's first seed twice (A/A)")
    cool_down: CoolDown | None = Field(
        default=None,
        exclude_if=lambda value: value is None,  # so that a study without it is registered as it always was
        description="wait before each timed run until the device has cooled down",
    )

    @field_validator("window", mode="before")
    @classmethod
    def _pair(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _consistent(self) -> Design:
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds: found {self.seeds}, expected each seed once")
        if self.warmup >= self.iterations:
            raise ValueError(
                f"warmup: found {self.warmup}, expected fewer than the {counted(self.iterations, 'iteration')}"
            )
        if self.window is not None:
            first, last = self.window
            if not 1 <= first <= last <= self.iterations:
                raise ValueError(
                    f"window: found {list(self.window)}, expected two iterations within 1 to {self.iterations}"
                )
        return self


class Profile(Model):
    """The stage profile of each arm: a run of its own, because synchronising slows the loop."""

    steps: Annotated[int, Field(ge=1)]


class Sweep(Model):
    """The network alone, called at several batch sizes: what would batching bring?"""

    batch_sizes: Annotated[list[Annotated[int, Field(ge=1, le=2**24)]], Field(min_length=2, max_length=64)]
    warm_up: Annotated[int, Field(ge=0, le=1_000_000)] = 10
    calls: Annotated[int, Field(ge=1, le=1_000_000)] = 1000

    @field_validator("batch_sizes")
    @classmethod
    def _rising(cls, value: list[int]) -> list[int]:
        if sorted(set(value)) != value:
            raise ValueError(f"found {value}, expected rising batch sizes, each once")
        return value


class Projection(Model):
    """What a whole training would take, and its evaluations at other intervals and sizes."""

    iterations: Annotated[int, Field(ge=1, le=100_000_000)] = 1000
    evaluation_every: list[Annotated[int, Field(ge=1)]] = []
    evaluation_games: list[Annotated[int, Field(ge=1)]] = Field(
        default=[],
        description="sizes of an evaluation (games, samples, tasks), told from runs of the same size or else in "
        "proportion; where no column counts the games, the first one is as the runs of this study have it",
    )

    @model_validator(mode="after")
    def _spread(self) -> Projection:
        if self.evaluation_games and not self.evaluation_every:
            raise ValueError("evaluation_games: found no evaluation_every, expected the intervals to spread over")
        return self


class Parity(Model):
    """Preflight: the arms against float64 on frozen batches. Which error of the reference is still its rounding."""

    reference_bounds: dict[Text, PositiveNumber] = Field(
        default={}, description="largest RMSE of the reference against float64, by name of the tensor"
    )


class Smoke(Model):
    """A check that an arm still is the loop it claims to be: same seed, same registered columns, bit for bit."""

    arm: Identifier
    like: Arm = Field(description="the loop as it was")
    seed: Annotated[int, Field(ge=0)]
    iterations: Annotated[int, Field(ge=1)]
    columns: Annotated[list[Text], Field(min_length=1)]


class Metric(Model):
    """A curve that is to match between the arms, with the difference that would still be called the same."""

    column: Text
    label: Text
    margin: PositiveNumber | None = Field(
        default=None, description="in the metric's unit; without it margin_in_sigma times sigma_seed"
    )
    margin_in_sigma: PositiveNumber | None = Field(
        default=None, description="the margin as a multiple of sigma_seed, 2 unless given; instead of margin"
    )
    reason: Text = Field(description="why this margin")
    sigma_seed: PositiveNumber | None = Field(
        default=None,
        description="standard deviation between seeds, in the metric's unit, by an independent pilot; else margin / 2",
    )
    resolution: PositiveNumber | None = Field(
        default=None,
        description="smallest difference that the metric can show, in its unit: no smaller spread is believed",
    )

    @model_validator(mode="after")
    def _one_margin(self) -> Metric:
        if self.margin is None and self.sigma_seed is None:
            raise ValueError("margin: the key is missing, expected margin, or sigma_seed from a pilot")
        if self.margin is not None and self.margin_in_sigma is not None:
            raise ValueError("found both margin and margin_in_sigma, expected one of them")
        return self

    @property
    def delta(self) -> float:
        """The registered margin δ in the metric's unit (statistics.md, 3.2)."""
        if self.margin is not None:
            return self.margin
        assert self.sigma_seed is not None  # _one_margin has seen to it
        return (MARGIN_IN_SIGMA if self.margin_in_sigma is None else self.margin_in_sigma) * self.sigma_seed


class CurveWindow(Model):
    """Iterations over which the curves are averaged before they are compared."""

    name: Text
    first: Annotated[int, Field(ge=1)]
    last: Annotated[int, Field(ge=1)]


class Quiet(Model):
    """What still counts as a quiet host; beyond it a run is contended and a GAIN or NO GAIN PROVISIONAL."""

    foreign_share: Share = Field(
        default=0.05,
        description="share of the usable processors that other programs may keep busy, on average through a run",
    )
    load: PositiveNumber | None = Field(
        default=None,
        description="largest 1-minute load average during a run, which counts the run itself; not judged without it",
    )


class DecisionRule(Model):
    """What the numbers must show before the faster arm is adopted, and what the design check may assume."""

    minimum_effect: Annotated[Number, Field(ge=1, le=1000)] = Field(
        description="smallest factor of the stage that is worth having, such as 1.05; the interval must lie above it"
    )
    alpha: Annotated[Number, Field(gt=0, le=0.2)] = Field(
        default=0.05, description="error rate of the tests of the curves, and of the interval of the factor"
    )
    sessions: Annotated[int, Field(ge=1, le=100)] = Field(
        default=1, description="records of different boots or days that must each show a gain"
    )
    allow_detectable_difference: bool = Field(
        default=False, description="whether curves that differ, but by less than their margins, may be adopted"
    )
    ceiling: Annotated[Number, Field(gt=1, le=1_000_000)] | None = Field(
        default=None,
        description="largest factor of the stage that can be true, such as a roofline; beyond it the speed is INVALID "
        "until the numerics parity is shown. Without it: 1 / (1 - share) by Amdahl's law on the profiles, where the "
        "share is that of the reference's largest stage and of those that became faster by over 5 %",
    )
    sd_log_factor: Annotated[Number, Field(gt=0, le=3)] = Field(
        description="assumed standard deviation of the natural logarithm of the factor between blocks"
    )
    reason: Text = Field(description="why this effect, and where the assumed standard deviation comes from")


class Prediction(Model):
    """What was expected before the first run, of which quantity."""

    quantity: Literal["stage_throughput", "stage_factor", "iteration_factor"]
    arm: Identifier
    value: PositiveNumber
    low: PositiveNumber | None = None
    high: PositiveNumber | None = None
    reason: Text

    @model_validator(mode="after")
    def _interval(self) -> Prediction:
        if (self.low is None) != (self.high is None):
            raise ValueError("found only one of low and high, expected both or neither")
        if self.low is not None and self.high is not None and not self.low <= self.value <= self.high:
            raise ValueError(f"found low {self.low}, value {self.value}, high {self.high}, expected them in order")
        return self


class Study(Model):
    """``config/studies/NAME.toml``: one study, as it is registered."""

    schema_: Literal["study/1"] = Field(alias="schema")
    name: Identifier
    title: Text
    trainer: Identifier
    device: Literal["cpu", "gpu", "any"] = Field(
        default="any", description="kind of device the study is meant for; 'any' takes the configuration's"
    )
    threads: Annotated[int, Field(ge=1, le=1024)] = Field(description="CPU threads of the trainer in every timed run")
    max_hold_minutes: Annotated[Number, Field(gt=0, le=1440)] = Field(
        default=30.0, description="a run that holds the device for longer is ended"
    )
    registration: Registration
    settings: dict[Identifier, Scalar] = {}
    arms: dict[Identifier, Arm] = Field(min_length=1)
    design: Design
    profile: Profile | None = None
    component: bool = Field(default=False, description="measure the trainer's component (the game engine) alone")
    sweep: Sweep | None = None
    projection: Projection | None = None
    machine: MachineChecks | None = Field(
        default=None, description="preflight: does this machine repeat, is it right; else nothing is compared"
    )
    quiet: Quiet = Field(default=Quiet(), description="what still counts as a quiet host")
    parity: Parity | None = None
    smoke: list[Smoke] = []
    curves: list[Metric] = Field(default=[], max_length=MAX_METRICS)
    curve_windows: list[CurveWindow] = Field(
        default=[], description="windows over which each curve is compared; else the early, mid and late third of a run"
    )
    prediction: Prediction | None = None
    decision: DecisionRule | None = None
    candidates: dict[Identifier, Candidate] = Field(
        default={}, description="ideas that are measured after the timed runs, each kept or rejected with its figures"
    )

    @model_validator(mode="after")
    def _known_arms(self) -> Study:
        known = ", ".join(self.arms)
        named: list[tuple[str, str | None]] = [("design.reference", self.design.reference)]
        if self.design.baseline:
            named.append(("design.baseline.arm", self.design.baseline.arm))
        if self.prediction:
            named.append(("prediction.arm", self.prediction.arm))
        named += [(f"smoke[{i}].arm", check.arm) for i, check in enumerate(self.smoke)]
        for place, arm in named:
            if arm is not None and arm not in self.arms:
                raise ValueError(f"{place}: found {arm!r}, expected one of the arms {known}")
        for arm in self.arms:
            if arm in RESERVED_ARMS:
                raise ValueError(f"arms.{arm}: this name is reserved, expected another")
        return self

    @model_validator(mode="after")
    def _windows_in_the_run(self) -> Study:
        names = [window.name for window in self.curve_windows]
        for number, window in enumerate(self.curve_windows):
            place = f"curve_windows[{number}]"
            if not window.first <= window.last <= self.design.iterations:
                found = f"found {window.first} to {window.last}"
                raise ValueError(f"{place}: {found}, expected iterations in order within 1 to {self.design.iterations}")
            if names.count(window.name) > 1:
                raise ValueError(f"{place}.name: found {window.name!r} twice, expected names that differ")
        return self

    @model_validator(mode="after")
    def _known_candidates(self) -> Study:
        for name, one in self.candidates.items():
            place, known = f"candidates.{name}", ", ".join(self.arms)
            if one.against is None and len(self.arms) > 2:
                raise ValueError(f"{place}.against: the key is missing, expected one of the arms {known}")
            if one.against is not None and one.against not in self.arms:
                raise ValueError(f"{place}.against: found {one.against!r}, expected one of: {known}")
            if one.minimum_effect is None and self.decision is None:
                raise ValueError(f"{place}.minimum_effect: the key is missing, and no decision rule has one")
            for rival in one.rivals:
                if rival == name or rival not in self.candidates:
                    raise ValueError(f"{place}.rivals: found {rival!r}, expected another candidate")
        return self

    def base_arm(self, candidate: str) -> str:
        """The arm that a candidate changes: the one it names, else the one beside the reference, else the only one."""
        named = self.candidates[candidate].against
        return named or next((arm for arm in self.arms if arm != self.design.reference), self.design.reference)

    def least_gain(self, candidate: str) -> float:
        """The factor from which on a candidate is worth keeping: its own, else that of the decision rule."""
        own = self.candidates[candidate].minimum_effect
        if own is not None:
            return own
        assert self.decision is not None  # _known_candidates has seen to it
        return self.decision.minimum_effect
