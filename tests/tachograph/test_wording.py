"""What a page or a terminal says of counts and of exceptions."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tachograph
from tachograph.wording import counted, fault, share


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (counted(0, "block"), "0 blocks"),
        (counted(1, "block"), "1 block"),
        (counted(2, "frozen batch"), "2 frozen batches"),
        (counted(1, "iteration is", "iterations are"), "1 iteration is"),
        (counted(12345, "iteration is", "iterations are"), "12345 iterations are"),
        (share(1, 3, "planned run", "counts", "count"), "1 of 3 planned runs counts"),
        (share(0, 1, "planned run", "counts", "count"), "0 of 1 planned run count"),
    ],
)
def test_noun_and_verb_go_by_their_number(said: str, expected: str) -> None:
    """One of anything is singular, none and several are plural."""
    assert said == expected


def test_exception_is_told_without_its_class() -> None:
    """A missing key, a file that is not there, and an exception without words each give some."""
    assert fault(KeyError("runs")) == "'runs' is missing"
    with pytest.raises(FileNotFoundError) as missing:
        Path("/nowhere/at/all").read_text()
    assert fault(missing.value) == "/nowhere/at/all: No such file or directory"
    assert fault(ValueError("two rows")) == "two rows"
    assert fault(ValueError()) == "the program failed there and gave no reason"


def test_no_sentence_names_the_class_of_an_exception() -> None:
    """No string of the package is formatted with the class or the representation of what was caught."""
    for path in Path(tachograph.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FormattedValue):
                shown = ast.unparse(node.value)
                assert not ("__name__" in shown and "error" in shown), f"{path}: {shown}"
                assert not (shown == "error" and node.conversion == ord("r")), f"{path}: {shown}"


NAMES_OF_OTHERS = {"Socket(s)"}  # as lscpu(1) calls its field


def test_no_sentence_leaves_the_number_open() -> None:
    """No string of the package says "run(s)" or "process(es)", but for what other programs call so."""
    for path in Path(tachograph.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in NAMES_OF_OTHERS:
                assert "(s)" not in node.value.replace("(es)", "(s)"), f"{path}: {node.value}"
