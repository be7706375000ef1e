"""The GPUs of this machine, as the kernel's drivers show them, and which of them a program may see."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.tools import Unknown, output_of


@dataclass(frozen=True)
class Card:
    """One GPU: ``kind`` is ``cuda`` or ``rocm``, ``uuid`` is "" where the driver gives none.

    ``bus`` is the PCI address as ``0000:03:00.0``; ``partitioned`` says that the card is divided by MIG;
    ``driver_id`` is what amdkfd calls the card.
    """

    kind: str
    uuid: str
    bus: str
    model: str
    partitioned: bool = False
    driver_id: str = ""

    @property
    def physical_id(self) -> str:
        return f"gpu-{self.uuid or self.bus}"


def nvidia_cards(root: Path = Path("/")) -> list[Card]:
    """NVIDIA cards in the order of their PCI addresses, which is that of nvidia-smi.

    Read from ``/proc/driver/nvidia``; nvidia-smi is asked only where that does not tell the UUID (the driver
    shows question marks there until a card is first used). Raises TachographError if a card is there that
    neither can name: its lease could not be that of others who use it.
    """
    found = []
    for entry in sorted((root / "proc/driver/nvidia/gpus").glob("*/information")):
        fields = dict(
            re.findall(r"^([^:\n]+):[ \t]*(.*?)[ \t]*$", entry.read_text(errors="replace"), re.MULTILINE)
        )
        minor = fields.get("Device Minor", "")
        instances = (root / f"proc/driver/nvidia/capabilities/gpu{minor}/mig").glob("gi*")
        found.append(
            Card(
                kind="cuda",
                uuid=_uuid(fields.get("GPU UUID", "")),
                bus=entry.parent.name.lower(),
                model=fields.get("Model", "NVIDIA GPU"),
                partitioned=any(instances),
            )
        )
    if found and all(card.uuid for card in found):
        return found
    asked = _ask_nvidia_smi()
    if not isinstance(asked, Unknown):
        return asked
    if found and shutil.which("nvidia-smi") is None:
        return found  # named by PCI address, and so by everybody on this machine
    if any(re.fullmatch(r"nvidia\d+", path.name) for path in (root / "dev").glob("nvidia*")):
        raise TachographError(
            f"an NVIDIA card is present in {root / 'dev'}, but cannot be identified: {asked.reason}; "
            "repair the driver, or set the device to cpu"
        )
    return []


def _ask_nvidia_smi() -> list[Card] | Unknown:
    query = "--query-gpu=uuid,pci.bus_id,mig.mode.current,name"
    text = output_of(["nvidia-smi", query, "--format=csv,noheader"])
    if isinstance(text, Unknown):
        return text
    cards = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",", 3)]
        if len(fields) != 4 or not _uuid(fields[0]) or not re.fullmatch(r"[0-9A-Fa-f:.]{12,16}", fields[1]):
            return Unknown(f"nvidia-smi printed {line[:100]!r}, expected UUID, PCI address, MIG mode, name")
        bus = fields[1].lower()[-12:]  # it prints the domain with eight digits, the kernel with four
        cards.append(Card("cuda", _uuid(fields[0]), bus, fields[3], fields[2] == "Enabled"))
    return sorted(cards, key=lambda card: card.bus)


def _uuid(text: str) -> str:
    """``GPU-8932F937-…`` as ``8932f937-…``; "" for anything else."""
    match = re.fullmatch(r"GPU-([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})", text)
    return match[1].lower() if match else ""


def amd_cards(root: Path = Path("/")) -> list[Card]:
    """AMD cards in the order of the kernel's compute driver (amdkfd), which is that of HIP.

    Read from sysfs alone: it is there where the vendor's tools are not, or answer N/A (integrated GPUs).
    Cards whose render node is not here (those of other containers) are left out.
    """
    if not (root / "dev/kfd").exists():
        return []
    nodes = (root / "sys/class/kfd/kfd/topology/nodes").glob("*")
    cards = []
    for node in sorted((n for n in nodes if n.name.isdecimal()), key=lambda n: int(n.name)):
        try:
            fields = dict(line.split(maxsplit=1) for line in (node / "properties").read_text().splitlines())
            if int(fields.get("simd_count", "0")) == 0:  # a processor
                continue
            location, domain = int(fields["location_id"]), int(fields.get("domain", "0"))
            unique, minor = int(fields.get("unique_id", "0")), int(fields["drm_render_minor"])
            name = (node / "name").read_text().strip() or "GPU"
            driver_id = (node / "gpu_id").read_text().strip()
        except (OSError, KeyError, ValueError):
            continue
        if not (root / f"dev/dri/renderD{minor}").exists():
            continue
        bus = f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"
        uuid = f"{unique:016x}" if unique else ""
        cards.append(Card("rocm", uuid, bus, f"AMD {name}", driver_id=driver_id))
    return cards


def visible_cards(cards: list[Card], environ: Mapping[str, str] = os.environ) -> list[Card]:
    """What a program with this environment sees of ``cards`` (all of one kind), as its devices 0, 1, …

    NVIDIA: ``CUDA_VISIBLE_DEVICES`` (CUDA C++ Programming Guide, environment variables). AMD:
    ``ROCR_VISIBLE_DEVICES``, and among what that leaves ``HIP_VISIBLE_DEVICES``, or ``CUDA_VISIBLE_DEVICES``.
    """
    if not cards:
        return []
    if cards[0].kind == "cuda":
        return _selected(cards, environ.get("CUDA_VISIBLE_DEVICES"))
    cards = _selected(cards, environ.get("ROCR_VISIBLE_DEVICES"))
    return _selected(cards, environ.get("HIP_VISIBLE_DEVICES", environ.get("CUDA_VISIBLE_DEVICES")))


def _selected(cards: list[Card], choice: str | None) -> list[Card]:
    """The cards named by number, UUID or its beginning; as in CUDA, the first invalid name ends the list."""
    if choice is None:
        return cards
    chosen: list[Card] = []
    for name in (part.strip() for part in choice.split(",")):
        if name.startswith("MIG-"):
            card = _card_of_instance(cards, name)
        elif name.upper().startswith("GPU-"):
            matching = [c for c in cards if c.uuid and c.uuid.startswith(name[4:].lower())]
            card = matching[0] if len(matching) == 1 else None
        else:
            card = cards[int(name)] if name.isdecimal() and int(name) < len(cards) else None
        if card is None:
            break
        chosen.append(card)
    return chosen


def _card_of_instance(cards: list[Card], name: str) -> Card | None:
    """The card that a MIG instance is part of: ``MIG-GPU-UUID/1/0`` says it itself, ``MIG-UUID`` does not."""
    owner = _uuid(name.removeprefix("MIG-").partition("/")[0])
    if not owner:
        listed = output_of(["nvidia-smi", "-L"])
        if isinstance(listed, Unknown):
            raise TachographError(
                f"CUDA_VISIBLE_DEVICES names {name}, but its card is unknown: {listed.reason}"
            )
        for line in listed.splitlines():
            found = re.search(r"\(UUID: ([^)]+)\)", line)
            if found and found[1].startswith("GPU-"):
                owner = _uuid(found[1])
            elif found and found[1] == name:
                break
        else:
            return None
    return next((card for card in cards if card.uuid == owner), None)
