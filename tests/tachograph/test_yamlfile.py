"""YAML means what a person reads in it, or it is refused with file, line, found and expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tachograph.errors import TachographError
from tachograph.study.loading import merged_configuration
from tachograph.yamlfile import MAX_BYTES, read_yaml


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "c.yaml"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),  # a text to YAML 1.1
        ("10", 10),
        ("-0.5", -0.5),
        ("true", True),
        ("null", None),
        ("", None),
        ("auto", "auto"),
        ("cuda:0", "cuda:0"),
        ("'010'", "010"),
        ('"off"', "off"),
        ("[toy, '12']", ["toy", "12"]),
        ("{a: 1}", {"a": 1}),
    ],
)
def test_value_is_what_it_looks_like(file: Path, text: str, value: object) -> None:
    """Numbers, words and quoted texts, of the same type too."""
    file.write_text(f"key: {text}\n")
    found = read_yaml(file)["key"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "text", ["010", "0123456", "12:30:00", "off", "yes", "No", "0x10", "1_000", "2026-11-30", ".inf", ".nan", "<<", "="]
)
def test_value_that_yaml_changes_is_refused(file: Path, text: str) -> None:
    """What PyYAML would make of it (8, 42798, 45000, False, …) is not what stands there."""
    file.write_text(f"first: 1\nkey: [{text}]\n")
    with pytest.raises(TachographError, match=r"c\.yaml: line 2: found .*expected a decimal number"):
        read_yaml(file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3: found the key 'a' twice"),
        ("a: {b: 1, b: 2}\n", "line 1: found the key 'b' twice"),
        ('{"a": 1, "a": 2}', "line 1: found the key 'a' twice"),
        ("a: &x [1]\nb: *x\n", "line 1: found the anchor or alias 'x'"),
        ("a: *x\n", "line 1: found the anchor or alias 'x'"),
        ("a: !!python/object/apply:os.system [id]\n", "line 1: found the tag"),
        ("a: !!str 1\n", "line 1: found the tag"),
        ("1: a\n", "line 1: found the key 1, expected a word"),
        ("- a\n", "found no keys"),
        ("", "found no keys"),
        ("a: [1\n", "line 2: cannot be read as YAML"),
        ("a: 1\n---\na: 2\n", "line 2: cannot be read as YAML"),
        ("a: \x07\n", "cannot be read as YAML"),
        ("a: " + "[" * 30_000, "line 1: nested more than 20 deep"),
        ("#" * (MAX_BYTES + 1), f"expected at most {MAX_BYTES}"),
    ],
)
def test_what_is_no_plain_yaml_is_refused(file: Path, text: str, words: str) -> None:
    """Keys that stand twice, references, tags, other documents, and what is too large or too deep."""
    file.write_text(text)
    with pytest.raises(TachographError, match=words):
        read_yaml(file)


def test_file_that_is_not_text(file: Path) -> None:
    """Bytes that are no UTF-8, and a file that is not there."""
    with pytest.raises(TachographError, match=r"c\.yaml: cannot be read: No such file"):
        read_yaml(file)
    file.write_bytes(b"a: \xff\n")
    with pytest.raises(TachographError, match=r"c\.yaml: cannot be read as YAML"):
        read_yaml(file)


def test_later_files_and_the_command_line_win(tmp_path: Path) -> None:
    """As Snakemake merges them; an error names where the values came from."""
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("studies: [a]\ndevice: cpu\nmax_wait_minutes: 1e1\n")
    second.write_text("device: auto\n")
    found = merged_configuration([first, second], {"studies": ["b"]})
    assert (found.studies, found.device, found.max_wait_minutes) == (["b"], "auto", 10.0)
    with pytest.raises(TachographError, match=r"first\.yaml with --config: device: found 'x+…?.*x', expected"):
        merged_configuration([first], {"device": "x" * 100_000})
