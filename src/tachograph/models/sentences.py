"""What is wrong with a file, in one sentence of our own: file, place, what was found, what was expected."""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ValidationError

Location = tuple[int | str, ...]
Node = dict[str, Any]  # of a JSON schema
SHOWN = reprlib.Repr()
SHOWN.maxstring = SHOWN.maxother = 100
NAMES = {"boolean": "true or false", "null": "nothing"}
KEY_FIRST = re.compile(r"[a-z_]+(\[\d+\])?(\.[\w-]+)*: ")  # a check of a whole table begins with the key that is wrong


def sentence(file: str, error: ValidationError, model: type[BaseModel], value: Any) -> str:
    """The first fault of ``value`` and the number of others; an unknown key comes first, as a typo causes others."""
    errors = error.errors(include_url=False)
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    location = _known_part(first["loc"], value, first["type"])
    places = {_known_part(one["loc"], value, one["type"]) for one in errors}
    also = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    schema = model.model_json_schema(by_alias=True)
    place = _place(location) or "the whole file"
    message, kind = first["msg"].removeprefix("Value error, "), first["type"]
    if kind == "extra_forbidden":
        known = sorted(_table_or_list(schema, _node(schema, location[:-1])).get("properties", {}))
        words = f"unknown key, expected one of: {', '.join(known) or 'none'}{meant(location[-1], known)}"
        return f"{file}: {place}: {words}{also}"
    if kind != "value_error":
        found = "the key is missing" if kind == "missing" else f"found {_shown(first['input'])}"
        return f"{file}: {place}: {found}, expected {_expected_by(schema, location, first)}{also}"
    if KEY_FIRST.match(message):
        return f"{file}: {place + '.' if location else ''}{message}{also}"
    found = f"found {_shown(first['input'])}, " if message.startswith("expected") else ""
    return f"{file}: {place + ': ' if location else ''}{found}{message}{also}"


def meant(word: object, known: Iterable[str]) -> str:
    """`` (did you mean 'threads'?)`` where one of the ``known`` words is close to ``word``, else nothing."""
    close = difflib.get_close_matches(str(word), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _known_part(location: Location, value: Any, kind: str) -> Location:
    """``location`` without what names no key of ``value``: the branch of a choice of types, or "[key]"."""
    for depth, part in enumerate(location):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return location[: depth + 1] if kind == "missing" else location[:depth]
    return location


def _place(location: Location) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _node(schema: Node, location: Location) -> Node:
    """The part of the JSON schema that describes what stands at ``location``."""
    node: Node = schema
    for part in location:
        node = _table_or_list(schema, node)
        if isinstance(part, int):
            items = node.get("prefixItems", [])
            node = items[part] if part < len(items) else node.get("items", {})
        else:
            properties = node.get("properties", {})
            node = properties[part] if part in properties else node.get("additionalProperties", {})
    return _table_or_list(schema, node) if "$ref" in node else node


def _table_or_list(schema: Node, node: Any) -> Node:
    """``node`` with references followed, and of a choice the branch that can hold something."""
    while isinstance(node, dict):
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
        elif "anyOf" in node:
            branches = [_table_or_list(schema, one) for one in node["anyOf"]]
            node = next((one for one in branches if one.get("type") in ("object", "array")), branches[0])
        else:
            return node
    return {}


LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def _expected_by(schema: Node, location: Location, error: Any) -> str:
    """What may stand at ``location``; the limit that was broken is in ``error`` where the schema does not show it."""
    context = error.get("ctx", {})
    if error["type"] in ("string_too_long", "too_long"):
        return f"at most {context['max_length']} {'characters' if error['type'] == 'string_too_long' else 'entries'}"
    if error["type"] == "finite_number":
        return "a finite number"
    limits = {LIMITS[name]: value for name, value in context.items() if name in LIMITS}
    return expected(schema, {**_node(schema, location), **limits})


def expected(schema: Node, node: Node) -> str:
    """What may stand at a place, in words: ``an integer from 1 to 1024``, ``a list of strings``, ``one of: a, b``."""
    if "$ref" in node:
        node = _table_or_list(schema, node)
    if "anyOf" in node:
        branches = [one for one in node["anyOf"] if one.get("type") != "null"]
        limits = {name: node[name] for name in LIMITS.values() if name in node}
        return " or ".join(dict.fromkeys(expected(schema, {**one, **limits}) for one in branches))
    if "enum" in node:
        return f"one of: {', '.join(map(str, node['enum']))}"
    if "const" in node:
        return repr(node["const"])
    if "examples" in node:
        return f"a name such as {', '.join(map(str, node['examples']))}"
    kind = node.get("type", "")
    if kind in ("integer", "number"):
        return f"{'an integer' if kind == 'integer' else 'a number'}{_range(node)}"
    if node.get("format") == "date":
        return "a date such as 2026-01-31, without quotes"
    if kind == "string":
        return f"a string{' that is not empty' if node.get('minLength') else ''}"
    if kind == "array":
        return _list(schema, node)
    if kind == "object" and "properties" not in node:
        return f"a table{' that is not empty' if node.get('minProperties') else ''}"
    if kind == "object":
        keys = node.get("required", [])
        return f"a table with {', '.join(keys)}" if keys else "a table"
    return NAMES.get(kind, "another value")


def _range(node: Node) -> str:
    low, high = (None if node.get(name) is None else f"{node[name]:.15g}" for name in ("minimum", "maximum"))
    above, below = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    lower = f"of {low} or more" if low is not None else f"above {above:.15g}" if above is not None else ""
    upper = f"of {high} or less" if high is not None else f"below {below:.15g}" if below is not None else ""
    return f" {' and '.join(word for word in (lower, upper) if word)}" if lower or upper else ""


def _list(schema: Node, node: Node) -> str:
    if "prefixItems" in node:
        return f"a list of {' and '.join(expected(schema, one) for one in node['prefixItems'])}"
    inner = _table_or_list(schema, node.get("items", {}))
    kinds = {"string": "strings", "integer": "integers", "number": "numbers", "object": "tables"}
    of = f" of {kinds[inner['type']]}" if inner.get("type") in kinds else ""
    return f"a list{of}{' that is not empty' if node.get('minItems') else ''}"


def _shown(value: Any) -> str:
    """``value`` as Python writes it, cut short however long or deep it is."""
    return SHOWN.repr(value)
