"""Records side by side: pooled only where the facts agree, and what is no record is refused."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tachograph_study import execute_study, lay_out, make

from tachograph.cli import main
from tachograph.commands.compare import comparison
from tachograph.evidence.decision import decide_over_sessions
from tachograph.evidence.verdicts import Decision
from tachograph.files import read_json, write_json
from tachograph.record.document import MACHINE_SCHEMA
from tachograph.record.facts import ReadRecord, read_record
from tachograph.record.pooling import pool
from tachograph.study.layout import StudyFolder


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """The same study executed anew in another place, with a record. Not to be changed."""
    root = tmp_path_factory.mktemp("again")
    lay_out(root)
    folder = execute_study(root)
    make(folder)
    return folder


@pytest.fixture
def elsewhere(again: StudyFolder, tmp_path: Path) -> Callable[..., StudyFolder]:
    """A copy of it, recorded anew after facts of its machine were changed."""

    def build(**facts: Any) -> StudyFolder:
        folder = StudyFolder(Path(shutil.copytree(again.path, tmp_path / "elsewhere")))
        shutil.rmtree(folder.record)
        write_json(folder.machine, {**read_json(folder.machine), **facts})
        make(folder)
        return folder

    return build


def headline(folder: StudyFolder) -> float:
    factors = read_json(folder.record / "record.json")["factors"]
    return float(next(one["factor"] for one in factors if one["headline"]))


def test_two_sessions_are_pooled(
    recorded: StudyFolder, elsewhere: Callable[..., StudyFolder], capsys: pytest.CaptureFixture[str]
) -> None:
    """After a reboot the same study on the same machine: the geometric mean of both factors, and what differs."""
    other = elsewhere(boot_id="another-boot")
    assert main(["compare", str(recorded.path), str(other.record)]) == 0
    page = capsys.readouterr().out
    mean = math.sqrt(headline(recorded) * headline(other))
    assert f"**fast over reference, collection throughput**: {mean:.2f}x over 2 sessions (R1, R2)" in page
    assert "uninformative" in page  # two sessions have one degree of freedom
    differing = page.split("## What differs")[1].split("Alike:")[0]
    assert "| boot " in differing
    assert "registration" not in differing
    assert "1 registered" in page  # the rule over sessions


def test_interval_over_sessions_is_the_t_interval(recorded: StudyFolder, again: StudyFolder) -> None:
    """Three sessions with factors of 1.9, 2.0 and 2.1: mean and interval of their logarithms by hand."""
    records = []
    for number, factor in enumerate((1.9, 2.0, 2.1)):
        record = read_record((recorded, again)[number % 2].path)
        content = {**record.content, "factors": [{**one, "factor": factor} for one in record.content["factors"]]}
        histories = frozenset({str(number)})
        records.append(replace(record, content=content, boot=str(number), histories=histories))
    pooled, refusals = pool(records, ["R1", "R2", "R3"])
    logs = [math.log(value) for value in (1.9, 2.0, 2.1)]
    centre = sum(logs) / 3
    half = 4.302653 * math.sqrt(sum((x - centre) ** 2 for x in logs) / 2 / 3)  # t(2) at 97.5 %
    assert refusals == []
    assert pooled[0].factor.factor == pytest.approx(math.exp(centre))
    assert pooled[0].factor.low == pytest.approx(math.exp(centre - half), rel=1e-6)
    assert pooled[0].factor.high == pytest.approx(math.exp(centre + half), rel=1e-6)


def changed(record: ReadRecord, **parts: Any) -> ReadRecord:
    return replace(record, boot="another", histories=frozenset(), **parts)


@pytest.mark.parametrize(
    ("kind", "fact", "value"),
    [
        ("measured", "code of the trainer", "0123456789ab"),
        ("measured", "settings", '{"scale":2.0}'),
        ("measured", "arm fast", '{"environment":{"X":"1"}}'),
        ("measured", "arm third", "{}"),
        ("measured", "iterations", 9),
        ("measured", "torch", "1.0"),
        ("where", "processor", "another one"),
        ("where", "device", "cuda: a card"),
    ],
)
def test_another_quantity_is_not_pooled(
    recorded: StudyFolder, again: StudyFolder, kind: str, fact: str, value: Any
) -> None:
    """Other code, settings, arms, lengths, packages or another machine: the differing fact is named."""
    first, second = read_record(recorded.path), read_record(again.path)
    facts = replace(second.facts, **{kind: {**getattr(second.facts, kind), fact: value}})
    pooled, refusals = pool([first, changed(second, facts=facts)], ["R1", "R2"])
    assert pooled == []
    assert refusals == [f"R1 and R2: they differ in {fact}"]


def test_seeds_and_title_forbid_nothing(recorded: StudyFolder, again: StudyFolder) -> None:
    """Other seeds of the same trainer on the same machine estimate the same factor."""
    first, second = read_record(recorded.path), read_record(again.path)
    facts = replace(second.facts, other={**second.facts.other, "seeds": "7, 8", "study": "another"})
    assert len(pool([first, changed(second, facts=facts)], ["R1", "R2"])[0]) == 1


def test_record_without_a_headline_is_not_pooled(recorded: StudyFolder, again: StudyFolder) -> None:
    """Its factor describes its own runs and nothing else: named, and left out."""
    first, second = read_record(recorded.path), read_record(again.path)
    steadiness = {**second.content["steadiness"], "headline": False}
    pooled, refusals = pool(
        [first, changed(second, content={**second.content, "steadiness": steadiness})], ["R1", "R2"]
    )
    assert pooled == []
    assert refusals == ["R2: its runs were too short or not steady, so that it has no headline factor to pool"]


def test_one_session_counts_once(recorded: StudyFolder, again: StudyFolder) -> None:
    """Two records of the same boot and day are no two sessions, and the same runs are never counted twice."""
    day = frozenset({"2030-01-01"})
    first, second = (replace(read_record(folder.path), days=day) for folder in (recorded, again))
    assert pool([first, second], ["R1", "R2"])[1] == [
        "R1 and R2: they are of one session (same boot and day); R2 is left out"
    ]
    tomorrow = replace(second, days=frozenset({"2031-01-01"}))
    assert len(pool([first, tomorrow], ["R1", "R2"])[0]) == 1
    assert pool([first, replace(first, boot="another")], ["R1", "R2"])[1][0].startswith("R1 and R2: they share 4 runs")


A, R, H = Decision.ADOPT, Decision.REJECT, Decision.HOLD


@pytest.mark.parametrize(
    ("own", "registered", "expected"),
    [
        ([A, A], 2, A),
        ([A, H], 2, H),
        ([A, H, A], 2, A),
        ([A], 2, H),
        ([A, A, R], 2, H),
        ([R, R], 2, R),
        ([R, H], 1, H),
        ([], 1, H),
    ],
)
def test_decision_over_sessions(own: list[Decision], registered: int, expected: Decision) -> None:
    """The registered number must adopt and none reject; sessions that disagree are held."""
    assert decide_over_sessions(own, registered).decision is expected


def test_fact_that_a_record_lacks_is_a_dash(recorded: StudyFolder) -> None:
    """A study without a decision rule has no minimum effect, which is not the word None."""
    one = read_record(recorded.record)
    without = replace(one.facts, other={**one.facts.other, "minimum effect": None})
    page = comparison([one, replace(one, facts=without)])
    assert re.search(r"\| minimum effect \| 1\.05 +\| – +\|", page)


def test_what_is_no_record_is_refused(
    recorded: StudyFolder, study: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without a record, another schema, an altered record, one record alone or twice: a sentence each."""
    empty = tmp_path / "empty"
    empty.mkdir()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "record.json").write_text('{"schema": "another/1"}')
    machine = tmp_path / "machine"
    machine.mkdir()
    (machine / "record.json").write_text(json.dumps({"schema": MACHINE_SCHEMA}))
    page = study.record / "record.md"
    page.write_text(page.read_text() + "It is great.\n")
    record = str(recorded.record)
    for arguments, words in (
        ([record, str(empty)], "found no record.json"),
        ([record, str(foreign)], "it does not say schema"),
        ([record, str(machine)], "found the record of a machine study, expected those of training studies"),
        ([record, str(study.path)], "record.md: it was altered"),
        ([record, str(recorded.path)], "it is the same record"),
        ([record], "found one record, expected two or more"),
    ):
        assert main(["compare", *arguments]) != 0
        err = capsys.readouterr().err
        assert words in err
        assert err.count("\n") == 1
