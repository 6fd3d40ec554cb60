"""Situation testing, standard and counterfactual: the question, the evidence, the result."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_types
from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.decisions import Decision
from causalaudit.errors import DataError
from causalaudit.situation_testing.counterfactual_centres import CounterfactualCentres
from causalaudit.situation_testing.coupling_bounds import Profiles
from causalaudit.situation_testing.discovery import prob_in_population
from causalaudit.situation_testing.draw_comparison import compare_over_draws
from causalaudit.situation_testing.evidence import AtProfiles, SituationEvidence, gather_evidence
from causalaudit.situation_testing.geometry import Geometry
from causalaudit.situation_testing.gower import Distance, Gower, custom_geometry
from causalaudit.situation_testing.group_comparison import (
    COUNTS,
    adjusted,
    compare_groups,
    p_values,
    warn_of_empty_groups,
)
from causalaudit.situation_testing.match_quality import (
    remoteness,
    typical_distance,
    warn_of_factual_features,
    warn_of_poor_matches,
)
from causalaudit.situation_testing.outcomes import Outcomes, decide_elsewhere, decide_outcomes
from causalaudit.situation_testing.question import SituationQuestion, ask_situation
from causalaudit.situation_testing.result import SituationTestingResult
from causalaudit.situation_testing.shift import ShiftedGroups, check_shifted


def situation_testing(
    data: pd.DataFrame,
    decision: Decision,
    protected: Mapping[str, Any],
    *,
    features: Sequence[str],
    counterfactuals: CounterfactualDraws | None = None,
    k: int | Sequence[int] = 15,
    alpha: float = 0.05,
    prob: float = 0.9,
    tau: float = 0.0,
    centres: bool = False,
    direction: str = "negative",
    distance: Gower | Distance = Gower(),  # noqa: B008  (it is frozen)
    max_distance: float | None = None,
    favourable: Any = 1,
    bounds: bool = False,
    seed: int = 0,
    progress: bool = True,
) -> SituationTestingResult:
    """Test for discrimination of every protected person, by comparing how people like her are decided upon.

    Each complainant is compared, by the share of unfavourable decisions, with two groups of k people: the *control
    group*, those of her own status who are most like her, and the *test group*, those of the other status who are most
    like her (standard situation testing), or most like who she would have been had she been one of them
    (counterfactual situation testing, if `counterfactuals` are given). Complainants are all who have the protected
    level, whatever was decided.

    Parameters
    ----------
    data
        Everyone, with a unique index.
    decision
        A column, a function of a table, or a fitted classifier. It must give labels; of a rule that gives
        probabilities, say where it decides.
    protected
        ``{column: level}``: who is protected, against everyone else; ``{column: (level, reference)}``: against those
        with the level `reference`; ``{column: Shift(by)}`` (`causalaudit.situation_testing.Shift`): of a number or an
        ordered category, everyone against people whose value is higher by that much.
    features
        A list of the columns by which people are compared, neither the protected one nor the decision. Missing values
        are refused, as by every auditor. One that the counterfactuals do not model keeps its factual value there, and a
        warning names it.
    counterfactuals
        What the complainants would have been with another status; None for standard situation testing.
    k
        The size of the groups, or several sizes; neighbours are searched once.
    alpha
        The level of Wald's and Newcombe's intervals.
    prob
        The probability of the credible intervals.
    tau
        The accepted deviation: a difference beyond it is a case.
    centres
        Count the complainant and her counterfactual in their groups, which then have k + 1 members ("CST w/", Remark
        4.2).
    direction
        "negative": against the complainant, delta > tau (Definition 4.4). "positive": in her favour, delta < tau
        (Definition B.1).
    distance
        `Gower`, or a function of two tables that returns the distances of the rows of the first from those of the
        second.
    max_distance
        Leave out neighbours that are farther; groups can then be smaller than k. Where one is empty there is no delta
        (NaN, which is no case), and a warning says for how many.
    favourable
        The good value of the decision; any other is unfavourable.
    bounds
        Find also between what the probability of a delta beyond tau lies under every coupling of the worlds
        (`coupling_low`, `coupling_high`): for counterfactuals of a program all of whose variables are finite and known.
        Test groups are searched for every profile of features that the program can give.
    seed
        Of the draws of rejection rates behind `population_low` and `population_high`.
    progress
        Show a bar when it is long.

    Returns
    -------
    SituationTestingResult

    Notes
    -----
    At the point counterfactual (`CounterfactualDraws.point`) all is as in the papers: Algorithm 1, with a case where
    delta is beyond tau, whatever was decided about the complainant herself (`rejected`). Thousands of complainants are
    thousands of tests: `significant_adjusted` says who is significant still when the expected share of false ones among
    them is kept below `alpha` (Benjamini and Hochberg).

    With several draws, each draw has a test group of its own. `delta_mean`, `structural_low`, `structural_high` and
    `prob_beyond_tau` (the share of draws with a delta beyond tau) are about delta among the people of these data,
    uncertain only in where the counterfactual lies; the posterior number of cases in the summary counts the same.
    Intervals of such lattice values are the shortest run that holds at least `prob` of the draws. `population_low` and
    `population_high` add, by Beta(½, ½) posteriors, that the groups are samples: they are about the difference of
    rejection rates in the population inside the two neighbourhoods, and `prob_population` is the probability that it is
    beyond tau. This is one half where nobody is rejected in either group, and so no number of cases is taken from it;
    `SituationTestingResult.discoveries` lists those in whom it is beyond doubt.

    `remoteness_control` and `remoteness_test` say how far a group is on average from its centre, in units of the mean
    distance of two people (`settings["typical_distance"]`). Where it is above 1, she is compared with people who are no
    more like her than anyone; a warning says how many cases rest on such a match, or on groups of which one is above
    one half and three times as far as the other.

    With `bounds`, `coupling_low` and `coupling_high` are the least and the greatest probability of a delta beyond tau,
    averaged over the draws of the parameters, whatever the coupling is: which noise people would keep is an assumption
    that data cannot test. `intervals` says whether some coupling attains them ("sharp") or not ("outer").
    `prob_beyond_tau` is a share of draws under the coupling that was assumed, and can miss these exact ends by its
    Monte-Carlo error. Ends of several complainants do not add up: one mechanism serves them all.

    Where a complainant has equally distant neighbours (to 1e-12), those of earlier rows come first.

    References
    ----------
    Alvarez and Ruggieri (2025), Counterfactual situation testing: from single to multidimensional discrimination:
    Definitions 4.1 to 4.5, B.1 and B.2, equations 3 to 11, Algorithm 1. Alvarez and Ruggieri (2023), the preliminary
    paper: Definitions 3.1 and 3.2, Algorithms 1 and 2.
    Thanh, Ruggieri and Turini (2011), k-NN as an implementation of situation testing.

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> posterior = ca.fit(ca.models.loan.linear(), applicants, seed=0)
    >>> women = applicants.gender == "female"
    >>> worlds = ca.counterfactuals(posterior, do={"gender": "male"}, rows=women, draws=200)
    >>> bank = lambda people: people.salary + 5 * people.balance > 225_000
    >>> result = ca.situation_testing(
    ...     applicants, bank, protected={"gender": "female"}, features=["salary", "balance"], counterfactuals=worlds
    ... )
    >>> bool(result.summary().loc[15, "cases"] > result.summary().loc[15, "cf_cases"])
    True
    """
    check_types(situation_testing, locals())
    question = ask_situation(
        data, decision, protected, features, k, alpha=alpha, prob=prob, tau=tau, centres=centres, direction=direction,
        max_distance=max_distance, seed=seed, decimals=distance.decimals if isinstance(distance, Gower) else None,
    )  # fmt: skip
    as_published = isinstance(distance, Gower) and distance.scale == "authors"
    people = data[question.features]
    geometry = distance.geometry(people) if isinstance(distance, Gower) else custom_geometry(people, distance)
    ours = question.groups.protected(data)
    places = None
    if counterfactuals is not None:
        places = CounterfactualCentres.of(counterfactuals, geometry, people, data.index[ours], as_published)
        if isinstance(question.groups, ShiftedGroups):
            check_shifted(question.groups, data, counterfactuals.point)
        if places.origin:  # else they were given as they are
            warn_of_factual_features(question.features, places.dataset)
    outcomes = decide_outcomes(data, decision, favourable, ours, counterfactuals, centres=centres)
    of_profiles = None
    if bounds:
        own = (decision, favourable)
        of_profiles = _at_profiles(question, data, geometry, counterfactuals, outcomes, own, as_published)
    evidence = gather_evidence(
        question, data, geometry, outcomes, places, of_profiles=of_profiles, as_published=as_published,
        progress=progress,
    )  # fmt: skip
    typical = typical_distance(geometry, people)
    table, cases = _conclude(question, evidence, outcomes, typical)
    warn_of_empty_groups(table["delta"])
    warn_of_poor_matches(table)
    settings = {
        **question.setting,
        "decision": _name(decision),
        "favourable": favourable.item() if isinstance(favourable, np.generic) else favourable,
        "distance": distance.setting if isinstance(distance, Gower) else _name(distance),
        "bounds": bool(bounds),
        "typical_distance": typical,
        "counterfactuals": None if counterfactuals is None else counterfactuals.settings,
    }
    return SituationTestingResult(table, settings, question, evidence, cases)


def _at_profiles(
    question: SituationQuestion,
    data: pd.DataFrame,
    geometry: Geometry,
    worlds: CounterfactualDraws | None,
    outcomes: Outcomes,
    rule: tuple[Decision, Any],
    as_published: bool,
) -> AtProfiles:
    """Return all that complainants could have been; refuse where delta is no function of that."""
    if worlds is None:
        raise DataError("bounds=True is about counterfactuals under any coupling: give counterfactuals.")
    if as_published:
        raise DataError(
            "bounds=True cannot be had with scale='authors', which measures a counterfactual by those of all others: "
            "use scale='range' or 'std'."
        )
    people, profiles = data[question.groups.protected(data)], Profiles.of(worlds, question)
    centres = CounterfactualCentres.of(profiles.worlds, geometry, data[question.features], people.index)
    if question.centres:
        outcomes = decide_elsewhere(outcomes, *rule, people, profiles.worlds)
    return AtProfiles(profiles, centres, outcomes)


def _conclude(
    question: SituationQuestion, evidence: SituationEvidence, outcomes: Outcomes, typical: float
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return the table, and the cases of each draw if there are draws."""
    sizes = question.sizes
    table = compare_groups(evidence.counts, question)
    families = p_values(evidence.counts, question).reshape(len(sizes), -1)
    table["significant_adjusted"] = table["significant"] & adjusted(families, question.alpha).ravel()
    if outcomes.at_point is not None:
        table["cf_flip"] = np.tile(question.flips(outcomes.of_complainants, outcomes.at_point), len(sizes))
    table["distance_control"] = evidence.control.farthest(sizes).ravel()
    table["distance_test"] = evidence.test.farthest(sizes).ravel()
    for side, groups in (("control", evidence.control), ("test", evidence.test)):
        table[f"remoteness_{side}"] = remoteness(groups.mean_distance(sizes).ravel(), typical)
    table.insert(0, "rejected", np.tile(outcomes.of_complainants, len(sizes)))
    if evidence.bounds is not None:
        table["coupling_low"], table["coupling_high"] = evidence.bounds.low.ravel(), evidence.bounds.high.ravel()
    if evidence.draws is None:
        numbers = [evidence.counts[name].to_numpy() for name in COUNTS]
        table["prob_population"] = prob_in_population(numbers, question)
        return table, None
    columns, cases = compare_over_draws(evidence.draws, question)
    for name, values in columns.items():
        table[name] = values
    if outcomes.over_draws is not None:
        flips = question.flips(outcomes.of_complainants, outcomes.over_draws).mean(axis=0)
        table["prob_cf_flip"] = np.tile(flips, len(sizes))
    return table, cases


def _name(code: Any) -> str:
    """Return how a decision or a distance is recorded: a column as it is, code by its name."""
    return code if isinstance(code, str) else str(getattr(code, "__name__", type(code).__name__))
