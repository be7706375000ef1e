"""YAML read without its traps: no key twice, no alias, no word that turns into a number, a time or a yes by itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tachograph.errors import TachographError
from tachograph.files import read_bounded

MAX_BYTES = 64 * 1024
MAX_DEPTH = 20
WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
DECIMAL = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
TEXT = "tag:yaml.org,2002:str"


def read_yaml(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML (or JSON) file of at most 64 KiB.

    Plain words are text, but for ``null``, ``true``, ``false`` and decimal numbers. YAML 1.1, which most programs
    read, takes ``010`` for 8, ``12:30:00`` for 45000, ``off`` for false and ``1e-3`` for a text: what it and a person
    may read differently is refused, but for the last, which is the number. So are keys that stand twice, anchors,
    aliases (a few lines of them stand for more than a memory can hold) and tags. Raises TachographError naming file,
    line, found and expected.
    """
    try:
        text = read_bounded(path, MAX_BYTES).decode()
        _refuse_unplain(text, path)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if not isinstance(root, yaml.MappingNode):
            raise TachographError(f"{path}: found no keys, expected lines like 'device: auto'")
        return _mapping(root, path)
    except UnicodeDecodeError as error:
        raise TachographError(f"{path}: cannot be read as YAML: {error}") from None
    except OSError as error:
        raise TachographError(f"{path}: cannot be read: {error.strerror}") from None
    except yaml.MarkedYAMLError as error:
        raise TachographError(
            f"{path}: line {_line(error.problem_mark)}: cannot be read as YAML: {error.problem}"
        ) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise TachographError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from None


def _line(mark: Any) -> int:
    """The line of a mark of the reader, from 1."""
    return int(mark.line) + 1


def _refuse_unplain(text: str, path: Path) -> None:
    """Anchors, aliases, tags, and nesting that the reader would take minutes for."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = _line(event.start_mark)
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise TachographError(f"{path}: line {line}: found the anchor or alias {event.anchor!r}, expected none")
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
            raise TachographError(f"{path}: line {line}: found the tag {event.tag!r}, expected none")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise TachographError(f"{path}: line {line}: nested more than {MAX_DEPTH} deep")


def _mapping(node: yaml.MappingNode, path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key, line = _value(key_node, path), _line(key_node.start_mark)
        if not isinstance(key, str):
            raise TachographError(f"{path}: line {line}: found the key {key!r}, expected a word")
        if key in found:
            raise TachographError(f"{path}: line {line}: found the key {key!r} twice, expected each key once")
        found[key] = _value(value_node, path)
    return found


def _value(node: yaml.Node, path: Path) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path)
    if isinstance(node, yaml.SequenceNode):
        return [_value(one, path) for one in node.value]
    assert isinstance(node, yaml.ScalarNode)  # there is no other kind
    word = str(node.value)
    if node.style is not None:  # quoted, or a block of text
        return word
    if word in WORDS:
        return WORDS[word]
    if INTEGER.fullmatch(word):
        return int(word)
    if DECIMAL.fullmatch(word):
        return float(word)
    if node.tag != TEXT:
        raise TachographError(
            f"{path}: line {_line(node.start_mark)}: found {word}, which YAML does not take for what it looks like; "
            "expected a decimal number, true, false, or a text in quotes"
        )
    return word
