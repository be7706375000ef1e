"""Text in the record's page stays text."""

from __future__ import annotations

import pytest

from tachograph.record.markdown import code, factor, number, significant, table, text


def test_markup_is_escaped() -> None:
    """Nothing in a cell opens markup, HTML, a link or another cell; a line stays a line."""
    assert text("a|b\n<b>*x* [y](z) `c`") == "a\\|b \\<b\\>\\*x\\* \\[y\\](z) \\`c\\`"


def test_hashes_are_verbatim_and_code_stays_in_its_cell() -> None:
    """A hash is shown as it is; code that would leave its cell is escaped text instead."""
    assert code("a" * 64) == "`" + "a" * 64 + "`"
    assert code("a|`b`") == "a\\|\\`b\\`"


def test_table_has_one_line_per_row() -> None:
    """Cells with line breaks do not break the table."""
    lines = table(["x", "y"], [[text("1\n2"), "3"]], right=(1,)).splitlines()
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "unknown"), (0, "0"), (0.00879, "0.00879"), (13991.0, "13,991"), (1.05e-6, "1.05e-06")]
)
def test_significant_digits(value: float | None, shown: str) -> None:
    """Three significant digits, plain where that is readable; unknown is said and never 0."""
    assert significant(value) == shown


def test_numbers_and_factors() -> None:
    """Thousands get separators; a factor without interval has no brackets."""
    assert number(206848) == "206,848"
    assert factor(2.3679) == "2.37x"
    assert factor(2.3679, 1.788, 3.139) == "2.37x [1.79, 3.14]"
