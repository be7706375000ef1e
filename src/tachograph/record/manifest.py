"""``SHA256SUMS``: the seal of a record, in the format that ``sha256sum -c --strict`` accepts."""

from __future__ import annotations

import re
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.files import PLAIN_PATH, read_bounded, sha256_file, write_text

MANIFEST = "SHA256SUMS"
MAX_BYTES = 16 * 1024 * 1024
SIGNATURE = "SHA256SUMS.sig"  # whoever signs the manifest puts it beside; it cannot be listed there
UNLISTED = (MANIFEST, SIGNATURE)
_LINE = re.compile(r"([0-9a-f]{64})  (\S+)")


def files_below(folder: Path) -> list[str]:
    """Relative paths of all files but the manifest and its signature.

    They are sorted by their bytes, as ``LC_ALL=C sort`` does.
    Raises TachographError for a link, or for a name that other programs would have to escape.
    """
    found = []
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise TachographError(f"{path}: found a symbolic link, a record holds files only")
        if path.is_file() and name not in UNLISTED:
            if not PLAIN_PATH.fullmatch(name):
                raise TachographError(f"{path}: found the name {name!r}, expected letters, digits and . _ - / only")
            found.append(name)
    return sorted(found, key=str.encode)


def manifest_of(folder: Path) -> dict[str, str]:
    """``path -> SHA-256`` of every file but the manifest, hashed now."""
    return {name: sha256_file(folder / name) for name in files_below(folder)}


def write_manifest(folder: Path) -> str:
    """Hash every file of ``folder`` into its manifest, written last; returns the SHA-256 of the manifest."""
    lines = [f"{sha}  {name}\n" for name, sha in manifest_of(folder).items()]
    write_text(folder / MANIFEST, "".join(lines))
    return sha256_file(folder / MANIFEST)


def read_manifest(folder: Path) -> dict[str, str]:
    """``path -> SHA-256``. Raises TachographError, naming the line, for anything that is not such a list."""
    path = folder / MANIFEST
    if path.is_symlink():
        raise TachographError(f"{path}: found a symbolic link, expected the manifest of a record")
    try:
        text = read_bounded(path, MAX_BYTES).decode("ascii")
    except FileNotFoundError:
        raise TachographError(f"{path}: the file is not there, expected the manifest of a record") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TachographError(f"{path}: cannot be read: {error}") from None
    found: dict[str, str] = {}
    *lines, rest = text.split("\n")  # and at nothing else: a carriage return is no part of the format
    if rest:
        raise TachographError(f"{path}: its last line ends without a line feed")
    for number, line in enumerate(lines, start=1):
        match = _LINE.fullmatch(line)
        if match is None or not PLAIN_PATH.fullmatch(match[2]):
            raise TachographError(f"{path}: line {number}: found {line[:80]!r}, expected 'SHA-256  relative/path'")
        if match[2] in found:
            raise TachographError(f"{path}: line {number}: {match[2]} stands twice")
        found[match[2]] = match[1]
    if not found:
        raise TachographError(f"{path}: it lists no file")
    return found


def manifest_findings(folder: Path) -> list[str]:
    """Every file that is missing, altered or not listed, in a sentence each; empty if the seal holds."""
    listed = read_manifest(folder)
    found = []
    for name, expected in listed.items():
        path = folder / name
        try:
            if path.is_symlink() or not path.is_file():
                found.append(f"{name}: it is listed in {MANIFEST} but not there")
                continue
            actual = sha256_file(path)
        except OSError as error:
            found.append(f"{name}: it cannot be read: {error.strerror}")
            continue
        if actual != expected:
            found.append(f"{name}: it was altered: SHA-256 {actual}, sealed as {expected}")
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if (path.is_symlink() or not path.is_dir()) and name not in UNLISTED and name not in listed:
            found.append(f"{name}: it is there but not listed in {MANIFEST}")
    return found
