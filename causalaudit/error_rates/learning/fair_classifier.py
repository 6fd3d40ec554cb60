"""Algorithm 3: a classifier whose direct, indirect and spurious error rates are bounded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from causalaudit.adjustment import check_declared
from causalaudit.arguments import check_types
from causalaudit.error_rates.learning.certificate import solve_with_confidence
from causalaudit.error_rates.learning.diagram_terms import DiagramTerms
from causalaudit.error_rates.learning.encoding import known_levels, unless_unseen
from causalaudit.error_rates.learning.labelled_people import LabelledPeople
from causalaudit.error_rates.learning.labels import (
    read_labels,
    read_people,
    read_weights,
    same_classes,
    two_classes,
)
from causalaudit.error_rates.learning.limits import Limits, check_bounds
from causalaudit.error_rates.learning.linear_terms import BOUNDED
from causalaudit.error_rates.learning.logistic_rule import LogisticRule
from causalaudit.error_rates.learning.problem import DecisionRule, Estimated, Problem
from causalaudit.error_rates.learning.random_decisions import uniforms_by_label
from causalaudit.error_rates.learning.settings import (
    check_settings,
    compared,
    features_of,
    outcomes_of,
    table_or_not,
    terms_of,
)
from causalaudit.errors import DataError
from causalaudit.people import Protected, pick_column

if TYPE_CHECKING:
    from causalaudit.inference import Posterior


class FairClassifier(ClassifierMixin, BaseEstimator):
    """Learn the most accurate classifier within bounds on its error-rate terms (Zhang and Bareinboim, Algorithm 3).

    Each bound is on the absolute value of an additive term of Theorem 2, ER = direct + indirect + spurious, where ER
    is the difference between the two levels of P(Ŷ = 1 | x, y). They are bounds for the decisions of the classifier.

    What is promised depends on `margin`. None: the terms are within the bounds in the people of `fit`, and nowhere
    else; in new people a bound that is active is exceeded about every other time, and more often the fewer people
    there were. "confidence": they are within the bounds in the population that these people are a sample of, with
    the probability `confidence`, all bounds together, if the diagram is right. Of a table that decides at random
    (`randomised`), both are about the expectation over its draws.

    What is best depends on `method`: over a table the classifier is the most accurate one. A logistic regression has
    the smallest penalised logistic loss that was found, of which accuracy is not a function.

    Parameters
    ----------
    graph
        The causal diagram. May be None with a posterior.
    protected
        ``{column: level}`` or ``{column: (level, reference)}``, the protected level (the contrast) first; or a column
        of two levels, the second of which is the contrast.
    outcome
        The name of the outcome in the diagram; the labels are the `y` of `fit`.
    eps_direct, eps_indirect, eps_spurious, eps_total
        Bounds of at least 0; None for no bound. `eps_total` alone is the plain constraint abs(ER) ≤ ε.
    eps_ett, eps_nde, eps_nie
        Bounds on other measures, for comparison (appendix B): the effect of treatment on the treated given y (equation
        20), from the reference to the protected level, which is direct plus indirect; and the natural direct and
        indirect effects (33, 34) on everybody with one of the two levels, whatever their outcome.
    margin, confidence
        None, or "confidence" with the probability that all bounds hold in the population: so many standard errors of
        each term, from the influence function, are spared on either side (Bonferroni). Five rules are
        learnt without a fifth of the people each, who then say what their terms are. A randomised table is the mean of
        five such tables; any other rule is learnt from everybody, and spares by how much the terms of the five differ
        between those left out and those learnt from. Few people and narrow bounds leave a rule that decides nearly
        alike for everybody: see `certificate_`.
    y
        The value of the outcome among whose people error rates are compared: by default the first class, so that with
        0/1 labels it is false positive rates. A list of both: equalized odds, each bound for both.
    baseline, contrast
        The reference and the protected level, of a bare column.
    features
        The columns that the classifier reads; the others are covariates, and columns of the posterior's program. By
        default all. "explainable": those that `select_explainable_features` chooses (the first step of Algorithm 3).
    posterior
        A fit of an SCM, for features that data and a diagram cannot explain: indirect and spurious terms are then
        those of its counterfactuals. Every column of the program must be in `X`.
    population
        With a posterior: "data" bounds the terms in the people of `fit`, "exact" those of the SCM itself, which must
        be finite, by enumeration.
    draws
        How many draws of the posterior; None: all that there are. What is bounded is the mean of a term over them.
    method
        "table": a probability of deciding 1 for each combination of feature values, by linear programming.
        "logistic": logistic regression. "auto": a table if all features are discrete, and ten people have each
        combination on average where there are more than 32; else logistic regression, with a warning in this case.
    randomised
        Whether a table may decide at random. If not, it is the best table of zeros and ones, by integer programming:
        its terms are then those of the decisions themselves, at some cost in accuracy.
    basis
        Basis functions of the logistic regression: "splines", or a transformer of scikit-learn such as
        ``PolynomialFeatures(2)``, which is given numbers and indicators of levels.
    discrete
        Columns that are discrete. Others are if they have levels (text, categories, booleans), or at most ten different
        numbers. It decides on the rule ("auto"), and on how rates are adjusted for covariates, as in
        `estimate_error_rates`: by tables if all of them are discrete and twenty people have each combination; else
        doubly robust, with cross-fitted flexible models of propensity and expectation.
    min_accuracy
        An accuracy (in the people of `fit`) that the classifier must reach. It is an error if it cannot within the
        bounds, and the error gives the smallest feasible ones. Without it there is always a classifier: one that
        decides alike for everybody.
    C
        Inverse strength of the ridge penalty of logistic regression, as in scikit-learn: on standardised features,
        against the loss summed over people and their weights.
    seed
        For drawing decisions, counterfactuals, and the folds of models, margins and feature selection: the order of
        the rows is part of the question.

    Attributes
    ----------
    classes_ : numpy.ndarray
        The two labels.
    features_ : list of str
        What the classifier reads.
    explaining_set_ : frozenset or None
        The covariates by which indirect and spurious terms were identified, if they were.
    covariates_ : dict or None
        Of each of them why it is "discrete (…)", or that it is "continuous".
    natural_set_ : frozenset or None
        The covariates by which natural effects were identified, if they are bounded: no outcome is given there.
    terms_ : pandas.Series
        The terms in the people of `fit`: total, direct, indirect and spurious, and what else is bounded; NaN if they
        are not identified, or if nothing is bounded (see `error_rate_terms`). They are what `estimate_error_rates` says
        of the same people and rule. With both outcomes, by outcome and term.
    certificate_ : pandas.DataFrame or None
        With a margin, of each bounded term: `estimate` (for people that the rule has not seen) and `sd`, `limit` (what
        it stays below with the confidence asked for), and `bound`.
    accuracy_, objective_ : float
        In the people of `fit`: the probability that a decision is right; and what was minimised, the share of wrong
        decisions (a table) or the penalised loss.
    rule_ : TableRule or LogisticRule
        The table and its probabilities, or the coefficients.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The best rule over a table under bounds is random in as many combinations as there are active bounds. `predict`
    draws these decisions by the label of a person's index: the same person gets the same decision again, and another
    seed draws anew. Bounds hold in expectation over the draws; drawn decisions miss them by chance, by how much is
    given by ``error_rate_terms(..., realised=True)``, and `randomised=False` avoids it. `decision_proba` gives their
    probability, which is what an audit of the rule needs: ``estimate_error_rates(data, graph, fair.decision_proba,
    ...)`` gives the same terms, with intervals.

    A person with a level (of a column that is not of numbers) that nobody had in `fit` is decided upon as most people
    are, by either rule, with a warning. Arrays are read as columns x0, x1, and so on.

    Examples
    --------
    >>> import causalaudit as ca, numpy as np, pandas as pd
    >>> graph = ca.diagram([("Z", "X"), ("Z", "W"), ("Z", "Y"), ("X", "W"), ("X", "Y")])
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"Z": rng.integers(0, 2, 2000)})
    >>> people["X"] = rng.binomial(1, 0.3 + 0.4 * people.Z)
    >>> people["W"] = rng.binomial(1, 0.2 + 0.5 * people.X)
    >>> people["Y"] = rng.binomial(1, 0.2 + 0.4 * people.X + 0.3 * people.Z)
    >>> fair = ca.FairClassifier(graph, "X", "Y", eps_direct=0.02, eps_indirect=0.02, eps_spurious=0.05)
    >>> fair = fair.fit(people[["X", "W", "Z"]], people.Y)
    >>> fair.explaining_set_, bool(abs(fair.terms_["direct"]) <= 0.02 + 1e-9)
    (frozenset({'Z'}), True)
    """

    def __init__(
        self,
        graph: "nx.DiGraph[Any] | None",
        protected: Protected,
        outcome: str,
        *,
        eps_direct: float | None = None,
        eps_indirect: float | None = None,
        eps_spurious: float | None = None,
        eps_total: float | None = None,
        eps_ett: float | None = None,
        eps_nde: float | None = None,
        eps_nie: float | None = None,
        margin: str | None = None,
        confidence: float = 0.9,
        y: Any = None,
        baseline: Any = None,
        contrast: Any = None,
        features: Sequence[str] | str | None = None,
        posterior: "Posterior | None" = None,
        population: str = "data",
        draws: int | None = None,
        method: str = "auto",
        randomised: bool = True,
        basis: Any = None,
        discrete: Sequence[str] | None = None,
        min_accuracy: float | None = None,
        C: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.graph = graph
        self.protected = protected
        self.outcome = outcome
        self.eps_direct = eps_direct
        self.eps_indirect = eps_indirect
        self.eps_spurious = eps_spurious
        self.eps_total = eps_total
        self.eps_ett = eps_ett
        self.eps_nde = eps_nde
        self.eps_nie = eps_nie
        self.margin = margin
        self.confidence = confidence
        self.y = y
        self.baseline = baseline
        self.contrast = contrast
        self.features = features
        self.posterior = posterior
        self.population = population
        self.draws = draws
        self.method = method
        self.randomised = randomised
        self.basis = basis
        self.discrete = discrete
        self.min_accuracy = min_accuracy
        self.C = C
        self.seed = seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "FairClassifier":
        """Learn from people and their outcome.

        Parameters
        ----------
        X
            A table with the features, and the covariates and other columns that the bounds need; or an array.
        y
            The outcome of each person: two different labels, the second of which (in order) is the one that is
            predicted with the probabilities of `decision_proba`.
        sample_weight
            Weights of the people. With one row for each state of a finite population and their probabilities as
            weights (they add up to one), the classifier is the exact one of that population.
        """
        bounds = self._bounds()
        problem = self._problem(X, y, sample_weight, tuple(bounds), reset=True)
        limits = problem.limits(bounds)
        self.rule_, found, self.certificate_ = self._solve(problem, limits)
        self.levels_ = known_levels(problem.rows[problem.people.counted])
        self.terms_ = found.values
        self.accuracy_ = problem.accuracy(self.rule_)
        self.objective_ = problem.objective(self.rule_)
        return self

    def _solve(
        self, problem: Problem, limits: Limits, start: DecisionRule | None = None
    ) -> tuple[DecisionRule, Estimated, pd.DataFrame | None]:
        if self.margin is not None:
            return solve_with_confidence(problem, limits, self.seed, start)
        return *problem.solve(limits, start), None

    def predict(self, X: Any) -> np.ndarray:
        """Return decisions; where the rule is random, drawn by the labels of the index."""
        table = self._read(X)
        return self.classes_[(self._decided(table) > uniforms_by_label(table.index, self.seed)).astype(int)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class: that the rule decides so (table), or the fitted one (logistic)."""
        rows = self._rows(self._read(X))

        def score(known: pd.DataFrame) -> np.ndarray:
            scores = self.rule_.score(known)
            return np.asarray(expit(scores)) if isinstance(self.rule_, LogisticRule) else scores

        second = unless_unseen(rows, self.levels_, score, self.rule_.otherwise)
        return np.column_stack([1 - second, second])

    def decision_proba(self, X: Any) -> np.ndarray:
        """Return the probability with which each person is given the second class: 0 or 1 unless the rule is random.

        Only the features matter: a table may lack other columns of `fit`, or have more.
        """
        check_is_fitted(self)
        return self._decided(X if isinstance(X, pd.DataFrame) else self._read(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of right decisions, by weight."""
        people = len(self._read(X))
        labels, weights = read_labels(y, people), read_weights(sample_weight, people)
        return float(((self.predict(X) == labels) * weights).sum() / weights.sum())

    def error_rate_terms(self, X: Any, y: Any, sample_weight: Any = None, *, realised: bool = False) -> pd.Series:
        """Return total, direct, indirect and spurious error rate of the fitted rule, among any labelled people.

        Indirect and spurious are NaN if neither the diagram nor a posterior identifies them.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        realised
            Of the decisions that `predict` draws for these people, instead of their expectation: the same person draws
            the same number in every world.
        """
        check_types(FairClassifier.error_rate_terms, locals())
        check_is_fitted(self)
        bounds = tuple(self._bounds())
        problem = self._problem(X, y, sample_weight, ("total", *bounds), reset=False)
        drawn = uniforms_by_label(self._frame(X, reset=False).index, self.seed) if realised else None
        return problem.estimate(self.rule_, problem.limits(self._bounds()).names, drawn=drawn).values

    def frontier(self, X: Any, y: Any, eps: Sequence[float], sample_weight: Any = None) -> pd.DataFrame:
        """Return what accuracy costs: the best classifier for each of several bounds.

        Wider bounds start from the classifier of narrower ones, and are never worse in what is minimised.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        eps
            The bounds. Each is put on all terms that this classifier bounds.

        Returns
        -------
        pandas.DataFrame
            A row for each bound: `eps, accuracy, total, direct, indirect, spurious`, and `objective`, what is
            minimised: the share of wrong decisions (a table), or the penalised logistic loss.
        """
        check_types(FairClassifier.frontier, locals())
        terms = tuple(self._bounds())
        if not terms:
            raise DataError(f"Nothing is bounded: give at least one of {', '.join(f'eps_{term}' for term in BOUNDED)}.")
        problem = clone(self)._problem(X, y, sample_weight, terms, reset=True)
        rows, found, best = {}, {}, None
        for bound in sorted(set(eps)):
            limits = problem.limits(check_bounds(dict.fromkeys(terms, bound)))
            rule, values, _ = self._solve(problem, limits, best)
            if best is None or problem.objective(rule) <= problem.objective(best):
                best, found = rule, {"accuracy": problem.accuracy(rule), **values.values}
            rows[bound] = {"eps": float(bound), **found, "objective": problem.objective(best)}
        return pd.DataFrame([rows[bound] for bound in eps])

    def _bounds(self) -> dict[str, float]:
        return check_bounds({term: getattr(self, f"eps_{term}") for term in BOUNDED})

    def _problem(self, X: Any, y: Any, sample_weight: Any, bounded: tuple[str, ...], reset: bool) -> Problem:
        """Return the learning problem; with `reset`, keep what it says about the classifier."""
        check_settings(self)
        table = self._frame(X, reset).reset_index(drop=True)
        declared = check_declared(table, self.discrete)
        labels = read_labels(y, len(table))
        self.classes_: np.ndarray = two_classes(labels) if reset else same_classes(labels, self.classes_)
        positive = labels == self.classes_[1]
        weights = read_weights(sample_weight, len(table))
        counted = weights.sum()
        features = features_of(self, table, labels) if reset else self.features_
        column, levels = compared(self, table) if bounded else ("", (None, None))
        given = outcomes_of(self.y, self.classes_, bool(bounded))
        states = sample_weight is not None and bool(np.isclose(counted, 1))
        people = LabelledPeople(
            table, labels, weights / counted, features, column, levels, self.outcome, given, states=states
        )
        found = terms_of(self, people, bounded, declared) if bounded else DiagramTerms(None, [], None, None)
        if reset:
            self.features_: list[str] = features
            self.covariates_, self.natural_set_ = found.covariates, found.natural
            self.explaining_set_ = None if found.covariates is None else frozenset(found.covariates)
        return Problem(
            people, positive, found.terms, found.robust,
            as_table=table_or_not(self.method, people, declared) if reset else not isinstance(self.rule_, LogisticRule),
            penalty=1 / (self.C * counted),
            min_accuracy=self.min_accuracy,
            basis=self.basis,
            randomised=self.randomised,
            confidence=None if self.margin is None else self.confidence,
        )  # fmt: skip

    def _read(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self)
        return self._frame(X, reset=False)

    def _frame(self, X: Any, reset: bool) -> pd.DataFrame:
        """Return the people as a table, whatever they came in."""
        return read_people(self, X, reset)

    def _rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the features that the rule reads, none of which may be missing."""
        for name in self.features_:
            pick_column(table, name, "feature")
        return table[self.features_]

    def _decided(self, table: pd.DataFrame) -> np.ndarray:
        most = float(self.rule_.otherwise > 0.5)
        return unless_unseen(self._rows(table), self.levels_, self.rule_.decide, most)
