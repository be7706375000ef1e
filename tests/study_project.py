"""A small study of a stub trainer in a folder of its own, executed by real Snakemake."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
STUB = Path(__file__).parent / "workflow/stub_trainer.py"

TRAINER = """
schema = "trainer/1"
name = "stub"
title = "A stub"
about = "Sleeps and writes a history."
command = [
    "{python}", "stub/stub_trainer.py", "--iterations", "{iterations}", "--out", "{out}", "--seed", "{seed}",
    "--scale", "{scale}",
]
clear_environment = ["STUB_*"]

[settings.scale]
type = "number"
default = 1.0
about = "size of the loss"

[code]
paths = ["stub"]

[history]
file = "history.jsonl"
iteration = "iteration"
work = { column = "steps", unit = "steps" }
iteration_seconds = "iteration_seconds"
stage = { name = "collection", column = "collection_seconds" }
phases = [{ name = "collection", column = "collection_seconds" }]
metrics = ["loss"]
monotonic = "monotonic"
wall = "wall"
facts = ["device"]
"""

STUDY = """
schema = "study/1"
name = "toy"
title = "Toy <script>alert('toy')</script> | *&amp;*"
trainer = "stub"
device = "cpu"
threads = 1

[registration]
id = "0b5b7c52-5f0f-4f0b-9d0e-6f0f0c1f7a11"
date = 2026-11-29
question = "Is it faster?"
kind = "exploratory"

[arms.reference]
title = "slow <img src=x onerror=alert('slow')>"
environment = { STUB_PATH = "reference" }

[arms.fast]
title = "fast"
environment = { STUB_PATH = "fast" }

[design]
reference = "reference"
iterations = 6
seeds = [0, 1]
"""


CONFIRMATORY = """"confirmatory"

[decision]
minimum_effect = 1.05
sd_log_factor = 0.05
reason = "a stub"

[[curves]]
column = "loss"
label = "loss"
margin = 0.1
reason = "a stub"
"""


@dataclass
class Project:
    """A working directory with a study named ``toy``, and Snakemake to execute it."""

    path: Path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake to its end; both outputs are in ``stdout``."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.path,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )

    def command(self, *arguments: str) -> list[str]:
        profile = ["--workflow-profile", str(REPOSITORY / "profiles" / "default")]
        return [sys.executable, "-m", "snakemake", "-s", str(REPOSITORY / "Snakefile"), *profile, *arguments]

    def tachograph(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the program ``tachograph``; both outputs are in ``stdout``."""
        return subprocess.run(
            [sys.executable, "-m", "tachograph.cli", *arguments],
            cwd=self.path,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )

    def trained(self) -> list[str]:
        """What the trainer itself says it ran: ``arm seed iterations`` per start."""
        log = self.path / "trained.log"
        return log.read_text().splitlines() if log.exists() else []

    def results(self, name: str) -> Path:
        return self.path / "results" / "toy" / name

    def ledger(self, *events: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.results("ledger/ledger.jsonl").read_text().splitlines()]
        return [line for line in lines if not events or line["event"] in events]

    def edit(self, file: str, before: str, after: str) -> None:
        path = self.path / file
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))

    def make_confirmatory(self) -> None:
        """Mark the study confirmatory, with a rule and a curve. Its two seeds are too few for that."""
        self.edit("config/studies/toy.toml", '"exploratory"', CONFIRMATORY)

    def plant(self, arm: str, fault: str) -> None:
        (self.path / "faults").mkdir(exist_ok=True)
        (self.path / "faults" / arm).write_text(fault)

    def heal(self) -> None:
        shutil.rmtree(self.path / "faults", ignore_errors=True)

    def copy_to(self, path: Path) -> Project:
        """A copy with times of files kept, as `cp -a` makes it."""
        shutil.copytree(self.path, path, symlinks=True)
        return Project(path)


def make_project(path: Path) -> Project:
    for folder in ("config/studies", "config/trainers", "stub"):
        (path / folder).mkdir(parents=True)
    shutil.copy(STUB, path / "stub")
    (path / "workflow").symlink_to(REPOSITORY / "workflow")
    (path / "config/trainers/stub.toml").write_text(TRAINER)
    (path / "config/studies/toy.toml").write_text(STUDY)
    (path / "config/config.yaml").write_text(f"studies: [toy]\nlease_folder: {path / 'locks'}\nmax_wait_minutes: 1\n")
    return Project(path)
