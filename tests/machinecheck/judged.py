"""What the study says of numbers that a cell measured."""

from __future__ import annotations

from tachograph.files import parse_json, pretty_json
from tachograph.machine.cells import Cell
from tachograph.machine.judging import judge_record
from tachograph.machine.verdict import Judged
from tachograph.models.bounds import Bounds

HOST = {"processors": 2, "foreign_processors": None, "stolen_processors": None, "unknown": {}}


def judged(kind: str, measured: dict, dtype: str = "fp32", peaks: dict | None = None) -> Judged:
    """``measured`` as a cell writes it, through strict JSON, judged by the default bounds."""
    operation = "matmul" if "flop_per_call" in measured else "x"
    cell = Cell("x", kind, operation, {}, "device", "norm", None, {}, 60.0)
    settings = {"device": "cpu", "dtype": dtype, "size": "64", "channels": 64, "batch": 16}
    record = {"settings": settings, "device_name": "X", "fault": None, "measured": measured, "host": HOST}
    return judge_record(cell, parse_json(pretty_json(record)), Bounds(), {"X": peaks or {}})


def right(measured: dict, dtype: str = "fp32") -> Judged:
    """The same for a correctness cell."""
    return judged("correctness", measured, dtype)
