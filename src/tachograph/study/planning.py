"""From a study file to its planned runs: what is executed, in which order, and what determines each result.

Standard library and models only: this is imported each time the Snakefile is read.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from tachograph.errors import TachographError
from tachograph.files import digest
from tachograph.models import Arm, Candidate, Study, Trainer
from tachograph.models.base import Scalar
from tachograph.models.trainer import PLACEHOLDER, unknown_placeholder

Role = Literal["cell", "parity", "preflight", "baseline", "profile", "burnin", "run", "aa", "candidate"]
DeviceKind = Literal["cpu", "gpu"]

IDENTITY_CHARACTERS = 16
BAND = 100_000  # priorities of one study; more planned runs than this would mix two studies' blocks
COMPONENT = "component"
SWEEP = "sweep"
PARITY = "parity"
FILLED_LAST = frozenset({"python", "out", "device", "seed"})  # what is decided when a run starts


@dataclass(frozen=True)
class Trial:
    """How a candidate is measured against the arm ``against``, ``pairs`` times.

    ``command``: the changed training command with its ``environment``, which runs in turn with the arm's own;
    None where one command of the trainer measures both. ``requires``: kind of device without which nothing is run.
    ``parity``: the command that holds the arm and the changed computation, called ``parity_name``, against float64.
    """

    against: str
    pairs: int
    command: tuple[str, ...] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    requires: str | None = None
    parity: tuple[str, ...] | None = None
    parity_name: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For a plan; what a trial does not have stays away, so that it determines nothing."""
        value = {name: list(one) if isinstance(one, tuple) else one for name, one in asdict(self).items()}
        return {name: one for name, one in value.items() if one is not None or not name.startswith("parity")}

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> Trial:
        """Inverse of :meth:`as_dict`. Raises TypeError if keys do not fit."""
        made: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in value.items()}
        return Trial(**made)


@dataclass(frozen=True)
class PlannedRun:
    """One entry of the registration: everything that determines one run, and where its results are published.

    ``command`` still holds ``{python}``, ``{out}`` and ``{device}``, which say where and on which of several equal
    devices a run is made, not what it computes. ``amount`` is iterations (training) or steps (profile, candidate).
    ``identity`` is the SHA-256 of all that determines the run; ``position`` its place in the registered order.
    ``arm`` is the name of the candidate where ``trial`` says how one is measured; a trial by runs in turn keeps
    ``{seed}`` open, as every pair has a seed of its own, from ``seed`` on.
    """

    study: str
    role: Role
    arm: str
    seed: int
    block: int | None
    position: int
    amount: int
    command: tuple[str, ...]
    environment: dict[str, str]
    clear_environment: tuple[str, ...]
    threads: int
    device_kind: DeviceKind
    code: str
    max_hold_seconds: float
    identity: str
    cache: str | None = None  # the registered state of the cache of compiled kernels: judged, and determines nothing
    trial: Trial | None = None

    @property
    def key(self) -> str:
        """The name of this run in the ledger and among the attempts, such as ``run-fast-seed1``."""
        return f"{self.role}-{self.arm}-seed{self.seed}"

    @property
    def trains(self) -> bool:
        """Whether the run writes a history (a training run) or a single file (profile, parity, candidate, cell …)."""
        return self.role not in ("profile", "parity", "candidate", "cell")

    @property
    def in_turn(self) -> bool:
        """Whether the run consists of runs of two training commands in turn."""
        return self.trial is not None and self.trial.command is not None

    def changed(self) -> PlannedRun:
        """The same run with the command and the environment of its candidate. ValueError unless :attr:`in_turn`."""
        if self.trial is None or self.trial.command is None:
            raise ValueError(f"{self.key} changes no training command")
        return replace(self, command=self.trial.command, environment=self.trial.environment)

    def parity_run(self) -> PlannedRun | None:
        """The run of the parity command in the environment of the candidate; None where the trial has none."""
        if self.trial is None or self.trial.parity is None:
            return None
        environment = self.trial.environment
        return replace(self, role="parity", command=self.trial.parity, environment=environment, trial=None)

    @property
    def target(self) -> str:
        """The published result, relative to the study's folder."""
        if self.role == "parity":
            return "parity.json"
        if self.role == "profile":
            return f"profiles/{self.arm}.json"
        if self.role == "cell":
            return f"cells/{self.arm}.json"
        if self.role == "candidate":
            return f"candidates/{self.arm}.json"
        return f"{self.folder}/history.jsonl"

    @property
    def run_file(self) -> str:
        """The published run.json (provenance of the target), relative to the study's folder."""
        if self.trains:
            return f"{self.folder}/run.json"
        return self.target.removesuffix(".json") + ".run.json"

    @property
    def folder(self) -> str:
        names = {"run": f"runs/{self.arm}", "preflight": f"preflight/{self.arm}", "baseline": "baseline"}
        names |= {"burnin": "burnin", "aa": "aa"}
        return f"{names[self.role]}/seed{self.seed}"

    @property
    def plan_file(self) -> str:
        """The file that holds this plan, named by its identity, relative to the study's folder."""
        return f"plan/{self.key}.{self.identity[:IDENTITY_CHARACTERS]}.json"

    def as_dict(self) -> dict[str, Any]:
        value = {**asdict(self), "command": list(self.command), "clear_environment": list(self.clear_environment)}
        if self.cache is None:
            del value["cache"]
        if self.trial is None:
            del value["trial"]
        else:
            value["trial"] = self.trial.as_dict()
        return value

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> PlannedRun:
        """Inverse of :meth:`as_dict`. Raises TypeError or KeyError if keys do not fit."""
        made = {**value, "command": tuple(value["command"]), "clear_environment": tuple(value["clear_environment"])}
        trial = value.get("trial")
        if trial is not None:
            made["trial"] = Trial.from_dict(trial)
        return PlannedRun(**made)


