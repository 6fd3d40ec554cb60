"""The audit of recourse: mine subgroups and actions, apply them, and compare the two protected groups."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.inference import Posterior
from causalaudit.recourse.bounds import score_intervals
from causalaudit.recourse.bridge import Values
from causalaudit.recourse.candidates import Candidates, evaluate, match
from causalaudit.recourse.causal import CausalRecourse, intervene
from causalaudit.recourse.mining import frequent_itemsets
from causalaudit.recourse.notions import Notion, all_notions, dense_ranks, percentile_budgets
from causalaudit.recourse.people import People, code_people
from causalaudit.recourse.predictions import Predictions
from causalaudit.recourse.result import RecourseResult
from causalaudit.recourse.rules import DECIMALS, Weights, make_rules


def audit_recourse(
    data: pd.DataFrame,
    classifier: Any,
    protected: str | Mapping[str, tuple[Any, Any]],
    features: Sequence[str],
    numeric: Collection[str] = (),
    ordinal: Collection[str] = (),
    orders: Mapping[str, Sequence[Any]] | None = None,
    weights: Weights | None = None,
    immutable: Collection[str] = (),
    increasing: Collection[str] = (),
    never: Collection[Any] = (),
    favourable: Any = 1,
    support: float = 0.01,
    phi: Sequence[float] = (0.3, 0.7),
    budgets: Sequence[float] | None = None,
    no_recourse_cost: float | None = None,
    posterior: Posterior | None = None,
    alpha: float = 0.05,
    prob: float = 0.9,
    draws: int | None = None,
    seed: int = 0,
    progress: bool = True,
    values: Values | None = None,
) -> RecourseResult:
    """Compare how hard it is for two protected groups to turn an unfavourable prediction, in every frequent subgroup.

    Subgroups are the sets of feature values that are frequent among the people of *both* protected levels whom the
    classifier denies the favourable label; actions are those that are frequent among the people it grants it. An action
    is valid for a subgroup if it sets exactly the features of the subgroup, feasibly, and changes one of them. It gives
    recourse to those whose prediction it turns.

    Parameters
    ----------
    data
        The people, with a unique index.
    classifier
        A fitted classifier (its `predict` is used) or a function of a table that returns labels, or probabilities of
        the favourable label (favourable above one half). It is given the features and the protected column.
    protected
        The protected column, if it has two levels; ``{column: (level0, level1)}`` picks two of several, and people
        with others are left out.
    features
        The columns that the classifier reads, without the protected one.
    numeric, ordinal
        Features whose changes cost in proportion to the difference over the range in `data`, and to the difference of
        positions. A change of any other costs the same, whatever it is.
    orders
        Feature → its values, lowest first. Numbers and ordered categories have their own order.
    weights
        Feature → what its cost is multiplied by (default 1), or a function of the old and the new value that returns
        the cost; or one function of two dicts, the features of a subgroup before and after an action, that returns the
        cost of the whole action.
    immutable, increasing
        Features that may not change, and that may not go down.
    never
        Values that no action may lead to, such as "Unknown".
    favourable
        The good label; any other is unfavourable.
    support
        The share of the respective people that must have the values of a subgroup or an action, at least.
    phi
        Shares of a group to be reached: for equal choice and equal cost of effectiveness.
    budgets
        Costs within which effectiveness is compared; default the 30th, 60th and 90th percentile of the costs at which
        half of a protected subgroup is reached (appendix A of the paper).
    no_recourse_cost
        The recourse cost of people without recourse (c∞), for the mean recourse; None: no such notion.
    posterior
        A fit of a structural causal model. With it, an action is an intervention on what it changes, and all that this
        causes responds, with each person's own noise, in every draw; the classifier is asked about the resulting
        person. Features that the model lacks are changed as they are. The protected column never responds.
    alpha
        The level of the intervals, for all subgroups of the search at once.
    prob
        The probability of the credible intervals.
    draws
        Draws of the posterior that are used; None: all.
    seed, progress
        Of the draws; whether to show a bar when it is long.
    values
        With a posterior, for features that are binned in `data` but not in the fit: feature → bin → the value that an
        action sets the variable to. Which bin a value belongs to is learned from the people, who are found in the fit
        by the labels of the index.

    Returns
    -------
    RecourseResult

    Raises
    ------
    DataError
        If nobody or everybody is affected; if the support is so low that there would be more than a million itemsets;
        and for all that is not as described above.

    Notes
    -----
    Costs are rounded to twelve decimals, so that equal sums are equal. Costs that agree to nine decimals are one step
    of the effectiveness–cost distribution. Memory is bounded: the classifier is given at most 131,072 rows at a time,
    each distinct row once, and recourse is held as a bit for each affected person and action, in passes of 256 MB.

    References
    ----------
    Kavouras, Tsopelas, Giannopoulos, Sacharidis, Psaroudaki, Theologitis, Rontogiannis, Fotakis and Emiris (2023),
    Fairness aware counterfactuals for subgroups.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_loan(2_000, seed=0).assign(rich=lambda people: people.salary > 100_000)
    >>> people["saves"] = people.balance > 20_000
    >>> bank = lambda table: (table.rich.astype(int) + table.saves > (table.gender == "female")).astype(int)
    >>> result = ca.audit_recourse(people, bank, "gender", ["rich", "saves"], support=0.05)
    >>> result.top("equal_effectiveness", 1)[["subgroup", "score", "bias_against"]].to_dict("records")
    [{'subgroup': {'saves': False}, 'score': 1.0, 'bias_against': 'female'}]
    """
    _check_shares(support=support, alpha=alpha, prob=prob)
    thresholds = [_check_share("phi", value) for value in np.atleast_1d(np.asarray(phi, dtype=float)).tolist()]
    if values is not None and posterior is None:
        raise DataError("values say what bins stand for in a model, but there is no posterior.")
    people = code_people(data, protected, features, orders)
    rules = make_rules(people, data, numeric, ordinal, weights, immutable, increasing, never)
    predictions = Predictions(people, classifier, favourable)
    affected = ~predictions.factual()
    numbers = _check_affected(people, affected, favourable)
    subgroups = frequent_itemsets([people.codes[affected & (people.group == side)] for side in (0, 1)], support)
    blocks = match(subgroups, frequent_itemsets([people.codes[~affected]], support), rules)
    if not blocks:
        raise DataError(
            f"None of the {len(subgroups):,} subgroups has a valid action: lower the support ({support:g}), or let "
            "more features change."
        )
    candidates = evaluate(people, affected, blocks, rules, predictions, progress)
    causal = None
    if posterior is not None:
        causal = intervene(posterior, data, people, affected, candidates, predictions, values, draws, seed, progress)
        candidates = causal.candidates
    chosen = percentile_budgets(candidates) if budgets is None else _check_budgets(budgets)
    notions = all_notions(thresholds, chosen, _check_cost(no_recourse_cost))
    table, compared = tabulate(people, candidates, notions, alpha, prob, causal)
    settings = {
        "protected": protected, "features": list(people.features), "numeric": list(numeric), "ordinal": list(ordinal),
        "orders": dict(orders or {}), "weights": weights, "immutable": list(immutable), "increasing": list(increasing),
        "never": list(never), "favourable": favourable, "support": support, "phi": thresholds, "budgets": chosen,
        "no_recourse_cost": no_recourse_cost, "alpha": alpha, "prob": prob, "draws": draws, "seed": seed,
        "mined": len(subgroups), "searched": len(candidates), "predicted": predictions.asked,
    }  # fmt: skip
    return RecourseResult(table, settings, compared, notions, people, candidates, numbers, rules, causal)


def tabulate(
    people: People,
    candidates: Candidates,
    notions: tuple[Notion, ...],
    alpha: float,
    prob: float,
    causal: CausalRecourse | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the table of a result, and the values behind it, notion by notion."""
    subgroups = np.empty(len(candidates), dtype=object)
    subgroups[:] = [people.predicate(codes) for codes in candidates.subgroups]
    values = [notion.values(candidates) for notion in notions]
    worse = np.stack([notion.disadvantage(own) for notion, own in zip(notions, values, strict=True)])
    score = np.abs(worse)
    ends = np.stack(score_intervals(notions, candidates, values, alpha / len(candidates)))
    credible = np.full(ends.shape, np.nan)
    if causal is not None:
        credible = np.stack([causal.interval(notion, prob) for notion in notions])
    against = np.array([people.groups[1], None, people.groups[0]], dtype=object)[np.sign(worse).astype(int) + 1]
    repeats, number = len(candidates), len(notions)
    table = pd.DataFrame(
        {
            "subgroup": np.tile(subgroups, number),
            "metric": np.repeat([notion.metric for notion in notions], repeats),
            "parameter": np.repeat([notion.parameter for notion in notions], repeats),
            "viewpoint": np.repeat([notion.viewpoint for notion in notions], repeats),
            "score": score.ravel(),
            "bias_against": pd.Series(against.ravel(), dtype=object),
            "rank": np.concatenate([dense_ranks(own) for own in score]),
            "interval_low": ends[:, 0].ravel(),
            "interval_high": ends[:, 1].ravel(),
            "hdi_low": credible[:, 0].ravel(),
            "hdi_high": credible[:, 1].ravel(),
            "n0": np.tile(candidates.sizes[0], number),
            "n1": np.tile(candidates.sizes[1], number),
        }
    )
    pair = np.concatenate(values, axis=1)
    return table, pd.DataFrame({"value0": pair[0], "value1": pair[1]})


