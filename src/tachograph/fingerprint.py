"""The fingerprint of code: what a trainer's results depend on, hashed by content."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.files import digest, sha256_file
from tachograph.models.trainer import Code

IGNORED_FOLDERS = frozenset({"__pycache__", ".git", ".snakemake", ".mypy_cache", ".ruff_cache"})
IGNORED_SUFFIXES = frozenset({".pyc", ".pyo", ".nbi", ".nbc"})
VERSION_COMMAND_SECONDS = 30


def code_fingerprint(code: Code, root: Path, file: str) -> str:
    """SHA-256 over names and contents of the code named by ``code``; ``file`` is named in errors.

    Times of files, byte code and compiled kernels do not count. Raises TachographError for code that is not there.
    """
    parts: dict[str, str] = {}
    for module in code.modules:
        for name, path in _module_files(module, file):
            parts[f"module {name}"] = sha256_file(path)
    for entry in code.paths:
        start = root / entry
        if not start.exists():
            raise TachographError(f"{file}: code.paths: found {entry!r}, expected a file or folder below {root}")
        for path in _files(start):
            parts[f"path {entry} {path.relative_to(start).as_posix()}"] = sha256_file(path)
    if code.version_command:
        parts["version"] = _version(code.version_command, root, file)
    return digest(parts)


def _files(start: Path) -> Iterator[Path]:
    if start.is_file():
        yield start
        return
    for path in sorted(start.rglob("*")):
        ignored = path.suffix in IGNORED_SUFFIXES or not IGNORED_FOLDERS.isdisjoint(path.parts)
        if path.is_file() and not ignored:
            yield path


def module_folder(module: str) -> Path | None:
    """The folder of an importable module or package, or None if it cannot be found."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent


def _module_files(module: str, file: str) -> Iterator[tuple[str, Path]]:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise TachographError(f"{file}: code.modules: found {module!r}, expected a module that can be imported here")
    origin = Path(spec.origin)
    if not spec.submodule_search_locations:
        yield module, origin
        return
    for path in _files(origin.parent):
        yield f"{module}/{path.relative_to(origin.parent).as_posix()}", path


def _version(command: list[str], root: Path, file: str) -> str:
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=VERSION_COMMAND_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TachographError(f"{file}: code.version_command: {error}") from None
    if done.returncode != 0 or not done.stdout.strip():
        raise TachographError(
            f"{file}: code.version_command: exit code {done.returncode} and {len(done.stdout)} bytes of output, "
            "expected 0 and the version"
        )
    return hashlib.sha256(done.stdout).hexdigest()
