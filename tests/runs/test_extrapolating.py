"""Extrapolation of timed parts, with times that are known."""

import pytest

from causalaudit.runs import extrapolating
from causalaudit.runs.extrapolating import timed_growth


@pytest.fixture
def clock(monkeypatch):
    """A clock that only work moves."""
    now = [0.0]
    monkeypatch.setattr(extrapolating.time, "process_time", lambda: now[0])
    return now


def law(clock, constant, slope, power=1):
    def work(size):
        clock[0] += constant + slope * size**power

    return work


@pytest.mark.parametrize(("constant", "slope"), [(0.0, 0.02), (1.0, 0.003), (0.2, 0.0)])
def test_linear_work_is_extrapolated_exactly(clock, constant, slope):
    assert timed_growth(law(clock, constant, slope), 1000, 8) == pytest.approx(constant + slope * 1000)


def test_quadratic_work(clock):
    assert timed_growth(law(clock, 0.1, 1e-6, 2), 20_000, 500, power=2) == pytest.approx(0.1 + 400)


def test_work_that_is_short_is_timed_whole(clock):
    sizes = []
    assert timed_growth(lambda size: sizes.append(size), 20, 8) == 0
    assert sizes == [8, 8, 16, 20]


def test_what_is_done_before_is_not_counted(clock):
    def before(size):
        clock[0] += 100

    assert timed_growth(law(clock, 0.0, 0.1), 10, 8, before=before) == pytest.approx(1.0)
