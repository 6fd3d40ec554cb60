"""Decisions, diagrams, intervals, plots and progress."""

import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression

import causalaudit as ca
from causalaudit.decisions import Asked, decide, decide_draws
from causalaudit.errors import CausalAuditError, DataError
from causalaudit.intervals import hdi
from causalaudit.progress import parallel, watched
from causalaudit.randomness import generator, uniforms


@pytest.fixture(scope="module")
def applicants():
    return ca.datasets.make_loan(200, seed=0)


@pytest.fixture(scope="module")
def worlds(applicants):
    posterior = ca.fit(ca.models.loan.linear(), applicants, draws=20, chains=2)
    return ca.counterfactuals(posterior, {"gender": "male"}, draws=8)


def bank(people):
    return people["salary"] + 5 * people["balance"] > 225_000


class TestDecisions:
    def test_labels_of_any_kind(self, applicants):
        yes = applicants["approved"].to_numpy() == 1
        assert (decide("approved", applicants) == yes).all()
        assert (decide(bank, applicants) == yes).all()
        assert (
            decide(lambda people: np.where(bank(people), "grant", "deny"), applicants, favourable="grant") == yes
        ).all()
        assert (decide(lambda people: np.where(bank(people), 1.0, -1.0), applicants) == yes).all()
        assert (decide(bank, applicants, favourable=False) == ~yes).all()

    def test_probabilities_are_kept(self, applicants):
        assert (decide(lambda people: np.full(len(people), 0.25), applicants) == 0.25).all()

    def test_a_classifier_gets_the_columns_it_was_fitted_on(self, applicants):
        model = LogisticRegression().fit(applicants[["balance", "salary"]] / 1e5, applicants["approved"])
        shuffled = applicants[["salary", "gender", "balance"]]
        scaled = shuffled.assign(salary=shuffled["salary"] / 1e5, balance=shuffled["balance"] / 1e5)
        expected = model.predict(scaled[["balance", "salary"]])
        assert (decide(model, scaled) == expected).all()
        with pytest.raises(DataError, match="balance"):
            decide(model, scaled.drop(columns="balance"))

    def test_a_decision_is_shown_what_it_reads(self, applicants):
        seen = []
        Asked(lambda people: seen.extend(people.columns) or bank(people), reads=["balance", "salary"])(applicants)
        assert seen == ["balance", "salary"]

    @pytest.mark.parametrize(
        ("decision", "message"),
        [
            ("granted", "not a column"),
            (lambda people: [1, 0], "shape"),
            (lambda people: np.full(len(people), 7.5), "neither a label nor a probability"),
            (lambda people: np.full(len(people), np.nan), "missing for 200"),
            (3, "a column, a function"),
        ],
    )
    def test_bad_decisions(self, applicants, decision, message):
        with pytest.raises(DataError, match=message):
            decide(decision, applicants)

    def test_over_draws_equals_draw_by_draw(self, worlds, monkeypatch):
        monkeypatch.setattr("causalaudit.decisions.ROWS", 600)
        each = np.stack([decide(bank, frame) for frame in worlds.frames()])
        assert np.array_equal(decide_draws(bank, worlds), each)

    def test_a_recorded_column_cannot_be_asked(self, worlds):
        with pytest.raises(DataError, match="recorded column"):
            decide_draws("approved", worlds)
        given = ca.CounterfactualDraws.from_frame(pd.DataFrame({"approved": [1, -1]}))
        assert decide_draws("approved", given).tolist() == [[1.0, 0.0]]


class TestDiagram:
    def test_bidirected_edges_become_latent_parents(self):
        graph = ca.diagram([("X", "Y")], bidirected=[("Y", "X")])
        assert set(graph.edges) == {("X", "Y"), ("U(X,Y)", "X"), ("U(X,Y)", "Y")}
        assert dict(graph.nodes(data="latent")) == {"X": False, "Y": False, "U(X,Y)": True}

    def test_a_cycle_is_refused(self):
        with pytest.raises(CausalAuditError, match="X -> Y"):
            ca.diagram([("X", "Y"), ("Y", "X")])


def test_hdi_of_many_columns_is_that_of_each():
    draws = np.random.default_rng(0).gamma(2, size=(500, 3, 2))
    ends = hdi(draws, 0.8)
    assert ends.shape == (2, 3, 2)
    np.testing.assert_allclose(ends[:, 1, 0], hdi(draws[:, 1, 0], 0.8))
    inside = (draws >= ends[0]) & (draws <= ends[1])
    assert np.abs(inside.mean(axis=0) - 0.8).max() < 0.01


class TestPlots:
    def test_diagram(self):
        graph = ca.models.standard_prediction.xor_exogenous().graph
        ax = ca.plots.plot_diagram(graph)
        assert {text.get_text() for text in ax.texts} - {""} == set(graph.nodes)  # arrows are texts without one


class TestProgress:
    def test_results_come_in_order(self):
        assert list(parallel(lambda task: task**2, [3, 1, 2], "Squares")) == [9, 1, 4]

    def test_a_bar_appears_when_it_is_long(self, monkeypatch, capsys):
        monkeypatch.setattr("causalaudit.progress._PATIENCE", 0.01)
        monkeypatch.setattr("causalaudit.progress.Console", partial(Console, force_terminal=True))

        def slowly():
            for number in range(4):
                time.sleep(0.02)
                yield number

        assert list(watched(slowly(), 4, "Waiting")) == [0, 1, 2, 3]
        assert "Waiting" in capsys.readouterr().err
        assert list(watched(slowly(), 4, "Waiting", progress=False)) == [0, 1, 2, 3]
        assert capsys.readouterr().err == ""


def test_streams_are_named_and_do_not_depend_on_one_another():
    alone = uniforms(3, "salary", np.array([5]), (4,))
    together = uniforms(3, "salary", np.arange(10), (4,))
    assert np.array_equal(alone[0], together[5])
    assert not np.array_equal(together[4], together[5])
    assert generator(3, "a").random() != generator(3, "b").random()
    assert (together > 0).all()
    assert (together < 1).all()
