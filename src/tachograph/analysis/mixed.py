"""Counted runs that were not made alike: with other software, code, devices, or variables of whoever started them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tachograph.analysis.sealed import Sealed, SealedRun

# Variables of our own, of which a deviation of its own tells, and those that say where a job ran and not how.
NOT_OF_THE_CALLER = frozenset({"OMP_NUM_THREADS", "NUMBA_CACHE_DIR", "SLURM_JOB_ID", "SLURM_NODEID"})


def mixed(sealed: Sealed) -> Iterator[str]:
    """One sentence for each aspect in which the counted runs differ, with the runs by what they had."""
    aspects: dict[str, Callable[[SealedRun], str]] = {
        "boot": lambda run: run.facts["outcome"]["boot_id"],
        "physical device": lambda run: run.facts["device"]["physical_id"],
        "commit of the trainer": lambda run: _commit(run.facts["code"]["git"]),
        "version of tachograph": lambda run: run.facts["generator"]["version"],
        "software": lambda run: _software(run.facts["software"]),
        "host": lambda run: run.facts["process"]["host"],
    }
    for name, aspect in aspects.items():
        yield from _differing(name, {key: aspect(run) for key, run in sealed.runs.items()})
    registered = {name for run in sealed.planned for name in _own(run.environment, run.trial)}
    for environments in _of_each_program(sealed.runs):
        names = {name for one in environments.values() for name in one} - registered - NOT_OF_THE_CALLER
        for name in sorted(names):
            yield from _differing(name, {key: one.get(name, "unset") for key, one in environments.items()})


def _differing(name: str, values: Mapping[str, str]) -> Iterator[str]:
    """A sentence where the ``values`` of runs, by their keys, are not all the same."""
    groups: dict[str, list[str]] = {}
    for key, value in values.items():
        groups.setdefault(value, []).append(key)
    if len(groups) > 1:
        what = "; ".join(f"{value}: {', '.join(keys)}" for value, keys in groups.items())
        yield f"the runs differ in {name} ({what})"


def _own(environment: dict[str, str], trial: Any) -> set[str]:
    """Variables that the study itself gives to some run, and so are no accident."""
    return {*environment, *(trial.environment if trial else ())}


def _of_each_program(runs: Mapping[str, SealedRun]) -> list[dict[str, dict[str, str]]]:
    """Recorded environments by run, for the runs that are kept from the same variables of their caller."""
    groups: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for key, run in runs.items():
        groups.setdefault(run.planned.clear_environment, {})[key] = run.facts["environment"]
    return list(groups.values())


def _commit(git: dict[str, Any]) -> str:
    return f"{git['commit']}{' with changes ' + git['diff_sha256'][:12] if git['dirty'] else ''}"


def _software(packages: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(packages.items()) if version)
