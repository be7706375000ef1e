"""What a cell writes: numbers, from which everything about it is judged. The contract of every checker.

More than is named here may stand beside it, and is kept. A number that is not named is not judged.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tachograph.models.base import Number, Scalar

Count = Annotated[int, Field(ge=0, lt=2**63)]
AtLeastOne = Annotated[int, Field(ge=1, lt=2**63)]
Size = Annotated[Number, Field(ge=0)]
Took = Annotated[Number, Field(ge=0, le=1e9, description="seconds; no rate of such times is zero or infinite")]
Words = Annotated[str, Field(max_length=4000)]
Sample = Annotated[list[Number], Field(min_length=2, max_length=2, description="seconds since the start, value")]


class Part(BaseModel):
    """Strict about what it names, tolerant of more."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)


class ThreadPool(Part):
    """A library that has threads, as threadpoolctl tells of it."""

    internal_api: str
    num_threads: Count
    version: str | None = None
    architecture: str | None = None


class Torch(Part):
    """What torch says of itself: its libraries, and the attention kernel of each backend by number format."""

    thread_pools: list[ThreadPool] = []
    attention: dict[str, dict[str, str]] = {}
    library_copies: dict[str, list[str]] = {}
    devices: list[dict[str, Any]] | None = []


class Facts(Part):
    """What is in the machine; null where it is unknown."""

    devices: list[dict[str, Any]]
    environment: dict[str, str]
    torch: Torch | None = None


class Probe(Part):
    """The machine's name, its facts, and why a fact is unknown, by its dotted place."""

    id: str
    taken: str
    facts: Facts
    unknown: dict[str, str]


class Spread(Part):
    """A quantity that was sampled through the cell."""

    mean: Number
    min: Number
    max: Number


class User(Part):
    """Another program that computed on the device."""

    pid: int
    name: str | None


class Host(Part):
    """What was sampled of the host; a quantity that could not be read is null, its reason in ``unknown``."""

    processors: AtLeastOne
    foreign_processors: Spread | None
    stolen_processors: Spread | None
    load_average: Spread | None = None
    clock_mhz: Spread | None = None
    cpu_clock_mhz: Spread | None = None
    power_watts: Spread | None = None
    package_power_watts: Spread | None = None
    cpu_temperature_celsius: Spread | None = None
    device_users: list[User] | None = []
    unknown: dict[str, str]


class Settings(Part):
    """All settings that the cell ran with, those that it was not given too; each is one value."""

    __pydantic_extra__: dict[str, Scalar | None]
    device: str


class Effective(Part):
    """What the process really ran with; of a library that was loaded twice, the files."""

    library_copies: dict[str, list[str]] = {}


class Record(Part):
    """Every cell: its settings with the device it ran on, that device's name, the planted fault, numbers, the host."""

    settings: Settings
    device_name: str | None = None
    fault: str | None = None
    measured: dict[str, Any]
    effective: Effective = Effective()
    host: Host


class Proof(Part):
    """Whether the float64 reference was proven, and why not."""

    usable: bool
    reason: Words = ""


class Comparison(Part):
    """One result against its reference.

    ``frobenius`` is ‖C − R‖/‖R‖; ``frobenius_limit`` what rounding allows it, where a rule says so.
    ``wrong`` counts the elements that rounding cannot explain; without such a bound there are the three root mean
    squares of :class:`~tachograph.models.bounds.Gate`. With a non-finite element nothing need be compared.
    """

    elements: AtLeastOne
    nonfinite: Count
    wrong: Count | None = None
    wrong_with_half_sums: Count | None = None
    ratio: Size | None = None
    max_abs: Size | None = None
    relative: Size | None = None
    frobenius: Size | None = None
    frobenius_limit: Size | None = None
    first: list[int] | None = None
    rmse: Size | None = None
    baseline_rmse: Size | None = None
    reference_rms: Size | None = None


