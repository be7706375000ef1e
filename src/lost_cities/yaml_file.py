"""YAML as a configuration needs it: numbers and booleans as in YAML 1.2, each key once, any damage one sentence.

YAML 1.1, which PyYAML reads by itself, takes ``yes`` for true, ``010`` for 8, ``1:30`` for 90, ``1e-3`` for a text and
an impossible date for a crash; and the second of two equal keys silently replaces the first.
"""

from __future__ import annotations

import re
import reprlib
from pathlib import Path
from typing import Any

import yaml

from lost_cities.errors import LostCitiesError

LARGEST_FILE = 1_000_000  # bytes of a configuration
SHORT = reprlib.Repr()
SHORT.maxlevel, SHORT.maxlist, SHORT.maxdict, SHORT.maxstring = 1, 100, 100, 100
SCALARS = {  # https://yaml.org/spec/1.2.2/#1032-tag-resolution; underscores as in the overrides
    "bool": r"true|True|TRUE|false|False|FALSE",
    "null": r"null|Null|NULL|~|",
    "int": r"[-+]?[0-9][0-9_]*",
    "float": r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"found the key {key.value!r} twice", key.start_mark
                    )
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)

    def construct_decimal(self, node: yaml.ScalarNode) -> int:
        return int(str(self.construct_scalar(node)).replace("_", ""))


for _name, _pattern in SCALARS.items():  # in this order: a whole number is no float
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), None)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_decimal)


def read_yaml(path: Path) -> dict[str, Any]:
    """The sections in ``path``, an empty file has none. :class:`LostCitiesError` if it cannot be read as such."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise LostCitiesError(f"{path}: found more than {LARGEST_FILE} bytes, expected a configuration")
        values = yaml.load(content.decode(), _Loader)
    except OSError as error:
        raise LostCitiesError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise LostCitiesError(f"{path} is not UTF-8: found byte {error.object[error.start]:#x}") from None
    except RecursionError:
        raise LostCitiesError(f"{path} is not YAML: found too many brackets in each other") from None
    except (yaml.YAMLError, ValueError, KeyError) as error:  # a tag such as !!int before a text raises the latter
        raise LostCitiesError(f"{path} is not YAML: {' '.join(str(error).split())[:300]}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise LostCitiesError(f"{path}: found {shortened(values)}, expected sections with keys")
    return values


def shortened(value: Any) -> str:
    """``value`` as a sentence can hold it; lists in lists are not written out, which aliases can make endless."""
    text = SHORT.repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
