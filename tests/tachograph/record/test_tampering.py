"""What hands other than the program's do to a record, and what verify says of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.errors import TachographError
from tachograph.files import sha256_file
from tachograph.record.manifest import MANIFEST, read_manifest, write_manifest
from tachograph.record.verify import verify
from tachograph.study.layout import StudyFolder

SOURCE = Path(__file__).parents[3] / "src"


@pytest.fixture
def copy(recorded: StudyFolder, tmp_path: Path) -> Path:
    """A copy of the record alone, far from its study."""
    return Path(shutil.copytree(recorded.record, tmp_path / "elsewhere"))


def test_verifies_without_the_workflow(copy: Path, tmp_path: Path) -> None:
    """In another folder, with nothing but the package to import: exit code 0; with one digit changed: not 0."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "tachograph.cli", "verify", "."]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)

    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    assert "every file is as it was sealed" in done.stdout
    path = copy / "record.json"
    path.write_text(path.read_text().replace('"counted": 13', '"counted": 14'))
    done = run()
    assert done.returncode == 1
    assert "record.json: it was altered" in done.stdout


def test_swapped_files_are_both_named(copy: Path) -> None:
    """Two histories exchanged: all bytes are still there, and both places are named."""
    one, other = (copy / f"attempts/run-{arm}-seed0/001/history.jsonl" for arm in ("fast", "reference"))
    one.rename(copy / "aside")
    other.rename(one)
    (copy / "aside").rename(other)
    named = {finding.split(":")[0] for finding in verify(copy)}
    assert {path.relative_to(copy).as_posix() for path in (one, other)} <= named


def test_link_in_place_of_a_file_is_found(copy: Path) -> None:
    """A link to a file with the very same bytes is not the file."""
    path = copy / "tables/runs.csv"
    path.rename(copy.parent / "runs.csv")
    path.symlink_to(copy.parent / "runs.csv")
    assert "tables/runs.csv: it is listed in SHA256SUMS but not there" in verify(copy)


def test_link_to_a_folder_is_found(copy: Path, tmp_path: Path) -> None:
    """A folder that came in as a link is not followed, and named."""
    (tmp_path / "more").mkdir()
    (copy / "more").symlink_to(tmp_path / "more")
    assert verify(copy) == ["more: it is there but not listed in SHA256SUMS"]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda text: text.upper().replace("  RECORD.JSON", "  record.json"), "expected 'SHA-256  relative/path'"),
        (lambda text: text.replace("\n", "\r\n"), "expected 'SHA-256  relative/path'"),
        (lambda text: text + "not a line of a manifest\n", "expected 'SHA-256  relative/path'"),
        (lambda text: text + text.splitlines()[0] + "\n", "stands twice"),
        (lambda text: text + f"{'0' * 64}  ../outside\n", "expected 'SHA-256  relative/path'"),
        (lambda text: text + f"{'0' * 64}  /etc/passwd\n", "expected 'SHA-256  relative/path'"),
        (lambda text: text + f"{'0' * 64}  a\x85b\n", "cannot be read"),
        (lambda _: "", "it lists no file"),
        (lambda text: text.removesuffix("\n"), "ends without a line feed"),
    ],
    ids=["upper case", "CRLF", "garbage", "twice", "parent", "absolute", "not ASCII", "empty", "cut"],
)
def test_manifest_in_another_form_is_refused(copy: Path, spoil, sentence: str) -> None:
    """The list has one form; anything else is an error that names the line, not a reading by good will."""
    path = copy / MANIFEST
    path.write_bytes(spoil(path.read_text()).encode())
    with pytest.raises(TachographError, match=sentence):
        verify(copy)


def test_manifest_that_is_a_link_is_refused(copy: Path) -> None:
    """The seal must be the record's own file."""
    (copy / MANIFEST).rename(copy.parent / MANIFEST)
    (copy / MANIFEST).symlink_to(copy.parent / MANIFEST)
    with pytest.raises(TachographError, match="found a symbolic link"):
        verify(copy)