class Refused(Part):
    """In whose words an operation is not available; then nothing was compared."""

    refused: Annotated[Words, Field(min_length=1)]


class Correctness(Part):
    """Results against one reference, by name; none where it is not usable.

    Of a network, the largest errors of its outputs and of its gradients; of attention, the kernel that ran.
    """

    reference: Proof
    comparisons: dict[str, Comparison]
    max_logit_error: Size | None = None
    max_gradient_error: Size | None = None
    kernel: str | None = None


class OfTraining(Part):
    """The settings that name a network and its batch."""

    channels: AtLeastOne
    batch: AtLeastOne
    dtype: str


class Steps(Part):
    """Training steps; a loss that is not finite is null."""

    losses: list[Number | None] = Field(min_length=2)
    nonfinite_parameters: Count
    unchanged_parameters: list[str] = []
    step_ends: list[Number] = []
    series: dict[str, list[Sample]] = {}


class Row(Part):
    """Repeats in one process at one thread count (null on an accelerator).

    ``hashes`` counts the calls of each distinct output. Where nobody knows the truth, the numbers about wrong calls
    are null.
    """

    threads: AtLeastOne | None
    process: Count
    repeats: AtLeastOne
    oversubscribed: bool = False
    hashes: dict[str, AtLeastOne] = Field(min_length=1)
    fraction_differing: Size
    max_abs_difference: Size
    max_magnitude: Size
    nonfinite_calls: Count
    corrupted_calls: Count | None
    corrupted_fraction: Size | None = None
    max_abs_error: Size | None = None


class Repeats(Part):
    """``lost`` says how another process of the cell ended without rows."""

    rows: list[Row]
    lost: Words | None = None
    reference: Proof | None = None


class Block(Part):
    """Calls timed together. ``drained``: the device had nothing left to do when the timer was stopped."""

    calls: AtLeastOne
    seconds: Took
    drained: bool
    clock_mhz: Size | None = None


class MatmulBlocks(Part):
    """Blocks that started from idle, and those of a window after a lead-in."""

    burst: list[Block]
    sustained: list[Block]


class OfMatmul(Part):
    """The settings that name a product: ``1024``, or ``300x672x129``."""

    size: Annotated[str, Field(pattern=r"^[1-9]\d*(x[1-9]\d*x[1-9]\d*)?$")]
    dtype: str


class Matmul(Part):
    """A matrix product, timed; some elements of the product were looked at, and all for being finite."""

    flop_per_call: Annotated[Number, Field(ge=1, le=1e30)]
    blocks: MatmulBlocks
    comparisons: dict[str, Comparison] = Field(min_length=1)
    nonfinite_elements: Count


class TrainingBlocks(Part):
    """Blocks of whole training steps."""

    best: list[Block]


class Stages(Part):
    """Seconds of a step's parts, timed apart."""

    forward: Annotated[Took, Field(ge=1e-9)]
    backward: Annotated[Took, Field(ge=1e-9)]


class Memory(Part):
    """The most that was used, of how much, and which memory that is."""

    peak_bytes: Count
    total_bytes: AtLeastOne
    of: str


class Training(Part):
    """Training steps, timed; a last loss that is not finite is null."""

    samples_per_call: AtLeastOne
    blocks: TrainingBlocks
    parameters: AtLeastOne
    stage_seconds_per_step: Stages
    last_loss: Number | None
    memory: Memory


Form = TypeVar("Form", bound=Part)


class UnreadableError(Exception):
    """What a cell wrote is not what a cell writes; the message names place, found and expected."""


def read(form: type[Form], value: Any, place: str = "") -> Form:
    """``value`` as ``form``. Raises UnreadableError."""
    try:
        return form.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, [*([place] if place else []), *first["loc"]]))
        found = "" if first["type"] == "missing" else f", found {str(first['input'])[:60]!r}"
        raise UnreadableError(f"{where or 'the file'}: {first['msg'][0].lower()}{first['msg'][1:]}{found}") from None
