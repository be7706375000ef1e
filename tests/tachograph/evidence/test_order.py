"""The order of runs, registered and realised."""

from __future__ import annotations

import numpy as np
import pytest

from tachograph.evidence.interval import paired_log_t
from tachograph.evidence.order import Started, compare_order, mean_positions
from tachograph.study.planning import block_order

ARMS = ["A", "B"]


def block_orders(arms: list[str], blocks: int) -> list[list[str]]:
    return [block_order(arms, block) for block in range(blocks)]


@pytest.mark.parametrize(
    ("blocks", "order"), [(1, "AB"), (2, "ABBA"), (3, "ABBABA"), (4, "ABBABAAB"), (8, "ABBABAABBAABABBA")]
)
def test_two_arms_follow_thue_morse(blocks: int, order: str) -> None:
    """Two arms run as ABBA, ABBABAAB and so on."""
    assert "".join(arm for block in block_orders(ARMS, blocks) for arm in block) == order


@pytest.mark.parametrize("arms", [2, 3, 4, 5])
@pytest.mark.parametrize("blocks", [2, 4, 6, 12])
def test_linear_drift_cancels_for_any_number_of_arms(arms: int, blocks: int) -> None:
    """Every block holds every arm once, and over pairs of blocks all arms have the same mean position."""
    names = [f"arm{i}" for i in range(arms)]
    orders = block_orders(names, blocks)
    assert all(sorted(order) == sorted(names) for order in orders)
    assert set(mean_positions(orders).values()) == {0.0}


def test_odd_number_of_blocks_leaves_an_imbalance() -> None:
    """Three blocks of two arms leave a sixth of a position to each side, and it is told."""
    places = mean_positions(block_orders(ARMS, 3))
    assert places == {"A": pytest.approx(1 / 6), "B": pytest.approx(-1 / 6)}


def test_drift_masquerades_only_without_abba() -> None:
    """D19: speeds 100, 99, 98, 97 of identical arms give 1.000 in ABBA and 0.980 in AABB."""
    speeds = [100.0, 99.0, 98.0, 97.0]
    order = [arm for block in block_orders(ARMS, 2) for arm in block]
    by_arm = {arm: [s for a, s in zip(order, speeds, strict=True) if a == arm] for arm in ARMS}
    assert f"{paired_log_t(by_arm['A'], by_arm['B']).factor:.3f}" == "1.000"
    assert f"{paired_log_t(speeds[:2], speeds[2:]).factor:.3f}" == "0.980"
    assert f"{paired_log_t(speeds[2:], speeds[:2]).factor:.4f}" == "1.0205"


@pytest.mark.parametrize(("shape", "expected"), [("linear", (6.0, 0.0, 0.0)), ("quadratic", (6.0, -2.2, 0.0))])
def test_bias_of_a_drift_over_the_session(shape: str, expected: tuple[float, float, float]) -> None:
    """A 10 % drift biases AAABBB by 6 %, ABBA by 0 (linear) or -2.2 % (quadratic), ABBABAAB by 0."""
    found = []
    for order in ("AAABBB", "ABBA", "ABBABAAB"):
        x = np.linspace(0, 1, len(order))
        drift = 0.10 * (x if shape == "linear" else x**2)
        fast = np.array([arm == "B" for arm in order])
        found.append(100 * (drift[fast].mean() - drift[~fast].mean()))
    assert found == pytest.approx(expected, abs=0.05)


def started(names: str, seconds: float = 10.0) -> list[Started]:
    return [
        Started(name, str(place // 2), "boot", place * seconds, place * seconds + 9, 1e9 + place * seconds)
        for place, name in enumerate(names)
    ]


def test_realised_order_as_registered() -> None:
    """The registered order, also seen in another sequence of records, is no deviation."""
    runs = started("abcd")
    assert compare_order("abcd", runs[::-1]).ok
    assert compare_order("abcd", runs).realised == ("a", "b", "c", "d")


def test_other_order_is_a_deviation() -> None:
    """Runs that changed places are told, with both orders."""
    check = compare_order("abcd", started("acbd"))
    assert not check.ok
    assert "a, c, b, d" in check.deviations[0]


def test_missing_run_is_no_order_deviation() -> None:
    """A run that failed leaves the order of the others."""
    runs = [run for run in started("abcd") if run.run != "c"]
    assert compare_order("abcd", runs).ok


def test_overlap_and_split_blocks_are_deviations() -> None:
    """Two runs at once, a block torn apart and a restart within a block are told."""
    overlapping = started("abcd", seconds=5.0)
    assert any("overlapped" in d for d in compare_order("abcd", overlapping).deviations)
    runs = started("abcd")
    apart = [Started("a", "0", "boot", 50.0, 59.0, 1e9 + 50), *runs[1:]]
    assert any("not adjacent" in d for d in compare_order("bcda", apart).deviations)
    rebooted = [runs[0], Started("b", "0", "boot2", 1.0, 2.0, 1e9 + 12), *runs[2:]]
    assert any("restarted" in d for d in compare_order("acdb", rebooted).deviations)
