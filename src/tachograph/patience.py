"""Waiting for a device: bounded, and with a word at once and then every 30 s about who holds it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tachograph.errors import LeaseUnavailableError
from tachograph.holders import UNSEEN, Holder, started_us

POLL_SECONDS = 0.5  # 0.1 % of a core while waiting; a shorter poll disturbs the run that is waited for
SAY_EVERY_SECONDS = 30.0


class Patience:
    """One wait for the device of lock file ``path``, over any number of tries; at most ``limit_s`` seconds.

    ``waited_for`` collects whom it was for.
    """

    def __init__(self, device: str, path: Path, limit_s: float, say: Callable[[str], None]) -> None:
        self.device, self.path, self.limit_s, self.say = device, path, limit_s, say
        self.started = time.monotonic()
        self.waited_for: dict[tuple[int, int], Holder] = {}
        self._next_saying = 0.0

    def speak_next_time(self) -> None:
        """The holders are other ones than those named before."""
        self._next_saying = 0.0

    def wait(self, look: Callable[[], list[Holder]]) -> None:
        """Sleep until the next try. ``look`` finds the holders; it is costly, so called rarely.

        Raises :class:`LeaseUnavailableError` if no more waiting is allowed, or none could ever help.
        """
        now = time.monotonic()
        remaining = self.limit_s - (now - self.started)
        if now >= self._next_saying or remaining <= 0:
            self._next_saying = now + SAY_EVERY_SECONDS
            self._tell(look() or [UNSEEN], remaining)
        time.sleep(min(POLL_SECONDS, max(remaining, 0.0)))

    def _tell(self, holders: list[Holder], remaining: float) -> None:
        for holder in holders:
            self.waited_for.setdefault((holder.pid, holder.start_ticks), holder)
        above = started_us(holders)
        if above is not None:
            raise LeaseUnavailableError(
                f"device {self.device} is held by {above.sentence()}, which has started this program: "
                "waiting for it could never end; let `tachograph lease -- COMMAND` replace the outer lock"
            )
        who = "; ".join(holder.sentence() for holder in holders)
        if remaining <= 0:
            raise LeaseUnavailableError(
                f"device {self.device} is still taken after waiting {self.limit_s:g} s, held by {who}; "
                f"lock file {self.path}"
            )
        self.say(f"waiting for device {self.device}, held by {who}; giving up in {remaining:.0f} s")
