"""The verdict of a machine study: over all its cells, by arm and by kind of cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tachograph.machine.cells import PROBE
from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import DONE
from tachograph.machine.selftest import clean
from tachograph.machine.verdict import Verdict, worst

BLIND = "the self-test missed a planted fault, so what passed is not shown"
SHOWN = 4  # cells that are named as the cause
UNTESTED = "a planted fault was not run, so what passed is not shown"
EMPTY = "no cell asks anything of the machine as it is used"
UNANSWERED = "no cell of the machine as it is used gave a result"


def summary(measured: Sequence[MeasuredCell], selftest: dict[str, Any], norm: str) -> dict[str, Any]:
    """``verdict`` is that of the arm ``norm``, the machine as it is used; other arms are told beside.

    A cell that did not run is INCOMPLETE, and so is a study without cells, or with none that gave a result: kernels
    that were refused or could not be built are each but a warning. A check that misses a planted fault, or
    did not run one, shows nothing: INCOMPLETE at best. ``planned`` and ``outcomes`` count cells, not the probe.
    """
    own = clean(measured)
    normal = [one for one in own if one.cell.arm == norm]
    verdicts = [one.verdict for one in normal]
    because = []
    if selftest["verdict"] in (Verdict.FAIL, Verdict.INCOMPLETE):
        verdicts.append(Verdict.INCOMPLETE)
        because.append(BLIND if selftest["verdict"] == Verdict.FAIL else UNTESTED)
    asked = [one for one in normal if one.cell.kind != PROBE]
    if not any(map(_answered, asked)):
        verdicts.append(Verdict.INCOMPLETE)
        because.append(UNANSWERED if asked else EMPTY)
    verdict = worst(verdicts)
    cells = [one for one in own if one.cell.kind != PROBE]
    decisive = [one.cell.name for one in normal if one.verdict == verdict != Verdict.PASS]
    if decisive:
        more = f" and {len(decisive) - SHOWN} more" if len(decisive) > SHOWN else ""
        because.append(f"{verdict} of {', '.join(decisive[:SHOWN])}{more}")
    return {
        "verdict": str(verdict),
        "because": because,
        "by_arm": {arm: over(own, "arm", arm) for arm in dict.fromkeys(one.cell.arm for one in own)},
        "by_kind": {kind: over(normal, "kind", kind) for kind in dict.fromkeys(one.cell.kind for one in asked)},
        "planned": len(cells),
        "outcomes": dict(Counter(one.outcome for one in cells)),
    }


def _answered(one: MeasuredCell) -> bool:
    return one.outcome == DONE and one.measured.get("refused") is None


def over(measured: Iterable[MeasuredCell], attribute: str, value: str) -> str:
    """The worst verdict of the cells with this value."""
    return str(worst(one.verdict for one in measured if getattr(one.cell, attribute) == value))
