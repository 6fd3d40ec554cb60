"""Algorithm 3: a classifier whose direct, indirect and spurious error rates are bounded."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from causalaudit.adjustment import Covariates, check_declared
from causalaudit.error_rates.explaining.terms import TERMS
from causalaudit.error_rates.groups import read_groups
from causalaudit.error_rates.learning.feature_selection import select_explainable_features
from causalaudit.error_rates.learning.labelled_people import LabelledPeople
from causalaudit.error_rates.learning.labels import LabelError, read_labels, read_weights, two_classes
from causalaudit.error_rates.learning.linear_terms import LinearTerms, check_bounds
from causalaudit.error_rates.learning.logistic_rule import LogisticRule
from causalaudit.error_rates.learning.posterior_terms import posterior_terms
from causalaudit.error_rates.learning.problem import Problem
from causalaudit.error_rates.learning.random_decisions import uniforms_by_label
from causalaudit.errors import DataError
from causalaudit.people import Protected, check_draws, check_features, check_seed, pick_column

if TYPE_CHECKING:
    from causalaudit.inference import Posterior

METHODS = ("auto", "table", "logistic")
POPULATIONS = ("data", "exact")


class FairClassifier(ClassifierMixin, BaseEstimator):
    """Learn the most accurate classifier within bounds on its error-rate terms (Zhang and Bareinboim, Algorithm 3).

    Each bound is on the absolute value of an additive term of Theorem 2, ER = direct + indirect + spurious, where ER
    is the difference between the two levels of P(Ŷ = 1 | x, y). They are bounds for the decisions of the classifier,
    in the people it was fitted on; on new people the terms vary around that.

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
    y
        The value of the outcome among whose people error rates are compared: by default the first class, so that with
        0/1 labels it is false positive rates.
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
        "logistic": logistic regression. "auto": a table if all features are discrete.
    discrete
        Columns that are discrete. Others are if they have levels (text, categories, booleans), or at most ten different
        numbers. It decides on the rule ("auto"), and on how propensities depend on covariates: a table of shares if all
        of them are discrete, else logistic regression, as in `estimate_error_rates`.
    min_accuracy
        An accuracy (in the people of `fit`) that the classifier must reach. It is an error if it cannot within the
        bounds, and the error gives the smallest feasible ones. Without it there is always a classifier: one that
        decides alike for everybody.
    C
        Inverse strength of the ridge penalty of logistic regression, as in scikit-learn: on standardised features,
        against the loss summed over people and their weights.
    seed
        For drawing decisions, counterfactuals, and the folds of feature selection.

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
    terms_ : pandas.Series
        The terms in the people of `fit`: total, direct, indirect and spurious; NaN if they are not identified, or if
        nothing is bounded (see `error_rate_terms`).
    rule_ : TableRule or LogisticRule
        The table and its probabilities, or the coefficients.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The best rule over a table under bounds is random in as many combinations as there are active bounds. `predict`
    draws these decisions by the label of a person's index: the same person gets the same decision again, and another
    seed draws anew. `decision_proba` gives their probability, which is what an audit of the rule needs:
    ``estimate_error_rates(data, graph, fair.decision_proba, ...)`` gives the same terms, with intervals.

    Arrays are read as columns x0, x1, and so on.

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
        y: Any = None,
        baseline: Any = None,
        contrast: Any = None,
        features: Sequence[str] | str | None = None,
        posterior: "Posterior | None" = None,
        population: str = "data",
        draws: int | None = None,
        method: str = "auto",
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
        self.y = y
        self.baseline = baseline
        self.contrast = contrast
        self.features = features
        self.posterior = posterior
        self.population = population
        self.draws = draws
        self.method = method
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
            weights, the classifier is the exact one of that population.
        """
        bounds = self._bounds()
        problem = self._problem(X, y, sample_weight, tuple(bounds), reset=True)
        covariates = problem.covariates
        self.features_ = problem.people.features
        self.explaining_set_ = None if covariates is None else frozenset(covariates.kinds)
        self.covariates_ = None if covariates is None else covariates.kinds
        self.rule_ = problem.solve(bounds)
        self.terms_ = problem.values(self.rule_)
        self.accuracy_ = problem.accuracy(self.rule_)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return decisions; where the rule is random, drawn by the labels of the index."""
        table = self._read(X)
        return self.classes_[(self._decided(table) > uniforms_by_label(table.index, self.seed)).astype(int)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class: that the rule decides so (table), or the fitted one (logistic)."""
        check_is_fitted(self)
        scores = self.rule_.score(self._rows(self._read(X)))
        second = expit(scores) if isinstance(self.rule_, LogisticRule) else scores
        return np.column_stack([1 - second, second])

    def decision_proba(self, X: Any) -> np.ndarray:
        """Return the probability with which each person is given the second class: 0 or 1 unless the rule is random.

        Only the features matter: a table may lack other columns of `fit`, or have more.
        """
        check_is_fitted(self)
        return self._decided(X if isinstance(X, pd.DataFrame) else self._read(X))

    def error_rate_terms(self, X: Any, y: Any, sample_weight: Any = None) -> pd.Series:
        """Return total, direct, indirect and spurious error rate of the fitted rule, among any labelled people.

        Indirect and spurious are NaN if neither the diagram nor a posterior identifies them.
        """
        check_is_fitted(self)
        return self._problem(X, y, sample_weight, ("total",), reset=False).values(self.rule_)

    def frontier(self, X: Any, y: Any, eps: Sequence[float], sample_weight: Any = None) -> pd.DataFrame:
        """Return what accuracy costs: the best classifier for each of several bounds.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        eps
            The bounds. Each is put on all terms that this classifier bounds.

        Returns
        -------
        pandas.DataFrame
            A row for each bound: `eps, accuracy, total, direct, indirect, spurious`.
        """
        terms = tuple(self._bounds())
        if not terms:
            raise DataError(
                "Nothing is bounded: give at least one of eps_direct, eps_indirect, eps_spurious, eps_total."
            )
        problem = clone(self)._problem(X, y, sample_weight, terms, reset=True)
        rows = []
        for bound in eps:
            rule = problem.solve(check_bounds(dict.fromkeys(terms, bound)))
            rows.append({"eps": float(bound), "accuracy": problem.accuracy(rule), **problem.values(rule)})
        return pd.DataFrame(rows)

    # What is bounded, and in whom

    def _bounds(self) -> dict[str, float]:
        return check_bounds({term: getattr(self, f"eps_{term}") for term in TERMS})

    def _problem(self, X: Any, y: Any, sample_weight: Any, bounded: tuple[str, ...], reset: bool) -> Problem:
        """Return the learning problem; with `reset`, keep what it says about the classifier."""
        self._check_settings()
        table = self._frame(X, reset).reset_index(drop=True)
        declared = check_declared(table, self.discrete)
        labels = read_labels(y, len(table))
        positive = labels == self._classes(labels, reset)[1]
        weights = read_weights(sample_weight, len(table))
        counted = weights.sum()
        features = self._features(table, labels) if reset else self.features_
        column, levels = self._compared(table) if bounded else ("", (None, None))
        given = self.classes_.tolist()[0] if self.y is None else self.y
        people = LabelledPeople(table, labels, weights / counted, features, column, levels, self.outcome, given)
        terms, covariates = self._terms(people, bounded, declared) if bounded else (None, None)
        return Problem(
            people,
            positive,
            terms,
            covariates,
            as_table=self.method == "table" or (self.method == "auto" and people.discrete(declared)),
            penalty=1 / (self.C * counted),
            min_accuracy=self.min_accuracy,
        )

    def _terms(
        self, people: LabelledPeople, bounded: tuple[str, ...], declared: Collection[str]
    ) -> tuple[LinearTerms, Covariates | None]:
        """Return the terms, and the covariates that identify them if it is a diagram that does."""
        if people.y not in list(self.classes_):
            raise DataError(f"y is {people.y!r}, but the labels are {', '.join(map(repr, self.classes_.tolist()))}.")
        if self.posterior is not None:
            return posterior_terms(people, self.posterior, self.population, self.draws, self.seed), None
        if self.graph is None:
            raise DataError("graph is None, and there is no posterior: give one of them.")
        names = people.explaining_set(self.graph)
        needed = {"indirect", "spurious"} & set(bounded)
        if names is None:
            if needed:
                raise people.unexplainable(self.graph)
            return people.observed_terms(None), None
        covariates = people.covariates(names, declared)
        move = people.moved_by_covariates if needed else people.moved_if_overlapping
        return people.observed_terms(move(covariates)), covariates

    def _compared(self, table: pd.DataFrame) -> tuple[str, tuple[Any, Any]]:
        groups = read_groups(table, self.protected, self.outcome, self.baseline, self.contrast)
        return groups.column, (groups.reference, groups.level)

    def _features(self, table: pd.DataFrame, labels: np.ndarray) -> list[str]:
        """Return what the classifier reads: all columns, those given, or those of Algorithm 2."""
        if self.features is None:
            return check_features(table, list(table.columns))
        if not isinstance(self.features, str) or self.features != "explainable":
            return check_features(table, self.features)
        if self.graph is None:
            raise DataError('features="explainable" needs a graph.')
        data = table.copy()
        data[self.outcome] = labels
        candidates = [name for name in table.columns if name in self.graph]
        return select_explainable_features(
            data, self.graph, self.protected, outcome=self.outcome, candidates=candidates, seed=self.seed
        )

    def _check_settings(self) -> None:
        for name, value, allowed in (("method", self.method, METHODS), ("population", self.population, POPULATIONS)):
            if value not in allowed:
                raise DataError(f"{name} is {value!r}, but must be one of {', '.join(map(repr, allowed))}.")
        if self.min_accuracy is not None and not 0 <= self.min_accuracy <= 1:
            raise DataError(f"min_accuracy is {self.min_accuracy!r}, but must be a number from 0 to 1.")
        check_draws(self.draws)
        check_seed(self.seed)
        if not self.C > 0:
            raise DataError(f"C is {self.C!r}, but must be a number above 0.")

    # Tables and labels

    def _read(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self)
        return self._frame(X, reset=False)

    def _frame(self, X: Any, reset: bool) -> pd.DataFrame:
        """Return the people as a table, whatever they came in."""
        if not isinstance(X, pd.DataFrame):
            array = validate_data(self, X, reset=reset, ensure_min_samples=1)
            return pd.DataFrame(array, columns=[f"x{place}" for place in range(array.shape[1])])
        validate_data(self, X, reset=reset, skip_check_array=True)
        if len(X) == 0:
            raise LabelError("X has no rows: at least one person is needed.")
        if self.outcome in X.columns:
            raise LabelError(f"X holds the outcome {self.outcome!r}, which a classifier cannot read: drop this column.")
        return X

    def _classes(self, labels: np.ndarray, reset: bool) -> np.ndarray:
        if reset:
            self.classes_ = two_classes(labels)
        elif not np.isin(labels, self.classes_).all():
            raise LabelError(f"y has labels other than those of fit, {self.classes_.tolist()}.")
        return self.classes_

    def _rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the features that the rule reads, none of which may be missing."""
        for name in self.features_:
            pick_column(table, name, "feature")
        return table[self.features_]

    def _decided(self, table: pd.DataFrame) -> np.ndarray:
        return self.rule_.decide(self._rows(table))
