"""A secret in the environment, in arguments of others and in the trainer's words is in nothing that we write."""

from __future__ import annotations

import subprocess

import pytest
from laboratory import FAST, Laboratory
from rows import Row

SECRET = "canary-4f1c9b7e"


def test_planted_secret(lab: Laboratory, row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked for in every byte below results/, but for the trainer's own log, which is not in the record."""
    row.fault = "secret in environment, arguments, last words"
    row.how = "planted in four places, searched in every file of ours"
    monkeypatch.setenv("WANDB_API_KEY", SECRET)
    monkeypatch.setenv("DATABASE_URL", f"postgres://user:{SECRET}@host/db")
    monkeypatch.setenv("CUDA_TOKEN", SECRET)
    lab.plant("fast", f"exit 401 for postgres://user:{SECRET}@host/db")
    (lab.path / "locks").mkdir(exist_ok=True)
    holder = subprocess.Popen(
        ["flock", str(lab.path / "locks/cpu-0.lock"), "sh", "-c", "echo held; cat", f"--password={SECRET}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    snakemake = lab.start("--cores", "2", FAST)
    lab.wait_until_told(f"held by pid {holder.pid}")
    holder.communicate("")
    assert lab.ended(snakemake) != 0
    assert "401 for [DATABASE_URL]" in lab.status()
    lab.heal()
    done = lab.snakemake("--cores", "2")
    assert done.returncode == 0, done.stdout
    holding = [
        path.relative_to(lab.path).as_posix()
        for path in lab.path.rglob("*")
        if path.is_file() and not path.is_symlink() and SECRET.encode() in path.read_bytes()
    ]
    assert holding == ["results/toy/attempts/run-fast-seed0/001/trainer.log"]
    row.outcome = "in the trainer's own log alone"
