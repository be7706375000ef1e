"""Which device a study runs on, and the name of the physical card or processor behind it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """A device. ``name`` is the trainer's (``cpu``, ``cuda:0``), ``kind`` is ``cpu``, ``cuda`` or ``rocm``.

    ``physical_id`` is the same however a card is numbered, so that two views of one card share one lease:
    ``cpu-0``, ``gpu-UUID`` or ``gpu-PCI_ADDRESS``.
    """

    name: str
    kind: str
    physical_id: str
    description: str
