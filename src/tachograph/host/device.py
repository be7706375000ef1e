"""Which device a study runs on, and the name of the physical card or processor behind it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.host.cards import Card, amd_cards, nvidia_cards, visible_cards
from tachograph.wording import counted


@dataclass(frozen=True)
class Device:
    """A device. ``name`` is the trainer's (``cpu``, ``cuda:0``), ``kind`` is ``cpu``, ``cuda`` or ``rocm``.

    ``physical_id`` is the same however a card is numbered, so that two views of one card share one lease:
    ``cpu-0``, ``gpu-UUID`` or ``gpu-PCI_ADDRESS``. ``bus`` is the PCI address of a card.
    """

    name: str
    kind: str
    physical_id: str
    description: str
    bus: str = ""


def resolve_device(name: str, *, root: Path = Path("/"), environ: Mapping[str, str] = os.environ) -> Device:
    """The device called ``auto``, ``cpu`` or ``cuda:N`` in a program with this environment.

    ``auto`` is the first GPU that the program would see, else the processor. For ``cpu`` nothing is started;
    for a GPU at most nvidia-smi, with a time limit. ``root`` is where ``proc``, ``sys`` and ``dev`` are
    found. Raises :class:`TachographError` for an unknown name, a card that is not there, or one that cannot
    be told from another.
    """
    if name == "cpu":
        return _processor(root)
    number = re.fullmatch(r"cuda:(0|[1-9]\d{0,3})", name)
    if name != "auto" and number is None:
        raise TachographError(f"device {name!r} is unknown, expected auto, cpu or cuda:N (cuda:0, cuda:1, …)")
    # A build of torch is for one of the two; where both are, NVIDIA's cards are meant.
    cards = nvidia_cards(root) or amd_cards(root)
    seen = visible_cards(cards, environ)
    if number is None:
        return _card(seen, 0, environ) if seen else _processor(root)
    index = int(number[1])
    if index >= len(seen):
        raise TachographError(f"device {name} is not there: {_what_is_there(cards, seen)}")
    return _card(seen, index, environ)


def _processor(root: Path) -> Device:
    try:
        text = (root / "proc/cpuinfo").read_text(errors="replace")
    except OSError:
        text = ""
    model = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", text, re.MULTILINE)
    count = len(re.findall(r"^processor\s*:", text, re.MULTILINE))
    return Device("cpu", "cpu", "cpu-0", f"{model[1].strip() if model else 'processor'}, {count} logical processors")


def _card(seen: list[Card], index: int, environ: Mapping[str, str]) -> Device:
    card = seen[index]
    by_address = environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    if card.kind == "cuda" and not by_address and len({c.model for c in seen}) > 1:
        raise TachographError(
            f"device cuda:{index} is one of several models ({', '.join(c.model for c in seen)}), "
            "which CUDA numbers by speed; set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name one card by "
            "CUDA_VISIBLE_DEVICES=GPU-UUID"
        )
    description = f"{card.model} at {card.bus}"
    if card.partitioned:
        description += ", divided by MIG (the lease is for the whole card)"
    return Device(f"cuda:{index}", card.kind, card.physical_id, description, card.bus)


def _what_is_there(cards: list[Card], seen: list[Card]) -> str:
    if not cards:
        return "this machine shows no GPU (no NVIDIA driver, no /dev/kfd), expected device cpu or auto"
    hidden = (
        " after CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES" if len(seen) < len(cards) else ""
    )
    names = ", ".join(f"cuda:{i}" for i in range(len(seen)))
    return f"{counted(len(cards), 'GPU')} found, {len(seen)} visible{hidden}" + (f": {names}" if names else "")