DETERMINING = (
    "role", "code", "command", "environment", "clear_environment", "amount", "seed", "threads", "device_kind", "trial",
)  # fmt: skip
DETERMINING_A_CELL = ("role", "code", "command", "environment", "clear_environment", "threads", "device_kind")


def determinants(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What determines the result of a planned run (run-lifecycle.md, "What costs device time"), name -> value.

    ``plan`` is a run as :meth:`PlannedRun.as_dict` gives it. A cell of a machine study, whose seed and amount are
    settings in its command, is made again where its time limit changes: it may have been cut short.
    """
    if plan["role"] == "cell":
        return {**{name: plan[name] for name in DETERMINING_A_CELL}, "seconds": plan["max_hold_seconds"]}
    return {name: plan[name] for name in DETERMINING if name in plan}


def identified(run: PlannedRun) -> PlannedRun:
    """``run`` with the identity that follows from all that determines it."""
    return replace(run, identity=digest(determinants(run.as_dict())))


def block_order(arms: list[str], block: int) -> list[str]:
    """The arms in the order in which block ``block`` (from 0) runs them: ABBA BAAB … (Thue-Morse).

    Forward where the number of ones in the binary form of ``block`` is even, else reversed, so that a drift that
    is linear (and from four blocks on, quadratic) in time cancels between two arms (statistics.md, 3.4).
    """
    return arms if block.bit_count() % 2 == 0 else arms[::-1]


def plan_study(
    study: Study, trainer: Trainer, device_kind: DeviceKind, code: str, first: Sequence[PlannedRun] = ()
) -> list[PlannedRun]:
    """The planned runs of ``study`` in registered order; ``code`` is the fingerprint of the trainer's code.

    ``first`` are planned runs that come before all others: what is asked of the machine.
    """
    planner = _Planner(study, trainer, device_kind, code)
    planner.runs += first
    design = study.design
    first_seed = design.seeds[0]
    if study.parity is not None and trainer.parity is not None:
        planner.add("parity", "all", first_seed, 0, trainer.parity, Arm(title="all arms"))
    for check in study.smoke:
        for name, arm in ((check.arm, study.arms[check.arm]), (f"{check.arm}-before", check.like)):
            planner.add("preflight", name, check.seed, check.iterations, trainer.command, arm)
    if design.baseline:
        name = design.baseline.arm or design.reference
        planner.add(
            "baseline", name, design.baseline.seed, design.baseline.iterations, trainer.command, study.arms[name]
        )
    if study.component and trainer.component is not None:
        planner.add("profile", COMPONENT, first_seed, 0, trainer.component, Arm(title="component alone"))
    if study.sweep and trainer.sweep is not None:
        planner.add("profile", SWEEP, first_seed, study.sweep.calls, trainer.sweep, Arm(title="network alone"))
    if study.profile and trainer.profile is not None:
        for name, arm in study.arms.items():
            planner.add("profile", name, first_seed, study.profile.steps, trainer.profile, arm)
    reference = study.arms[design.reference]
    if design.burn_in_iterations:
        planner.add("burnin", design.reference, first_seed, design.burn_in_iterations, trainer.command, reference)
    for block, seed in enumerate(design.seeds):
        for name in block_order(list(study.arms), block):
            planner.add("run", name, seed, design.iterations, trainer.command, study.arms[name], block)
    if design.repeat_reference:
        planner.add("aa", design.reference, first_seed, design.iterations, trainer.command, reference)
    for name, candidate in study.candidates.items():
        if candidate.measure == "component":
            planner.add_component_trial(name, candidate)
        else:
            planner.add_trial_in_turn(name, candidate)
    return planner.runs


class _Planner:
    def __init__(self, study: Study, trainer: Trainer, device_kind: DeviceKind, code: str) -> None:
        self.study, self.trainer, self.device_kind, self.code = study, trainer, device_kind, code
        self.runs: list[PlannedRun] = []

    def add(
        self,
        role: Role,
        arm_name: str,
        seed: int,
        amount: int,
        template: list[str],
        arm: Arm,
        block: int | None = None,
    ) -> None:
        command = self._command(template, arm, {"seed": seed, "iterations": amount, "steps": amount})
        cache = arm.cache if role in ("run", "aa") else None  # a burn-in may well find it cold
        self._append(role, arm_name, seed, amount, command, arm.environment, block, cache=cache)

    def add_component_trial(self, name: str, candidate: Candidate) -> None:
        """One command of the trainer, in the environment of the arm, measures base and candidate."""
        base, seed = self.study.base_arm(name), self.study.design.seeds[0]
        arm = self.study.arms[base]
        assert candidate.steps is not None
        assert self.trainer.candidate is not None
        own: dict[str, Scalar] = {
            "candidate": name,
            "arm": base,
            "pairs": candidate.pairs,
            "steps": candidate.steps,
            "seed": seed,
        }
        command = self._command(self.trainer.candidate, arm, own)
        self._append(
            "candidate", name, seed, candidate.steps, command, arm.environment, trial=Trial(base, candidate.pairs)
        )

    def add_trial_in_turn(self, name: str, candidate: Candidate) -> None:
        """Runs of the arm's training command and of the changed one in turn."""
        base, seed = self.study.base_arm(name), self.study.design.seeds[0]
        registered, iterations = self.study.arms[base], candidate.iterations
        assert iterations is not None
        shared = {"arguments": [*registered.arguments, *candidate.shared_arguments]}
        arm = registered.model_copy(update=shared)
        changed = Arm(
            title=candidate.title,
            environment={**arm.environment, **candidate.environment},
            settings={**arm.settings, **candidate.settings},
            arguments=[*arm.arguments, *candidate.arguments],
        )
        amounts: dict[str, Scalar] = {"iterations": iterations, "steps": iterations}
        own, other = (self._command(self.trainer.command, one, amounts) for one in (arm, changed))
        if (own, arm.environment) == (other, changed.environment):
            raise TachographError(
                f"study {self.study.name}: candidates.{name}: its command and environment are those of arm {base}, "
                "expected a change"
            )
        parity = None
        if candidate.parity is not None:
            assert self.trainer.parity is not None
            words: dict[str, Scalar] = {"arms": f"{base},{candidate.parity}", "seed": seed}
            parity = self._command(self.trainer.parity, changed, words)
        trial = Trial(
            base, candidate.pairs, other, dict(changed.environment), candidate.requires, parity, candidate.parity
        )
        self._append("candidate", name, seed, iterations, own, arm.environment, trial=trial)

    def _command(self, template: list[str], arm: Arm, own: Mapping[str, Scalar]) -> tuple[str, ...]:
        """``template`` filled with settings, ``own`` values and what every command may know of the study."""
        defaults = {k: s.default for k, s in self.trainer.settings.items() if s.default is not None}
        known: dict[str, Scalar] = {"threads": self.study.threads, "arms": ",".join(self.study.arms)}
        values: dict[str, Scalar] = {**defaults, **self.study.settings, **arm.settings, **known, **own}
        if self.study.sweep:
            sizes = ",".join(map(str, self.study.sweep.batch_sizes))
            values |= {"batch_sizes": sizes, "warm_up": self.study.sweep.warm_up, "calls": self.study.sweep.calls}
        arguments = arm.arguments if template is self.trainer.command else []
        command = tuple(fill(part, values) for part in [*template, *arguments])
        for part in command:
            wrong = unknown_placeholder(part, FILLED_LAST)
            if wrong:  # such as a setting without default that arms give, in a command that is about all arms
                raise TachographError(f"study {self.study.name}: {shlex.join(template)}: {wrong}; it has no value here")
        return command

    def _append(
        self,
        role: Role,
        arm_name: str,
        seed: int,
        amount: int,
        command: tuple[str, ...],
        environment: Mapping[str, str],
        block: int | None = None,
        trial: Trial | None = None,
        cache: str | None = None,
    ) -> None:
        self.runs.append(
            identified(
                PlannedRun(
                    study=self.study.name,
                    role=role,
                    arm=arm_name,
                    seed=seed,
                    block=block,
                    position=len(self.runs),
                    amount=amount,
                    command=command,
                    environment=dict(environment),
                    clear_environment=tuple(self.trainer.clear_environment),
                    threads=self.study.threads,
                    device_kind=self.device_kind,
                    code=self.code,
                    max_hold_seconds=self.study.max_hold_minutes * 60.0,
                    identity="",
                    cache=cache,
                    trial=trial,
                )
            )
        )


def fill(part: str, values: Mapping[str, Scalar]) -> str:
    """``part`` of a command with the placeholders filled that ``values`` knows; the others stay."""
    return PLACEHOLDER.sub(lambda match: _text(values[match[1]]) if match[1] in values else match[0], part)


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def resolve_command(planned: PlannedRun, *, out: str, device: str, seed: int | None = None) -> list[str]:
    """The argument list that is executed: ``{python}``, ``{out}`` and ``{device}`` filled in, and an open ``{seed}``.

    ``seed`` None: that of the planned run.
    """
    values: dict[str, Scalar] = {"python": sys.executable, "out": out, "device": device}
    values["seed"] = planned.seed if seed is None else seed
    return [fill(part, values) for part in planned.command]
