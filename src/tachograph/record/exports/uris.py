"""Names of Tachograph's own kinds of things where a format asks for a URI."""

from __future__ import annotations

BUILD_TYPE = "urn:x-tachograph:study:1"
BUILDER = "urn:x-tachograph:workflow"
TACHOGRAPH = "urn:x-tachograph:engine"


def trainer_uri(name: str, code: list[str]) -> str:
    """A trainer of one code: its name and the beginnings of its fingerprints."""
    return ":".join(["urn:x-tachograph:trainer", name, *(one[:16] for one in code)])
