"""The fault suite: its study, its option ``--repeat``, and the table at its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tachograph"))  # lease_helpers

from laboratory import REFERENCE, Laboratory, make_laboratory
from rows import Result, Row, table


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--repeat", type=int, default=1, help="how often the rows with several programs at once are run")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "repetition" in metafunc.fixturenames:
        repeat = metafunc.config.getoption("repeat", 1)  # unknown where this file was not named on the command line
        metafunc.parametrize("repetition", range(1, repeat + 1))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table; the rows travel with the reports of the tests."""
    results = []
    for state in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(state, []):
            said = dict(getattr(report, "user_properties", []))
            if said.get("fault"):
                reason = report.longrepr[2].removeprefix("Skipped: ") if state == "skipped" else ""
                results.append(Result(Row(said["fault"], said["how"], said["outcome"]), state, reason))
    if results:
        terminalreporter.section("faults")
        terminalreporter.write_line(table(results))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    row = getattr(item, "fault_row", None)
    if row is not None and call.when == "call":
        item.user_properties.extend(row.as_properties())
    yield


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    """The row of the table that this test fills in."""
    request.node.fault_row = Row()
    return request.node.fault_row


@pytest.fixture(scope="session")
def prepared_once(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """The study with its reference run made: what may be lost. Not to be changed."""
    made = make_laboratory(tmp_path_factory.mktemp("prepared") / "project")
    done = made.snakemake("--cores", "2", REFERENCE)
    assert done.returncode == 0, done.stdout
    return made


@pytest.fixture
def lab(prepared_once: Laboratory, tmp_path: Path) -> Iterator[Laboratory]:
    """A copy of the prepared study; nothing that it starts outlives the test."""
    copy = prepared_once.copy_to(tmp_path / "project")
    yield copy
    copy.end_everything()
