"""The simulated laboratory keeps its promises; the quick tests use fewer studies than the printed table."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

PATH = Path(__file__).parents[3] / "benchmarks" / "laboratory.py"


@pytest.fixture(scope="module")
def laboratory() -> ModuleType:
    spec = importlib.util.spec_from_file_location("laboratory", PATH)
    assert spec is not None
    assert spec.loader is not None
    sys.path.insert(0, str(PATH.parent))  # its own package of simulated studies lies beside it
    module = importlib.util.module_from_spec(spec)
    sys.modules["laboratory"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("table", "studies"),
    [
        ("coverage", 300),
        ("false_differences", 300),
        ("difference_power", 500),
        ("equivalence_power", 300),
        ("false_caps", 100),
        ("whole_studies", 100),
    ],
)
def test_promise_is_kept(laboratory: ModuleType, table: str, studies: int) -> None:
    """Coverage, false calls, powers and decisions are as promised, with fixed seeds."""
    found = getattr(laboratory, table)(studies)
    assert found.kept, f"{found.title}: {found.rows}"


def test_a_broken_method_breaks_the_promise(laboratory: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an interval half as wide the laboratory notices: its promise is able to fail."""
    honest = laboratory.paired_log_t

    def too_narrow(reference: list[float], fast: list[float]) -> object:
        return honest(reference, fast, confidence=0.70)

    monkeypatch.setattr(laboratory, "paired_log_t", too_narrow)
    assert not laboratory.coverage(100).kept


def test_undivided_error_rate_breaks_the_promise(laboratory: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a larger error rate for all caps together, too many stationary studies are capped."""
    monkeypatch.setattr("tachograph.analysis.conditions.FALSE_CAPS", 0.30)
    assert not laboratory.false_caps(40).kept


def test_drift_called_without_its_interval_breaks_the_promise(
    laboratory: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drift that is called from 2 % on, however uncertain, caps too many stationary studies."""
    monkeypatch.setattr("tachograph.evidence.drift.t", SimpleNamespace(ppf=lambda *_: 0.0, sf=lambda *_: 0.0))
    assert not laboratory.false_caps(40).kept


@pytest.mark.slow
def test_whole_laboratory() -> None:
    """The command prints every table and exits with 0."""
    done = subprocess.run([sys.executable, str(PATH)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Promise: ") == 7
    assert "NOT KEPT" not in done.stdout
