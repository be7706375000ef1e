"""Configurations and overrides: typed, and a wrong one is told in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lost_cities.cli import main
from lost_cities.config import Config, load_config
from lost_cities.errors import LostCitiesError

CONFIGS = Path(__file__).parents[2] / "config" / "lost_cities"
ALIASES = (
    "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)) + "run: *a11"
)


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
        (
            "evaluation.opponents=random,nobody",
            "found 'nobody', expected 'random', 'passive_discard', 'safe_heuristic'",
        ),
        ("evaluation.opponents=random,,noisy_safe", "evaluation.opponents: found '', expected 'random'"),
        ("run.iterations=" + "9" * 5000, "..., expected a smaller integer"),
        ("optimization.strategy_learning_rate=1e38", "expected less than or equal to 1000"),
        ("run.device=cpu:5", "run.device: found 'cpu:5', expected cpu, cuda or cuda:N"),
        ("run.device=cuda:-1", "run.device: found 'cuda:-1', expected cpu, cuda or cuda:N"),
        ("run.iterations=1e99", "expected integer"),
        (
            "optimization.gradient_clip=inf",
            "optimization.gradient_clip: found inf, expected a finite number",
        ),
        ("evaluation.opponents=", "evaluation.opponents: found [], expected"),
        ("evaluation.opponents=random,random", "evaluation.opponents: found random, random, expected each once"),
        ("network.hidden=100000000", "not enough memory for this configuration"),
        ("memory.strategy_capacity=100000000000", "not enough memory for this configuration"),
        ("memory.strategy_capacity=1000000000000000000000", "expected less than or equal to"),
        ("run.threads=9999", "run.threads: found 9999, expected at most"),
        ("traversal.num_workers=9999", "traversal.num_workers: found 9999, expected at most"),
        ("evaluation.num_workers=9999", "evaluation.num_workers: found 9999, expected at most"),
        ("network.layers=9999", "network.layers: found '9999', expected less than or equal to 100"),
        ("traversal.width=9999999", "traversal.width: found '9999999', expected less than or equal to 1000000"),
        ("traversal.traversals_per_player=9999999", "expected less than or equal to 1000000"),
        ("evaluation.games=9999999", "expected less than or equal to 1000000"),
        ("optimization.strategy_batch_size=9999999", "expected less than or equal to 1000000"),
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
    assert len(told) < 400
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run: {iterations: '5'}", "run.iterations: found '5', expected integer"),
        ("run: {iteration: 5}", "run.iteration is not a key of the configuration, expected one of iterations"),
        ("runs: {iterations: 5}", "runs is not a key of the configuration, expected one of game"),
        ("- run", "expected sections with keys"),
        ("run: [", "is not YAML"),
        ("run:", "run: found None, expected keys with values"),
        ("1: {iterations: 5}", "1: found 1, expected a name as key"),
        ("run: {iterations: 5, iterations: 6}", "found the key 'iterations' twice in"),
        ("run: {iterations: 5}\nrun: {device: cpu}", "found the key 'run' twice in"),
        ("run: {use_amp: yes}", "run.use_amp: found 'yes', expected boolean"),
        ("run: {iterations: 1:30}", "run.iterations: found '1:30', expected integer"),
        ("run: {iterations: 1e3}", "run.iterations: found 1000.0, expected integer"),
        ("run: {iterations: 2020-99-99}", "run.iterations: found '2020-99-99', expected integer"),
        ("run: {iterations: " + "9" * 5000 + "}", "is not YAML: Exceeds the limit"),
        ("run: !!bool x", "is not YAML"),
        ("[" * 500, "is not YAML: found too many brackets"),
        ("run: &a [*a]", "run: found [[...]], expected keys with values"),
        ("run: [" + "x, " * 500 + "]", "..., expected keys with values"),
        (ALIASES, "run: found [[...], [...], [...], [...], [...], [...], [...], [...], [...], [...]], expected keys"),
        (b"run: {device: '\xff'}", "is not UTF-8: found byte 0xff"),
        ("#" * 1_000_001, "found more than 1000000 bytes"),
    ],
)
def test_wrong_files_are_refused(text, words, tmp_path):
    """A file with an unknown key, a wrong type or no YAML at all is named together with the key."""
    path = tmp_path / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(LostCitiesError) as caught:
        load_config(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 500


def test_numbers_of_a_file_are_read_as_those_of_an_override(tmp_path):
    """Powers of ten, leading zeros and underscores mean the same in both, whatever YAML 1.1 makes of them."""
    path = tmp_path / "config.yaml"
    texts = {"optimization.gradient_clip": "1e-3", "run.iterations": "010", "memory.strategy_capacity": "2_000"}
    path.write_text("".join("{}: {{{}: {}}}\n".format(*key.split("."), text) for key, text in texts.items()))
    config = load_config(path)
    assert config == load_config(None, [f"{key}={text}" for key, text in texts.items()])
    assert (config.optimization.gradient_clip, config.run.iterations) == (0.001, 10)


@pytest.mark.parametrize(
    ("command", "override"),
    [("forward", "run.use_amp=true"), ("engine", "network.hidden=4"), ("parity", "run.iterations=9")],
)
def test_an_override_that_a_command_does_not_read_is_refused(command, override, tmp_path, capsys):
    """What would change nothing in the result of a command is told, and no result is written."""
    assert main([command, "--set", override, "--out", str(tmp_path / "x.json")]) == 2
    assert "does nothing here, expected one of game." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_endless_file_is_refused():
    """A device that never ends is no configuration; reading stops."""
    with pytest.raises(LostCitiesError, match="/dev/zero: found more than"):
        load_config(Path("/dev/zero"))


RESULTS = [
    ["forward", "--calls", "2", "--batch-sizes", "1,2"],
    ["engine", "--games", "1"],
    ["parity", "--batches", "1", "--iterations", "1"],
    ["strength", "--checkpoint", "nowhere.pt"],
]


@pytest.mark.parametrize("command", RESULTS, ids=lambda command: command[0])
@pytest.mark.parametrize("out", ["/proc/x", "/proc/a/b.json", "{folder}/file/x.json", "{folder}"])
def test_result_that_cannot_be_written_is_told_at_once(command, out, tmp_path, capsys):
    """A file system that takes no file, a file as a folder, a folder as a file: one sentence before the work."""
    (tmp_path / "file").touch()
    assert main([*command, "--out", out.format(folder=tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.startswith("lost_cities: error: ")
    assert "cannot be written" in told
    assert "Errno" not in told
    assert told.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_failed_command_makes_no_folder(tmp_path, capsys):
    """The folder of a result is made with it: a command that fails leaves none."""
    assert main(["strength", "--checkpoint", str(tmp_path / "none.pt"), "--out", str(tmp_path / "a/b/c.json")]) == 2
    assert "is not there, expected a checkpoint" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"x", b""], ids=["folder", "text", "empty"])
def test_what_is_no_checkpoint_is_refused(content, tmp_path, capsys):
    """A folder, a text and an empty file are told without the name of an exception."""
    path = tmp_path / "checkpoint.pt"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    assert main(["strength", "--checkpoint", str(path)]) == 2
    told = capsys.readouterr().err
    assert "expected" in told
    assert "Error" not in told


def test_training_into_a_file_is_refused(tmp_path, capsys):
    """--out that is a file: told as such."""
    (tmp_path / "file").touch()
    assert main(["train", "--out", str(tmp_path / "file"), "--set", "run.iterations=1"]) == 2
    assert "file is a file, expected a folder or none yet" in capsys.readouterr().err


@pytest.mark.parametrize("sizes", ["4,1", "1,1", "1,", "0", "9999999"])
def test_batch_sizes_rise(sizes, tmp_path, capsys):
    """Sizes that fall, repeat, are missing or too large: told, and no file."""
    with pytest.raises(SystemExit) as ended:
        main(["forward", "--batch-sizes", sizes, "--out", str(tmp_path / "x.json")])
    assert ended.value.code == 2
    assert "--batch-sizes: found" in capsys.readouterr().err


IDLE = [  # an option, a value that is not its default, a section's options with which that does nothing, what it needs
    ("game.bonus_cards", 3, {"bonus": 0}, "game.bonus of 1 or more"),
    ("game.bonus_cards", 9, {"ranks": 5}, "game.bonus of 1 or more and so many cards in a colour"),
    ("traversal.num_workers", 5, {"traversals_per_player": 7}, "a chunk of traversals for each"),
    ("traversal.epsilon", 0.3, {"sampling": "external"}, "traversal.sampling outcome"),
    ("traversal.baseline", "none", {"sampling": "external"}, "traversal.sampling outcome"),
    ("traversal.width", 32, {"inference": "single"}, "traversal.inference batched"),
    ("traversal.worker_chunk_size", 35, {"num_workers": 0}, "traversal.num_workers of 1 or more"),
    ("evaluation.games", 9, {"eval_every": 0}, "evaluation.eval_every of 1 or more"),
    ("evaluation.light_every", 6, {"eval_every": 3}, "iterations of its own"),
    (
        "evaluation.num_workers",
        3,
        {"opponents": ["random", "noisy_safe"]},
        "evaluation.eval_every or evaluation.light_",
    ),
    ("evaluation.light_games", 9, {"light_every": 0}, "evaluation.light_every of 1 or more"),
    ("evaluation.light_opponents", ["random"], {"light_every": 0}, "evaluation.light_every of 1 or more"),
    ("evaluation.num_workers", 2, {"eval_every": 0}, "evaluation.eval_every or evaluation.light_every of 1 or more"),
    ("evaluation.diagnostics", False, {"eval_every": 0}, "evaluation.eval_every or evaluation.light_every of 1 or"),
]
HELPFUL = {
    "bonus": 5,
    "num_workers": 1,
    "ranks": 9,
    "traversals_per_player": 1000,
    "opponents": ["random", "noisy_safe", "safe_heuristic"],
    "light_every": 5,
    "eval_every": 5,
    "sampling": "outcome",
    "inference": "batched",
}


def override(key: str, value: object) -> str:
    text = ",".join(value) if isinstance(value, list) else str(value)
    return f"{key}={text}"


@pytest.mark.parametrize(("option", "value", "beside", "needs"), IDLE)
def test_an_option_without_effect_is_refused_where_it_is_set(option, value, beside, needs, tmp_path):
    """Among overrides, in whatever order, and in a file: one sentence with the option and what it needs."""
    section, name = option.split(".")
    sentence = f"{option}: found {value!r}, which has no effect without {needs}"
    switches = [override(f"{section}.{key}", one) for key, one in beside.items()]
    for overrides in ([override(option, value), *switches], [*switches, override(option, value)]):
        with pytest.raises(LostCitiesError) as caught:
            load_config(None, overrides)
        assert str(caught.value).startswith(f"--set: {sentence}")
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({section: {name: value, **beside}}))
    with pytest.raises(LostCitiesError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: {sentence}")


@pytest.mark.parametrize(("option", "value", "beside", "needs"), IDLE)
def test_an_override_may_switch_off_what_a_file_sets(option, value, beside, needs, tmp_path):
    """In the file the option has its effect; who switches that off on the command line knows. Defaults pass too."""
    section, name = option.split(".")
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({section: {name: value, **{key: HELPFUL[key] for key in beside}}}))
    switches = [override(f"{section}.{key}", one) for key, one in beside.items()]
    assert getattr(getattr(load_config(path, switches), section), name) == value
    default = getattr(getattr(Config(), section), name)
    load_config(None, [override(option, default), *switches])


def test_shipped_configurations_are_valid():
    """Every file of config/lost_cities is read; default.yaml names every key with the default that the code has."""
    files = sorted(CONFIGS.glob("*.yaml"))
    assert {"default.yaml", "document-001.yaml"} <= {path.name for path in files}
    for path in files:
        load_config(path)
    assert load_config(CONFIGS / "default.yaml") == Config()
