"""The README says nothing that is not so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tachograph.record.verify import verify

REPOSITORY = Path(__file__).parents[1]
EXAMPLE = REPOSITORY / "docs" / "example-record"


def test_example_record_still_verifies():
    """A record of an earlier version stays readable, and every number of it follows from its raw files."""
    assert verify(EXAMPLE) == []


def test_excerpt_in_the_readme_is_that_of_the_example_record():
    """Every quoted line stands in the record that is shipped as the example."""
    text = (REPOSITORY / "README.md").read_text()
    excerpt = re.search(r"<!-- example-record -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert excerpt is not None
    quoted = [line.removeprefix("> ").rstrip() for line in excerpt[1].splitlines() if line.startswith("> ")]
    page = {line.rstrip() for line in (EXAMPLE / "record.md").read_text().splitlines()}
    assert len(quoted) > 10
    assert [line for line in quoted if line not in page and line != "[…]"] == []  # "[…]": left out here


@pytest.mark.parametrize("file", ["README.md", "config/README.md", "docs/recovery.md"])
def test_paths_named_in_the_documents_exist(file):
    """A file or folder that a document names in backquotes or links is there, unless a study writes it."""
    text = (REPOSITORY / file).read_text()
    named = set(re.findall(r"`([\w.-]+(?:/[\w.-]+)+)/?`", text))
    folder = (REPOSITORY / file).parent
    linked = {(folder / name).resolve() for name in re.findall(r"\]\(([\w./-]+)\)", text)}
    assert [path for path in linked if not path.exists()] == []
    written = ("results/", "record/", "config/trainers/NAME", "config/studies/NAME", "config/checkers/NAME")
    written += ("config/trainers/mine", "config/studies/first")  # files that the reader is to write
    named -= {name for name in named if re.fullmatch(r"[a-z-]+/\d+", name)}  # schemas of files
    missing = [name for name in named if not name.startswith(written) and not (REPOSITORY / name).exists()]
    assert missing == []
