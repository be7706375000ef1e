"""Whatever bytes a history holds, it is read or refused; nothing else happens."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tachograph.evidence.findings import HistoryError
from tachograph.evidence.gates import Ended, Expected, judge
from tachograph.evidence.history import Counter, HistorySpec, read_history

WHOLE = b"".join(b'{"it": %d, "d": 1.5, "w": 100, "loss": 0.25}\n' % i for i in range(1, 8))
TABLE = b"it,d,w,loss\n" + b"".join(b"%d,1.5,100,0.25\n" % i for i in range(1, 8))


def spec(kind: str) -> HistorySpec:
    return HistorySpec(
        work=Counter("w"),
        work_unit="steps",
        durations={"iteration": Counter("d")},
        format="csv" if kind == "csv" else "jsonl",
        iteration="it",
        metrics=("loss",),
    )


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(["jsonl", "csv"]),
    place=st.integers(0, len(WHOLE)),
    cut=st.integers(0, 60),
    patch=st.binary(max_size=12),
)
def test_damaged_files_are_read_or_refused(
    tmp_path: Path, kind: str, place: int, cut: int, patch: bytes
) -> None:
    """Bytes replaced anywhere give a history or a HistoryError; a valid run has every planned row."""
    good = TABLE if kind == "csv" else WHOLE
    content = good[:place] + patch + good[place + cut :]
    path = tmp_path / "history"
    path.write_bytes(content)
    try:
        history = read_history(path, spec(kind))
    except HistoryError:
        return
    assert history.sha256 == hashlib.sha256(content).hexdigest()
    judgement = judge(history, Ended(0), Expected(7, "steps", ("loss",), first_iteration=1))
    if judgement.valid:
        assert list(np.unique(history.iteration)) == list(
            range(history.iteration[0], history.iteration[0] + 7)
        )
        assert np.isfinite(history.curve("loss")).all()
