"""Histories of trainers that write TensorBoard events. The file was made by torch and tensorboard themselves."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from tachograph.evidence.eventfile import parse_event
from tachograph.evidence.findings import HistoryError, Kind
from tachograph.evidence.history import Counter, History, HistorySpec, read_history
from tachograph.models.trainer import HistoryFile

EVENTS = Path(__file__).parents[2] / "data/tensorboard/events.out.tfevents.six-steps"
SPEC = HistorySpec(
    work=Counter("samples"),
    work_unit="samples",
    durations={"iteration": Counter("seconds")},
    format="tensorboard",
    iteration="step",
    metrics=("train/loss", "loss scale", "eval/score"),
    sparse=("eval/score",),
    wall="wall_time",
)
STEPS = np.arange(1, 7)


def read(tmp_path: Path, content: bytes, spec: HistorySpec = SPEC) -> History:
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(content)
    return read_history(path, spec)


def test_scalars_of_both_styles_are_read() -> None:
    """What the program beside the file wrote comes back, as the float32 that TensorBoard keeps."""
    history = read_history(EVENTS, SPEC)
    assert list(history.iteration) == list(STEPS)
    assert list(history.columns["train/loss"]) == list((2.0 / STEPS).astype(np.float32))  # the old style
    assert list(history.work) == [512] * 6  # the new one
    assert list(history.columns["loss scale"]) == [1.5] * 6  # in double precision
    assert list(history.durations["iteration"]) == list((0.002 + 0.0001 * STEPS).astype(np.float32))
    score = history.columns["eval/score"]
    assert list(score[[2, 5]]) == [0.375, 0.75]
    assert np.isnan(score[[0, 1, 3, 4]]).all()
    assert history.columns["wall_time"] == pytest.approx(1_780_000_000 + 0.0025 * STEPS, abs=1e-6)
    assert history.findings == ()
    assert (history.sha256, history.size) == (hashlib.sha256(EVENTS.read_bytes()).hexdigest(), EVENTS.stat().st_size)


def test_trainer_without_timers_is_timed_by_its_events() -> None:
    """`elapsed` counts up from the opening of the file, so its increments are the seconds of the steps."""
    spec = HistorySpec(
        work=Counter("samples"),
        work_unit="samples",
        durations={"iteration": Counter("elapsed", cumulative=True)},
        format="tensorboard",
        iteration="step",
    )
    history = read_history(EVENTS, spec)
    assert history.durations["iteration"] == pytest.approx([0.0025] * 6, abs=1e-6)


def test_file_that_is_cut_off_anywhere_keeps_its_whole_steps(tmp_path: Path) -> None:
    """A killed writer leaves a torn last record: it is told and its step left out, and what stands before is read."""
    whole = EVENTS.read_bytes()
    expected = read_history(EVENTS, SPEC)
    torn = 0
    for cut in range(300, len(whole), 13):
        history = read(tmp_path, whole[:cut])
        rows = len(history)
        assert list(history.iteration) == list(STEPS[:rows])
        told = Kind.TORN_TAIL in history.counts
        torn += told
        steady = rows - (0 if told else 1)  # between two records nothing shows that more was to come
        assert list(history.columns["train/loss"][:steady]) == list(expected.columns["train/loss"][:steady])
        assert list(history.durations["iteration"][:steady]) == list(expected.durations["iteration"][:steady])
    assert torn > 90


def test_every_flipped_byte_is_refused(tmp_path: Path) -> None:
    """Damage in a record is an error that names it, and never another number."""
    whole = EVENTS.read_bytes()
    for place in range(0, len(whole), 37):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        with pytest.raises(HistoryError, match=r"record \d+: damaged .* expected a TensorBoard event"):
            read(tmp_path, bytes(damaged))


def test_padding_after_the_last_record_is_told(tmp_path: Path) -> None:
    """A machine that stopped leaves NUL bytes; the last step may have lost events, so it is left out."""
    history = read(tmp_path, EVENTS.read_bytes() + bytes(5000))
    assert list(history.iteration) == [1, 2, 3, 4, 5]
    assert Kind.NUL_PADDING in history.counts


def test_text_is_no_event_file(tmp_path: Path) -> None:
    """JSON in the place of events is refused in one sentence."""
    with pytest.raises(HistoryError, match="or no event file"):
        read(tmp_path, b'{"step": 1, "loss": 0.5}\n')


@pytest.mark.parametrize("record", [b"\x0b", b"\x09\x00", b"\x2a\x7f", b"\x10" + b"\xff" * 12, b"\x2a\x03\x0a\x05\x00"])
def test_bytes_that_are_no_message_are_an_error(record: bytes) -> None:
    """A group, and fields that end before they end, raise instead of giving numbers."""
    with pytest.raises(ValueError, match=r"wire type|of which|without an end"):
        parse_event(record)


def test_step_that_is_negative_is_read_as_it_is() -> None:
    """Protobuf keeps int64 in two's complement."""
    minus_one = b"\x10" + b"\xff" * 9 + b"\x01"
    assert parse_event(b"\x09" + struct.pack("<d", 1.5) + minus_one).step == -1


def test_iteration_of_events_is_their_step() -> None:
    """No tag can number the rows, as events are numbered already."""
    keys = {
        "file": "events.out.tfevents",
        "format": "tensorboard",
        "work": {"constant": 1, "unit": "samples"},
        "iteration_seconds": "seconds",
        "stage": {"name": "training", "column": "seconds"},
    }
    assert HistoryFile.model_validate({**keys, "iteration": "step"}).format == "tensorboard"
    with pytest.raises(ValidationError, match="found 'epoch', expected 'step'"):
        HistoryFile.model_validate({**keys, "iteration": "epoch"})
