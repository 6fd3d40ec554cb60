"""The soak test on a small budget: a few hundred calls, mutated at random, and a session, the same each time."""

import warnings

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tools.soak.calls import Call, all_calls
from tools.soak.fuzz import Tally, fuzz
from tools.soak.scene import Scene
from tools.soak.session import Session
from tools.soak.watch import watch

CALLS = 200


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how few people there are
        return all_calls(Scene().prepare(), tmp_path_factory.mktemp("soak"))


def test_mutated_calls_are_answered_or_refused_in_words(calls):
    """Seed 16: of these calls of the version before, a third ended in a traceback from inside."""
    quick = [call for call in calls if not call.rare]
    tally = fuzz(quick, 16, range(CALLS), Tally())
    assert not tally.found, str(tally)
    assert tally.outcomes["answered"] > CALLS / 10
    assert tally.outcomes["refused"] > CALLS / 10


def test_a_session_in_any_order():
    asked = settings(
        max_examples=1, stateful_step_count=5, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(Session, settings=asked)


def bad(kind):
    """A function that does what none may do."""

    def raises(data):
        raise ValueError("from inside")

    def warns(data):
        warnings.warn("deep inside", RuntimeWarning, stacklevel=1)

    def changes(data):
        data.loc[0, "sex"] = "x"

    def draws(data):
        import random

        random.random()

    def forgets(data):
        return data.assign(score=float("nan"))

    return {"error": raises, "warning": warns, "changed": changes, "state": draws, "NaN": forgets}[kind]


@pytest.mark.parametrize("kind", ["error", "warning", "changed", "state", "NaN"])
def test_what_is_wrong_is_seen(kind):
    outcomes = watch(Call("bad", bad(kind), {}), {"data": Scene().people})
    assert [outcome.kind for outcome in outcomes] == [kind]