def test_file_that_cannot_be_read_is_named(copy: Path) -> None:
    """An error of the file system is a finding about that file, and the others are still looked at."""
    name = "a" * 300
    with (copy / MANIFEST).open("a") as stream:
        stream.write(f"{'0' * 64}  {name}\n")
    (copy / "record.md").write_text("?")
    findings = verify(copy)
    assert f"{name}: it cannot be read: File name too long" in findings
    assert any(finding.startswith("record.md: it was altered") for finding in findings)


def test_pipe_in_place_of_a_file_is_found(copy: Path) -> None:
    """A named pipe blocks nobody: it is no file."""
    (copy / "record.md").unlink()
    os.mkfifo(copy / "record.md")
    assert "record.md: it is listed in SHA256SUMS but not there" in verify(copy)


def test_raw_output_is_checked_where_it_lies(recorded: StudyFolder, copy: Path) -> None:
    """RAW.SHA256SUMS holds every file of every attempt, those that are in no record too."""
    command = ["sha256sum", "-c", "--strict", "--quiet", str(copy / "RAW.SHA256SUMS")]
    assert subprocess.run(command, cwd=recorded.path, check=False).returncode == 0
    listed = {line.split("  ")[1] for line in (copy / "RAW.SHA256SUMS").read_text().splitlines()}
    there = {path.relative_to(recorded.path).as_posix() for path in recorded.path.glob("attempts/*/*/*")}
    assert listed == there
    assert any(name.endswith("trainer.log") for name in listed)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not there")
def test_signature_beside_the_seal(copy: Path, tmp_path: Path) -> None:
    """A signature of the manifest is no foreign file; it fits this manifest and no other."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    sign = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", "record", MANIFEST]
    subprocess.run(sign, cwd=copy, check=True, capture_output=True)
    assert (copy / "SHA256SUMS.sig").is_file()
    assert verify(copy) == []
    check = ["ssh-keygen", "-Y", "check-novalidate", "-n", "record", "-s", str(copy / "SHA256SUMS.sig")]
    text = (copy / MANIFEST).read_bytes()
    assert subprocess.run(check, input=text, capture_output=True, check=False).returncode == 0
    assert subprocess.run(check, input=text[:-1] + b"x\n", capture_output=True, check=False).returncode != 0


def test_added_file_with_a_new_seal_is_found(copy: Path) -> None:
    """A file that was slipped in and sealed anew is not in the crate that record.json gives."""
    (copy / "tables/better.csv").write_text("factor\n40\n")
    write_manifest(copy)
    assert verify(copy) == ["ro-crate-metadata.json: it is not what record.json gives"]


def test_other_workflow_file_with_a_new_seal_is_found(copy: Path) -> None:
    """The copies of the workflow are those whose hashes record.json holds."""
    path = copy / "workflow/rules/runs.smk"
    path.write_text(path.read_text() + "# harmless\n")
    write_manifest(copy)
    assert "workflow/rules/runs.smk: it is not the file that record.json names" in verify(copy)


def test_empty_folder_changes_nothing_and_modes_do_not_matter(copy: Path) -> None:
    """A seal is about the bytes of files: an archive that drops modes or keeps an empty folder still verifies."""
    (copy / "empty").mkdir()
    (copy / "record.md").chmod(0o600)
    assert verify(copy) == []


def test_manifest_is_that_of_coreutils(copy: Path) -> None:
    """The manifest is byte for byte what sha256sum prints for the sorted list of files."""
    names = sorted((p.relative_to(copy).as_posix() for p in copy.rglob("*") if p.is_file()), key=str.encode)
    names.remove(MANIFEST)
    printed = subprocess.run(["sha256sum", "--", *names], cwd=copy, capture_output=True, check=True).stdout
    assert (copy / MANIFEST).read_bytes() == printed
    assert read_manifest(copy)["record.json"] == sha256_file(copy / "record.json")
