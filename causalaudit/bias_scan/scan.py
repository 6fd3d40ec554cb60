"""The conditional bias scan: question → evidence → result."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from causalaudit.arguments import check_types
from causalaudit.bias_scan.evidence.calibration import look_at_models
from causalaudit.bias_scan.evidence.counterfactual_expectations import check_worlds
from causalaudit.bias_scan.evidence.disparity import compare
from causalaudit.bias_scan.evidence.expectations import choose_models
from causalaudit.bias_scan.evidence.expected_people import ExpectedPeople, expect_people
from causalaudit.bias_scan.evidence.misfit import warn_of_misfit
from causalaudit.bias_scan.evidence.null_tables import p_value_of
from causalaudit.bias_scan.evidence.search import FoundSubgroup, SubgroupSearch
from causalaudit.bias_scan.evidence.stability import SEARCHED, inclusion
from causalaudit.bias_scan.question.features import Bins, plain_bins
from causalaudit.bias_scan.question.numbers import check_numbers, draws_to_make
from causalaudit.bias_scan.question.scan_question import read_question
from causalaudit.bias_scan.question.splitting import split_people
from causalaudit.bias_scan.result.result import BiasScanResult
from causalaudit.counterfactuals import CounterfactualDraws


def scan_bias(
    data: pd.DataFrame,
    protected: Mapping[str, Any],
    outcome: str,
    *,
    prediction: str | None = None,
    recommendation: str | None = None,
    criterion: str = "separation",
    given: int | None = None,
    direction: str = "positive",
    features: Sequence[str] | None = None,
    adjust_for: Sequence[str] | None = None,
    bins: Bins = None,
    scale: str = "mean",
    sigma: float | None = None,
    penalty: float = 1.0,
    iterations: int = 500,
    permutations: int = 0,
    null: str = "propensity",
    propensity: Any = None,
    expectation: Any = None,
    counterfactuals: CounterfactualDraws | None = None,
    posterior_draws: int = 0,
    draws: int | None = None,
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
        ``{column: level}``: who is protected, against everyone else; ``{column: (level, reference)}``: against people
        of one other level, and the rest are left out.
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
        A list of the columns whose values form subgroups; default all others, but for texts and categories of which
        hardly anybody shares a value (names, identifiers), which a warning names.
    adjust_for
        A list of the columns that the models see (Table 4 of the paper has two lists); default the features.
    bins
        How numbers are cut for the scan (they stay numbers in the models): a number of quantile bins, ascending edges,
        or either by column. Default quartiles for numbers with more than ten values.
    scale
        Of predictions: "mean" compares their means with expected means, whatever their spread (a quasi-likelihood,
        divided by their dispersion). "paper" compares log-odds with the log-odds of the expected mean, as section 2.2
        (case B) and Table 2 do, for the paper's tables: predictions that are spread out deviate though they are fair.
    sigma
        The standard deviation of the paper's Gaussian score, which the paper leaves open; default 1.
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
        regressions with an L2 penalty, C = 1, plain as the paper's or with splines of numbers and interactions of all
        pairs, whichever is expected to have the smaller log loss for other people (`settings` says which); plain on the
        paper's scale, or if one classifier alone is given.
    counterfactuals
        Counterfactuals of the protected people with another status: expectations are their counterfactual events, and
        the scan finds the subgroup with the largest causal disparity. They must hold the column of the event.
    posterior_draws
        Without counterfactuals: how many posterior draws of the disparity to make, for its interval (the Bayesian
        bootstrap: nothing is assumed about the law of the events), and of the default outcome model, for the stability
        of the subgroup. 0 for none; a 90 % interval needs 19.
    draws
        The draws that are used: of the counterfactuals, evenly spaced, None being all that there are; without
        counterfactuals so many are made, as by `posterior_draws`. 0 for none.
    split
        The share of people who are searched; disparities are measured on the others. Only so are their intervals valid
        after the search.
    top
        How many of the best distinct subgroups to return.
    alpha
        The level of the test, for verdicts.
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
    check_types(scan_bias, locals())
    numbers = check_numbers(
        penalty=penalty, iterations=iterations, permutations=permutations, null=null, posterior_draws=posterior_draws,
        draws=draws, split=split, top=top, alpha=alpha, prob=prob, seed=seed,
    )  # fmt: skip
    question = read_question(
        data, protected, outcome, prediction=prediction, recommendation=recommendation, criterion=criterion,
        given=given, direction=direction, features=features, adjust_for=adjust_for, bins=bins, scale=scale,
        sigma=sigma,
    )  # fmt: skip
    if counterfactuals is not None:
        check_worlds(counterfactuals, question.groups, numbers)
    else:
        numbers["posterior_draws"] = draws_to_make(numbers)
    models = choose_models(propensity, expectation, scale)
    parts = [
        expect_people(part, models, counterfactuals, numbers)
        for part in split_people(question, numbers["split"], numbers["seed"])
    ]
    searched, measured = parts[0], parts[-1]
    search = SubgroupSearch.plan(
        searched.strata.cells, question.sizes, numbers["penalty"], numbers["iterations"], numbers["seed"]
    )
    search.announce(
        1 + numbers["permutations"] + (0 if searched.draws is None else min(searched.draws.number, SEARCHED))
    )
    found = search.best(searched.evidence, numbers["top"])
    curves = look_at_models(searched)
    if counterfactuals is None:
        models = models.of(searched.strata, searched.protected)
        if found:
            disparity = compare(searched, found[0].masks, numbers["prob"], numbers["seed"])["disparity"]
            warn_of_misfit(searched, models, disparity)
    p_value, null_scores = None, None
    if numbers["permutations"]:
        score = found[0].score if found else 0.0
        p_value, null_scores = p_value_of(score, searched, models, search, numbers, progress)
    return BiasScanResult(
        table=_table(found, measured, numbers),
        settings={
            "protected": question.groups.setting,
            "left_out": question.left_out,
            "outcome": outcome,
            "prediction": prediction,
            "recommendation": recommendation,
            "criterion": criterion,
            "given": question.criterion.given,
            "direction": direction,
            "features": [feature.name for feature in question.features],
            "adjust_for": [feature.name for feature in question.adjusted],
            "scanned_by": {feature.name: feature.scanned_by for feature in question.features},
            "bins": plain_bins(bins),
            "scale": scale,
            "sigma": question.sigma if question.gaussian else None,
            "propensity": models.names[0],
            "expectation": models.names[1],
            "counterfactuals": None if counterfactuals is None else counterfactuals.settings,
            **numbers,
            "draws": 0 if measured.draws is None else measured.draws.number,
        },
        p_value=p_value,
        certified=search.exhaustive,
        calibration=curves,
        question=question,
        measured=measured,
        null_scores=null_scores,
        inclusion=inclusion(searched, search, progress),
    )


def _table(found: list[FoundSubgroup], measured: ExpectedPeople, numbers: dict[str, Any]) -> pd.DataFrame:
    question = measured.question
    rows = [
        {
            "rank": rank,
            "subgroup": question.describe(one.masks),
            "score": one.score,
            "llr": one.ratio,
            "parameter": question.parameter(one.shift),
            **compare(measured, one.masks, numbers["prob"], numbers["seed"]),
        }
        for rank, one in enumerate(found, start=1)
    ]
    columns = [
        "rank", "subgroup", "score", "llr", "parameter", "metric", "observed", "n", "comparison", "n_comparison",
        "expected", "disparity",
        *(["disparity_mean", "credible_low", "credible_high"] if measured.draws is not None else []),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
