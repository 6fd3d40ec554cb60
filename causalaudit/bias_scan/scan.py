"""The conditional bias scan."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.bias_scan.calibration import calibration_curves, warn_of_models
from causalaudit.bias_scan.columns import Bins
from causalaudit.bias_scan.counterfactual import check_worlds
from causalaudit.bias_scan.disparity import Disparity
from causalaudit.bias_scan.expectations import choose_models
from causalaudit.bias_scan.posterior import inclusion
from causalaudit.bias_scan.question import Question, ask, check_numbers
from causalaudit.bias_scan.result import HONEST, NOT_CORRECTED, BiasScanResult, interval_name
from causalaudit.bias_scan.search import Found, Search
from causalaudit.bias_scan.significance import assess
from causalaudit.bias_scan.view import View, view
from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.errors import DataError
from causalaudit.randomness import generator


def scan_bias(
    data: pd.DataFrame,
    protected: Mapping[str, Any],
    outcome: str,
    prediction: str | None = None,
    recommendation: str | None = None,
    criterion: str = "separation",
    given: int | None = None,
    direction: str = "positive",
    features: Sequence[str] | None = None,
    bins: Bins = None,
    penalty: float = 1.0,
    iterations: int = 500,
    permutations: int = 0,
    null: str = "propensity",
    propensity: Any = None,
    expectation: Any = None,
    counterfactuals: CounterfactualDraws | None = None,
    draws: int = 0,
    split: float | None = None,
    top: int = 1,
    alpha: float = 0.05,
    prob: float = 0.9,
    seed: int = 0,
    progress: bool = True,
) -> BiasScanResult:
    """Find the subgroup of a protected class that a classifier treats most differently from everyone else like it.

    The event (a prediction, a recommendation or an outcome) of each protected person is compared with its expectation
    given her covariates and the conditioning variable, learnt from people who are not protected, weighted to look like
    those who are. The subgroup, a set of values for each feature, with the largest log-likelihood ratio of a common
    shift of the odds is searched for.

    Parameters
    ----------
    data
        Everyone, with a unique index.
    protected
        ``{column: level}``: who is protected, against everyone else.
    outcome
        The column of the true outcome, 0 or 1.
    prediction, recommendation
        The column of the predicted probability, or of the recommendation, 0 or 1.
    criterion
        "separation" (the prediction or recommendation given the outcome), "sufficiency" (the outcome given the
        prediction or recommendation), or a common name of a scan of Table 1, such as "false positive rate" or "FPR":
        `causalaudit.bias_scan.COMMON_NAMES`.
    given
        The value of the conditioning variable to filter on; None adds it to the outcome model.
    direction
        "positive": the event is more frequent than expected; "negative": less.
    features
        The columns that are scanned and adjusted for; default all others.
    bins
        How numbers are cut for the scan (they stay numbers in the models): a number of quantile bins, ascending edges,
        or either by column. Default quartiles for numbers with more than ten values.
    penalty
        Subtracted from the score for each value that a subgroup lists; a feature with all its values lists none.
    iterations
        Starts of the coordinate ascent, which is used when there are more than 32,768 subgroups.
    permutations
        Tables drawn under the null hypothesis, at most; 0 for no p-value. Drawing stops at the tenth that scores as
        high.
    null
        "propensity": statuses are drawn from P̂(A | X, C). "permutation": statuses are permuted, the paper's way, whose
        type-I error grows when A depends on X.
    propensity, expectation
        Scikit-learn classifiers for P(A | X) and for the event; the second must take `sample_weight`. Default: logistic
        regression with an L2 penalty, C = 1.
    counterfactuals
        Counterfactuals of the protected people with another status: expectations are their counterfactual events, and
        the scan finds the subgroup with the largest causal disparity. They must hold the column of the event.
    draws
        Draws of a Bayesian outcome model (a regression with the default's penalty as its prior, whatever `expectation`
        is), or of the counterfactuals, for the interval of the disparity and the stability of the subgroup; 0 for none.
    split
        The share of people who are searched; disparities are measured on the others. Only so are their intervals valid
        after the search.
    top
        How many of the best distinct subgroups to return.
    alpha
        The level of significance, for verdicts.
    prob
        The probability of the disparity's credible interval.
    seed
        Same seed, same answer, for any number of workers.
    progress
        Show a bar when it is long.

    Returns
    -------
    BiasScanResult

    References
    ----------
    Boxer, McFowland and Neill (2024), Auditing predictive models for intersectional biases.

    Examples
    --------
    >>> import numpy as np, pandas as pd, causalaudit as ca
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({name: rng.choice(list("ab"), 4000) for name in ("group", "sex", "region")})
    >>> people["reoffended"] = rng.integers(0, 2, 4000)
    >>> hit = (people.group == "b") & (people.sex == "a")
    >>> people["high_risk"] = (rng.random(4000) < np.where(hit, 0.6, 0.3)).astype(int)
    >>> result = ca.scan_bias(
    ...     people, {"group": "b"}, "reoffended", recommendation="high_risk", criterion="false positive rate"
    ... )
    >>> result.subgroup, result.certified
    ({'sex': ['a']}, True)
    """
    settings = {
        name: value
        for name, value in locals().items()
        if name not in ("data", "counterfactuals", "progress", "propensity", "expectation")
    }
    check_numbers(penalty, iterations, permutations, null, draws, split, top, alpha, prob)
    question = ask(data, protected, outcome, prediction, recommendation, criterion, given, direction, features, bins)
    settings["features"] = [feature.name for feature in question.features]
    if counterfactuals is not None:
        check_worlds(counterfactuals, protected, permutations)
    models = choose_models(propensity, expectation)
    of = {"prediction": prediction, "recommendation": recommendation}[question.criterion.of]
    event = str(outcome if question.criterion.criterion == "sufficiency" else of)
    about = partial(view, models=models, worlds=counterfactuals, event=event, draws=draws, seed=seed, progress=progress)
    searched, *rest = [about(part) for part in _parts(question, split, seed)]
    measured = rest[0] if rest else searched
    search = Search.plan(searched.strata.cells, question.sizes, penalty, iterations, seed)
    found = search.best(searched.evidence, top)
    curves = _look_at_models(searched)
    p_value, null_scores = None, None
    if permutations:
        score = found[0].score if found else 0.0
        p_value, null_scores = assess(
            searched.question, searched.strata, models, search, score, null, permutations, seed, progress
        )
    disparities = Disparity(
        measured.question, measured.strata, measured.mean, measured.draws, counterfactuals is not None, prob, seed
    )
    stability = None
    if searched.draws is not None:
        stability = inclusion(searched.question, searched.strata, search, searched.draws, progress)
    return BiasScanResult(
        table=_table(question, found, disparities, None if not draws else (prob, split is not None)),
        settings=settings,
        p_value=p_value,
        certified=search.exhaustive,
        calibration=curves,
        question=question,
        disparities=disparities,
        null_scores=null_scores,
        inclusion=stability,
    )


def _parts(question: Question, split: float | None, seed: int) -> list[Question]:
    """Return those who are searched and, with a split, the others; alike in statuses and in the filter."""
    if split is None:
        return [question]
    rng = generator(seed, "bias scan split")
    order = rng.permutation(len(question.index))
    searched = np.zeros(len(order), dtype=bool)
    for ours in (True, False):
        for inside in (True, False):
            people = order[((question.protected == ours) & (question.inside == inside))[order]]
            searched[people[: round(split * len(people))]] = True
    parts = [question.some(people) for people in (np.flatnonzero(searched), np.flatnonzero(~searched))]
    for part in parts:
        if any(not (who & part.inside).any() for who in (part.protected, ~part.protected)):
            raise DataError(
                f"split is {split!r}, which leaves {len(parts[0].index)} people to search and {len(parts[1].index)} "
                "others, but no protected people, or nobody to compare them with, in one part: give more people, or no "
                "split."
            )
    return parts


def _look_at_models(searched: View) -> pd.DataFrame:
    if searched.expected is None:
        return pd.DataFrame(columns=["model", "bin", "predicted", "observed", "weight", "error"])
    curves = calibration_curves(searched.strata, searched.expected, searched.protected)
    warn_of_models(searched.question, searched.strata, searched.expected, curves)
    return curves


def _table(
    question: Question, found: list[Found], disparities: Disparity, interval: tuple[float, bool] | None
) -> pd.DataFrame:
    rows = []
    for rank, one in enumerate(found, start=1):
        row = {
            "rank": rank,
            "subgroup": question.describe(one.masks),
            "score": one.score,
            "llr": one.ratio,
            "parameter": question.parameter(one.shift),
            **disparities.row(one.masks),
        }
        if interval is not None:
            prob, split = interval
            row["interval"] = interval_name(prob, HONEST if split else NOT_CORRECTED)
        rows.append(row)
    columns = [
        "rank", "subgroup", "score", "llr", "parameter", "metric", "observed", "n", "comparison", "n_comparison",
        "expected", "disparity",
        *(["disparity_mean", "disparity_low", "disparity_high", "interval"] if interval is not None else []),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
