"""The audit of recourse: mine subgroups and actions, apply them, and compare the two groups."""

import warnings
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_draws, check_seed, check_share, check_types
from causalaudit.counterfactuals import check_posterior
from causalaudit.errors import CausalAuditWarning, DataError
from causalaudit.people import Protected
from causalaudit.recourse.evidence.evaluation import match
from causalaudit.recourse.evidence.itemsets import frequent_itemsets
from causalaudit.recourse.evidence.known_answers import KnownAnswers
from causalaudit.recourse.intervals.over_draws import draws_needed
from causalaudit.recourse.measure import Measurement
from causalaudit.recourse.notions.notion import all_notions, percentile_budgets
from causalaudit.recourse.question.actions import Actions
from causalaudit.recourse.question.change_rules import make_rules
from causalaudit.recourse.question.coding import CodedPeople, code_people
from causalaudit.recourse.question.numbers import as_json, check_budgets, check_no_recourse_cost, check_phi
from causalaudit.recourse.question.splitting import split_people
from causalaudit.recourse.result.result import RecourseResult
from causalaudit.recourse.result.table import tabulate

if TYPE_CHECKING:
    from causalaudit.inference import Posterior


def audit_recourse(
    data: pd.DataFrame,
    classifier: Any,
    protected: Protected,
    features: Sequence[str],
    *,
    actions: Actions = Actions(),  # noqa: B008  (it is frozen)
    favourable: Any = 1,
    thresholds: Collection[str] = (),
    support: float = 0.01,
    phi: Sequence[float] = (0.3, 0.7),
    budgets: Sequence[float] | None = None,
    no_recourse_cost: float | None = None,
    posterior: "Posterior | None" = None,
    split: float | None = None,
    alpha: float = 0.05,
    prob: float = 0.9,
    draws: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> RecourseResult:
    """Compare how hard it is for two groups to turn an unfavourable prediction, in every frequent subgroup.

    Subgroups are the sets of feature values that are frequent among the people of *both* groups whom the classifier
    denies the favourable label; actions are those that are frequent among the people it grants it. An action is valid
    for a subgroup if it sets exactly the features of the subgroup (`Actions.subsets`: some of them), feasibly, and
    changes one of them. It gives recourse to those whose prediction it turns.

    Parameters
    ----------
    data
        The people, with a unique index.
    classifier
        A fitted classifier (its `predict` is used) or a function of a table that returns labels. It is given the
        features and the protected column.
    protected
        ``{column: level}``: that level (group 1) against everyone else (group 0); ``{column: (level, reference)}``:
        against one other level, people with others being left out. Of a bare column, which must have two levels, the
        second is compared with the first.
    features
        The columns that the classifier reads, without the protected one.
    actions
        What changes cost, and which are feasible: see `Actions`.
    favourable
        The good label; any other is unfavourable.
    thresholds
        Features, with an order of their own or by `orders`, of which subgroups may also say that they are at least, or
        at most, a value. An action leads everybody of such a subgroup to one value beyond the threshold, or leaves the
        feature as it is. It costs what it costs at most in the subgroup.
    support
        The share of the respective people that must have the values of a subgroup or an action, at least.
    phi
        Shares of a group to be reached: for equal choice and equal cost of effectiveness.
    budgets
        Costs within which effectiveness is compared; default the 30th, 60th and 90th percentile of the costs at which
        half of a group is reached (appendix A of the paper).
    no_recourse_cost
        The recourse cost of people without recourse (c∞), for the mean recourse; None: no such notion.
    posterior
        A fit of a structural causal model. With it, an action is an intervention on what it changes, and all that this
        causes responds, with each person's own noise, in every draw; the classifier is asked about the resulting
        person. Features that the model lacks are changed as they are. The protected column never responds. How much of
        a person's noise stays where an action reaches is the posterior's assumption (`Posterior.with_coupling`).
    split
        The share of people who are searched: subgroups, actions and default budgets are mined among them, and measured
        on the others, of whom all counts and costs of the result are. Only so are intervals valid after the search;
        None: everybody is searched and measured, and what was mined is held fixed.
    alpha
        The level of the simultaneous intervals, for all subgroups of the search at once. With a posterior one half is
        spent on who was sampled, the other on the parameters, of which fewer draws than 4 / alpha spend more: with
        fewer than 2 / alpha that differ there are no such intervals, and a warning.
    prob
        The probability of the credible intervals.
    draws
        Draws of the posterior that are used; None: all.
    seed, progress
        Of the draws; whether to show a bar when it is long.

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
    The steps (a), (b) and (c) of FACTS (section 3 of the paper).

    Costs are rounded to twelve decimals, so that equal sums are equal. Costs that agree to nine decimals are one step
    of the effectiveness–cost distribution. Memory is bounded: the classifier is given at most 131,072 rows at a time,
    each distinct row once, and recourse is held as a bit for each affected person and action, in passes of 256 MB.

    With a split the parts are alike in groups and predictions, and subgroups of which nobody of one group is left to
    measure are left out (`settings["unmeasured"]`). A posterior is that of all its people, whichever part they are in.

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
    >>> result = ca.audit_recourse(people, bank, {"gender": "female"}, ["rich", "saves"], support=0.05)
    >>> result.top("equal_effectiveness", 1)[["subgroup", "score", "bias_against"]].to_dict("records")
    [{'subgroup': {'saves': False}, 'score': 1.0, 'bias_against': 'female'}]
    """
    check_types(audit_recourse, locals())
    for name, share in {"support": support, "alpha": alpha, "prob": prob}.items():
        check_share(name, share)
    split = None if split is None else check_share("split", split)
    shares, worst = check_phi(phi), check_no_recourse_cost(no_recourse_cost)
    chosen = None if budgets is None else check_budgets(budgets)
    draws, seed = check_draws(draws), check_seed(seed)
    if not isinstance(actions, Actions):
        raise DataError(f"actions is {actions!r}, but must be Actions(numeric=…, immutable=…, …).")
    if actions.values is not None and posterior is None:
        raise DataError("values say what bins stand for in a model, but there is no posterior.")

    if posterior is not None:
        check_posterior(posterior)
    people = code_people(data, protected, features, actions.orders, thresholds)
    rules = make_rules(people, data, actions)
    answers = KnownAnswers.of(people, classifier, favourable)
    affected = ~answers.factual()
    _check_affected(people, affected, favourable)
    searched, measured = split_people(people, affected, split, seed)

    ranges = people.vocabulary.ranges
    denied = [people.codes[searched & affected & (people.group == side)] for side in (0, 1)]
    subgroups = frequent_itemsets(denied, support, ranges)
    # What an action leaves as it is, it must name if it sets all features of a subgroup.
    named = None if actions.subsets else ranges
    helpful = frequent_itemsets([people.codes[searched & ~affected]], support, named)
    blocks = match(subgroups, helpful, rules, actions.subsets)
    if not blocks:
        raise DataError(
            f"None of the {len(subgroups):,} subgroups has a valid action: lower the support ({support:g}), or let "
            "more features change."
        )
    measure = Measurement(people, data, blocks, rules, answers, posterior, actions.values, draws, seed, prob, progress)
    found = measure(affected & measured)
    candidates, counts = found.candidates, found.counts
    if chosen is None:  # a budget is chosen on those who were searched, as subgroups and actions are
        chosen = percentile_budgets(candidates if split is None else measure(affected & searched).candidates)
    if counts is not None and counts.too_few(alpha):
        warnings.warn(
            f"The {len(counts.flipped)} draws of the posterior differ, and are too few for simultaneous intervals at "
            f"the level {alpha:g}, which are NaN, so that nothing is flagged: {draws_needed(alpha)} are needed.",
            CausalAuditWarning,
            stacklevel=2,
        )
    notions = all_notions(shares, chosen, worst)
    table, values = tabulate(people.vocabulary, candidates, notions, alpha, prob, counts)
    settings = {
        "protected": protected, "features": list(people.vocabulary.features), "actions": actions.setting,
        "favourable": favourable, "thresholds": list(thresholds), "support": support, "phi": shares,
        "budgets": chosen, "no_recourse_cost": worst,
        "alpha": alpha, "prob": prob, "draws": draws, "split": split, "seed": seed, "mined": len(subgroups),
        "searched": len(candidates), "unmeasured": found.unmeasured, "predicted": answers.number,
        "coupling": None if posterior is None else posterior.scm.couplings(),
    }  # fmt: skip
    numbers = _affected_numbers(people, affected & measured)
    return RecourseResult(
        table, as_json(settings), values, notions, people.vocabulary, candidates, numbers, counts, found.twins
    )


def _check_affected(people: CodedPeople, affected: np.ndarray, favourable: Any) -> None:
    """Refuse what leaves nobody to compare."""
    if not affected.any():
        raise DataError(f"Nobody is affected: the prediction is {favourable!r} for all {len(affected):,} people.")
    if affected.all():
        raise DataError(
            f"Everybody is affected: the prediction is {favourable!r} for none of {len(affected):,} people, so that "
            "there is nobody to learn actions from. Is this the favourable label?"
        )
    for group, number in zip(people.vocabulary.groups, _affected_numbers(people, affected), strict=True):
        if number == 0:
            column = people.vocabulary.protected
            raise DataError(f"Nobody with {column!r} = {group!r} is affected: there is nobody to compare.")


def _affected_numbers(people: CodedPeople, affected: np.ndarray) -> tuple[int, int]:
    """Return how many of each group are affected."""
    first, second = (int((affected & (people.group == side)).sum()) for side in (0, 1))
    return first, second
