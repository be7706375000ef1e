"""Snakemake's own report of an executed study: whole, labelled, and harmless whatever a study calls itself."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from study_project import Project


@pytest.fixture(scope="module")
def report(executed_once: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """The study and the text of its report.html."""
    project = executed_once.copy_to(tmp_path_factory.mktemp("report") / "project")
    done = project.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stdout
    return project, (project.path / "report.html").read_text()


def held(text: str, name: str) -> Any:
    """The data that the page keeps under this name."""
    found = re.search(rf'<script id="{name}">\s*var \w+ = (.*?);\s*</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_every_table_and_figure_is_in_the_report(report: tuple[Project, str]) -> None:
    """Byte for byte as in the study's folder, each with a caption and a label, by study and kind."""
    project, text = report
    results, categories = held(text, "results"), held(text, "categories")
    folder = project.path / "results/toy"
    tables = sorted(path.relative_to(project.path).as_posix() for path in folder.glob("tables/*.csv"))
    figures = sorted(path.relative_to(project.path).as_posix() for path in folder.glob("figures/*.svg"))
    assert {kind: sorted(names) for kind, names in categories["toy"].items()} == {"Tables": tables, "Figures": figures}
    assert list(categories) == ["toy"]
    assert sorted(results) == sorted([*tables, *figures])
    assert len(figures) >= 3
    for path, entry in results.items():
        kind, name = path.removeprefix("results/toy/").rsplit(".", 1)[0].split("/")
        assert entry["labels"] == {kind.removesuffix("s"): name}
        assert f"A {kind.removesuffix('s')} of study toy" in entry["caption"]
        encoded = entry["data_uri"].split("base64,", 1)[1]
        assert base64.b64decode(encoded) == (project.path / path).read_bytes()


def test_report_says_what_it_is(report: tuple[Project, str]) -> None:
    """The first page tells where the record is, and that the run times of jobs are no measurement."""
    assert "record/record.md" in held(report[1], "workflow-desc")
    assert "they are no measurement" in held(report[1], "workflow-desc")


def test_no_text_of_a_study_becomes_markup(report: tuple[Project, str]) -> None:
    """Titles with tags and handlers: neither the report nor a figure or page of the study holds them as such."""
    project, text = report
    record = project.results("record")
    pages = [text, (record / "record.md").read_text(), (record / "README.md").read_text()]
    pages += [path.read_text() for path in record.glob("figures/*.svg")]
    assert "alert('toy')" in (record / "record.json").read_text()
    for page in pages:
        assert not re.search(r"(?<!\\)<(script>alert|img src=x)", page)  # Markdown shows what follows a backslash
    assert project.tachograph("verify", "results/toy").returncode == 0
