"""Configurations and overrides: typed, and a wrong one is told in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from lost_cities.cli import main
from lost_cities.config import Config, load_config
from lost_cities.errors import LostCitiesError

CONFIGS = Path(__file__).parents[2] / "config" / "lost_cities"


def test_overrides_are_typed():
    """Each override becomes the type of its key, whatever YAML would have made of the text."""
    config = load_config(
        None,
        [
            "run.use_amp=true",
            "optimization.strategy_learning_rate=1e-3",
            "memory.advantage_capacity=2_000",
            "evaluation.opponents=random,noisy_safe",
            "traversal.inference=single",
        ],
    )
    assert config.run.use_amp is True
    assert config.optimization.strategy_learning_rate == 0.001
    assert config.memory.advantage_capacity == 2000
    assert config.evaluation.opponents == ["random", "noisy_safe"]
    assert config.traversal.inference == "single"


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("run.use_ampp=true", "run.use_ampp is not a key, expected run. and one of iterations, device"),
        ("runs.use_amp=true", "runs.use_amp is not a key, expected a section out of game, run"),
        ("run.use_amp", "found 'run.use_amp', expected section.key=value"),
        ("run.use_amp=maybe", "run.use_amp=maybe: run.use_amp: found 'maybe', expected boolean"),
        ("run.iterations=3.5", "run.iterations: found '3.5', expected integer"),
        ("run.iterations=0", "run.iterations: found '0', expected greater than or equal to 1"),
        (
            "optimization.strategy_learning_rate=fast",
            "optimization.strategy_learning_rate: found 'fast', expected number",
        ),
        ("traversal.inference=both", "traversal.inference: found 'both', expected 'single' or 'batched'"),
        ("evaluation.opponents=random,nobody", "found 'nobody', expected 'random'"),
        ("run.iterations=1e99", "expected integer"),
        (
            "optimization.strategy_learning_rate=inf",
            "optimization.strategy_learning_rate: found inf, expected a finite number",
        ),
        ("evaluation.opponents=", "evaluation.opponents: found [], expected"),
        ("evaluation.opponents=random,random", "evaluation.opponents: found random, random, expected each once"),
        ("network.hidden=100000000", "not enough memory for this configuration"),
        ("memory.strategy_capacity=100000000000000", "not enough memory for this configuration"),
        ("game.hand=30", "two hands of 30 and 60 cards in all, expected at least 61"),
        ("evaluation.asynchronous=true", "evaluation.num_workers 0, expected at least one worker"),
    ],
)
def test_wrong_overrides_are_refused(override, words, tmp_path, capsys):
    """An unknown key, a wrong type or an impossible game: exit code 2, one sentence, nothing written."""
    out = tmp_path / "out"
    assert main(["train", "--out", str(out), "--set", override]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.startswith("lost_cities: error: ")
    assert told.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run: {iterations: '5'}", "run.iterations: found '5', expected integer"),
        ("run: {iteration: 5}", "run.iteration is not a key of the configuration, expected one of iterations"),
        ("runs: {iterations: 5}", "runs is not a key of the configuration, expected one of game"),
        ("- run", "expected sections with keys"),
        ("run: [", "is not YAML"),
    ],
)
def test_wrong_files_are_refused(text, words, tmp_path):
    """A file with an unknown key, a wrong type or no YAML at all is named together with the key."""
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(LostCitiesError) as caught:
        load_config(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_shipped_configurations_are_valid():
    """Every file of config/lost_cities is read; default.yaml names every key with the default that the code has."""
    files = sorted(CONFIGS.glob("*.yaml"))
    assert {"default.yaml", "document-001.yaml"} <= {path.name for path in files}
    for path in files:
        load_config(path)
    assert load_config(CONFIGS / "default.yaml") == Config()
