"""A disk of a few megabytes in a mount namespace of its own: gone with the process that holds it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from laboratory import Laboratory


@dataclass
class SmallDiskLaboratory(Laboratory):
    """A laboratory on a small disk. ``path`` is where this process sees it, ``inside`` where its programs do."""

    inside: Path = Path()
    namespace: int = 0

    def command(self, *arguments: str) -> list[str]:
        return [*self.entering(), *super().command(*arguments)]

    def places(self) -> set[str]:
        return {str(self.inside)}

    def entering(self) -> list[str]:
        """The words before a command that make it run on the small disk."""
        shell = ["sh", "-c", f'cd {self.inside} && exec "$@"', "sh"]
        user = [] if os.getuid() == 0 else ["-U", "--preserve-credentials"]
        return ["nsenter", "-t", str(self.namespace), *user, "-m", *shell]

    def tachograph(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run("-m", "tachograph.cli", *arguments)

    def run_python(self, code: str) -> subprocess.CompletedProcess[str]:
        """Execute a line of Python on the small disk; both outputs are in ``stdout``."""
        return self._run("-c", code)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.entering(), sys.executable, *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )

    def make_room(self) -> None:
        """Remove what filled the disk."""
        (self.path / "ballast").unlink(missing_ok=True)

    def fill(self, pages: int) -> None:
        """Leave so many pages of 4 KiB on the disk."""
        facts = os.statvfs(self.path)
        ballast = os.open(self.path / "ballast", os.O_WRONLY | os.O_CREAT)
        try:
            os.posix_fallocate(ballast, 0, facts.f_bavail * facts.f_frsize - 4096 * pages)
        finally:
            os.close(ballast)


class SmallDisk:
    """The holder of the namespace. ``reason`` says why there is none, if this machine does not allow it."""

    def __init__(self, mount_point: Path, megabytes: int) -> None:
        mount_point.mkdir()
        self.mount_point = mount_point
        script = f"mount -t tmpfs -o size={megabytes}m none {mount_point} && echo mounted && exec cat"
        user = [] if os.getuid() == 0 else ["-U", "-r"]
        self.holder = subprocess.Popen(
            ["unshare", *user, "-m", "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.holder.stdout is not None
        said = self.holder.stdout.readline().strip()
        self.reason = "" if said == "mounted" else f"no mount for this user: {said}"

    def with_copy_of(self, lab: Laboratory, beside: Path) -> SmallDiskLaboratory:
        """A copy of ``lab`` on the disk; its locks and its witness lie ``beside``, where there is room."""
        place = Path(f"/proc/{self.holder.pid}/root{self.mount_point}/project")
        shutil.copytree(lab.path, place, symlinks=True)
        (beside / "witness").mkdir()
        copy = SmallDiskLaboratory(place, beside / "witness", self.mount_point / "project", self.holder.pid)
        copy.edit("config/config.yaml", str(lab.path / "locks"), str(beside / "locks"))
        return copy

    def close(self) -> None:
        assert self.holder.stdin is not None
        self.holder.stdin.close()
        self.holder.wait(timeout=30)
        assert self.holder.stdout is not None
        self.holder.stdout.close()
