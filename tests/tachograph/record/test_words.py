"""The words that a page explains are those that it uses, each once."""

from __future__ import annotations

import re

from tachograph.record.words import WORDS, words
from tachograph.study.layout import StudyFolder


def split(study: StudyFolder) -> tuple[str, str]:
    """The page of the record without its list of words, and that list."""
    page, _, listed = (study.record / "record.md").read_text().partition("\n## Words used here\n")
    return page, listed


def test_every_word_of_the_method_on_a_real_page_is_explained(recorded: StudyFolder) -> None:
    """What a newcomer stumbles over is in the list at the end, in one line, and what the page lacks is not."""
    page, listed = split(recorded)
    explained = re.findall(r"^- \*\*(.+?)\*\*: .+\.$", listed, re.MULTILINE)
    assert len(explained) == len(listed.strip().splitlines())
    for term in ("test D", "test E", "MSER", "exposure", "A/A", "envelope", "Amdahl", "PROVISIONAL", "NO VERDICT"):
        assert (term in page) == any(one.startswith(term) for one in explained), term
    assert ("δ\\*" in page) == ("δ\\*" in explained)
    assert "test D" in page
    assert "soak" not in listed


def test_each_word_is_found_and_only_where_it_stands() -> None:
    """A page without words of the field explains none; one with a single word explains that one."""
    assert words("Nothing of the kind.") == ""
    found = words("smallest possible p\\_min 0.333").splitlines()
    assert [line.split(":")[0] for line in found] == ["- **p, p\\_min**"]
    assert len({term for term, _, _ in WORDS}) == len(WORDS)


def test_one_off_cost_of_an_arm_and_of_a_candidate_are_told_apart() -> None:
    """An arm's is that of its warm-up, a candidate's that of its start: each where it stands, and no other."""
    assert words("|   costs once |").startswith("- **costs once**")
    assert "\n" not in words("|   costs once |")
    assert words("What the warm-up of fast costs once").splitlines()[-1].startswith("- **one-off cost**")
