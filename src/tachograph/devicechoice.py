"""Which device a study runs on: the study says what kind it is meant for, the configuration which one."""

from __future__ import annotations

from typing import Literal

from tachograph.device import Device, resolve_device
from tachograph.errors import TachographError
from tachograph.planning import DeviceKind


def device_kind(wanted: Literal["cpu", "gpu", "any"], configured: str) -> DeviceKind:
    """The kind of device that runs are planned for; needs no device to be there unless it has to look."""
    if wanted != "any":
        return wanted
    if configured == "auto":
        return "cpu" if resolve_device("auto").kind == "cpu" else "gpu"
    return "cpu" if configured == "cpu" else "gpu"


def choose_device(kind: DeviceKind, configured: str, study: str) -> Device:
    """The device that runs of this kind are made on. Raises TachographError if it is not there."""
    if kind == "cpu":
        return resolve_device("cpu")
    device = resolve_device(configured if configured.startswith("cuda:") else "auto")
    if device.kind == "cpu":
        raise TachographError(
            f"study {study}: it needs a GPU, this machine shows none; plan it with `snakemake -n`, or take it out of "
            "studies in config/config.yaml"
        )
    return device