def _check_shares(**shares: Any) -> None:
    for name, value in shares.items():
        _check_share(name, value)


def _check_share(name: str, value: Any) -> float:
    if not (isinstance(value, int | float | np.number) and 0 < value <= 1) or (name != "phi" and value == 1):
        raise DataError(f"{name} is {value!r}, but must be a number between 0 and 1.")
    return float(value)


def _check_budgets(budgets: Sequence[float]) -> list[float]:
    chosen = np.round(np.atleast_1d(np.asarray(budgets, dtype=float)), DECIMALS).tolist()
    for budget in chosen:
        if not budget >= 0:
            raise DataError(f"A budget is {budget!r}, but must be a number of at least 0.")
    return list(dict.fromkeys(chosen))


def _check_cost(cost: float | None) -> float | None:
    if cost is not None and not (cost >= 0 and np.isfinite(cost)):
        raise DataError(f"no_recourse_cost is {cost!r}, but must be a finite number of at least 0.")
    return cost


def _check_affected(people: People, affected: np.ndarray, favourable: Any) -> tuple[int, int]:
    """Refuse what leaves nobody to compare; return the affected people of the two levels."""
    if not affected.any():
        raise DataError(f"Nobody is affected: the prediction is {favourable!r} for all {len(affected):,} people.")
    if affected.all():
        raise DataError(
            f"Everybody is affected: the prediction is {favourable!r} for none of {len(affected):,} people, so that "
            "there is nobody to learn actions from. Is this the favourable label?"
        )
    numbers = [int((affected & (people.group == side)).sum()) for side in (0, 1)]
    for level, number in zip(people.groups, numbers, strict=True):
        if number == 0:
            raise DataError(f"Nobody with {people.protected!r} = {level!r} is affected: there is nobody to compare.")
    return numbers[0], numbers[1]
