"""Where everything of a study lies under ``results/STUDY/``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

BEGUN_RECORD = ".record."  # how the name of a record that is being built begins


@dataclass(frozen=True)
class StudyFolder:
    """The folder of one study. Nothing but this class knows the names in it."""

    path: Path

    @property
    def registration(self) -> Path:
        """The published copy of the registration with its amendments."""
        return self.path / "registration.json"

    @property
    def sealed_registration(self) -> Path:
        """The registration itself, where Snakemake deletes nothing."""
        return self.path / "ledger" / "registration.json"

    @property
    def ledger(self) -> Path:
        return self.path / "ledger" / "ledger.jsonl"

    @property
    def session_lock(self) -> Path:
        """Held by the one Snakemake that executes this study."""
        return self.path / "ledger" / "session.lock"

    @property
    def publication_lock(self) -> Path:
        """Held while the files of one run are published."""
        return self.path / "ledger" / "publication.lock"

    @property
    def plan(self) -> Path:
        return self.path / "plan"

    @property
    def attempts(self) -> Path:
        return self.path / "attempts"

    @property
    def machine(self) -> Path:
        return self.path / "machine.json"

    @property
    def preflight(self) -> Path:
        return self.path / "preflight.json"

    @property
    def analysis(self) -> Path:
        return self.path / "tables" / "analysis.json"

    @property
    def record(self) -> Path:
        return self.path / "record"

    @property
    def records(self) -> Path:
        """Records that were set aside, oldest first: ``records/001``, …"""
        return self.path / "records"

    @property
    def record_seal(self) -> Path:
        """SHA-256 of the manifest of the current record: the file target of the record rule."""
        return self.path / "record.sha256"

    @property
    def outcome(self) -> Path:
        """A copy of the current record's ``outcome.toml``."""
        return self.path / "outcome.toml"

    @property
    def status(self) -> Path:
        return self.path / "status.md"
