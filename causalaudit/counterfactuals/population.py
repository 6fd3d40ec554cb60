"""The one door to people whose responses to interventions can be asked for: for auditors that choose interventions."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, overload

import numpy as np
import pandas as pd

from causalaudit.arguments import check_draws, check_seed
from causalaudit.counterfactuals.ask import check_posterior, select_people
from causalaudit.counterfactuals.enumerated import EnumeratedPeople
from causalaudit.counterfactuals.observed import ObservedPeople
from causalaudit.counterfactuals.reweighted import ReweightedPeople
from causalaudit.counterfactuals.simulated import SimulatedPeople
from causalaudit.errors import DataError
from causalaudit.inference import Posterior
from causalaudit.inference.influence import posterior_influence
from causalaudit.scm.noise import Coupling

Kind = Literal["observed", "simulated", "enumerated", "standardised", "reweighted"]
Assumed = Coupling | Mapping[str, Coupling] | None
People = ObservedPeople | SimulatedPeople | EnumeratedPeople | ReweightedPeople


@overload
def population(
    posterior: Posterior, data: pd.DataFrame | None = None, kind: Literal["observed"] = "observed", *, rows: Any = None,
    draws: int | None = None, coupling: Assumed = None, seed: int = 0,
) -> ObservedPeople: ...  # fmt: skip
@overload
def population(
    posterior: Posterior, *, kind: Literal["simulated"], draws: int | None = None, coupling: Assumed = None,
    seed: int = 0,
) -> SimulatedPeople: ...  # fmt: skip
@overload
def population(
    posterior: Posterior, *, kind: Literal["enumerated"], draws: int | None = None, coupling: Assumed = None
) -> EnumeratedPeople: ...
@overload
def population(
    posterior: Posterior, *, kind: Literal["standardised", "reweighted"], draws: int | None = None,
    coupling: Assumed = None, alike: Sequence[str] = (), seed: int = 0,
) -> ReweightedPeople: ...  # fmt: skip
def population(
    posterior: Posterior,
    data: pd.DataFrame | None = None,
    kind: Kind = "observed",
    *,
    rows: Any = None,
    draws: int | None = None,
    coupling: Assumed = None,
    alike: Sequence[str] = (),
    seed: int = 0,
) -> People:
    """Return people who can be asked how they would respond to any intervention.

    It is what auditors use that choose interventions themselves; with one intervention, `counterfactuals` gives the
    answer at once.

    Parameters
    ----------
    posterior
        From `fit`.
    data, rows
        As in `counterfactuals`; of observed people only.
    kind
        ``"observed"``: people of the data, or of other data, as they are. ``"simulated"``: drawn from the program at
        each draw of its parameters, in several worlds that share their noise. ``"enumerated"``: all that a finite
        program can give, with their probabilities. ``"standardised"``: those of the data with equal weights, at each
        draw of the parameters. ``"reweighted"``: those of the data with Dirichlet weights, under each set of which the
        parameters are refitted.
    draws
        How many draws; default all that there are.
    coupling
        As in `counterfactuals`.
    alike
        Of standardised and reweighted people: the columns in which neighbours are to be alike first, then in all
        others. Discrete noise is spread evenly over neighbours.
    seed
        Same seed, same people.

    Returns
    -------
    ObservedPeople, SimulatedPeople, EnumeratedPeople or ReweightedPeople
        By `kind`.

    Examples
    --------
    >>> import numpy as np, causalaudit as ca
    >>> from causalaudit.counterfactuals import population
    >>> posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(300, seed=0), seed=0)
    >>> people = population(posterior, draws=10)
    >>> next(people.under({"gender": ["male", "female"]}, np.array([7, 7])))["salary"].shape
    (10, 2)
    >>> population(posterior, kind="simulated", draws=10).number_of_people
    1024
    """
    check_posterior(posterior)
    if kind not in get_args(Kind):
        raise DataError(f"kind is {kind!r}, but must be one of {', '.join(get_args(Kind))}.")
    if kind != "observed" and (data is not None or rows is not None):
        raise DataError(f"data and rows are of observed people, but kind is {kind!r}: leave them out.")
    draws, seed, couplings = check_draws(draws), check_seed(seed), posterior.scm.couplings(coupling)
    if kind == "simulated":
        return SimulatedPeople(posterior, draws, seed, couplings)
    if kind == "enumerated":
        return EnumeratedPeople(posterior, draws, couplings)
    if kind == "standardised":
        return ReweightedPeople.as_they_are(posterior, draws, alike, seed, couplings)
    if kind == "reweighted":
        return ReweightedPeople.refitted(posterior, draws, alike, seed, couplings)
    return ObservedPeople(posterior, select_people(posterior, data, rows), draws, couplings, seed)


def influence_through_parameters(posterior: Posterior, figures: np.ndarray, draws: int | None) -> np.ndarray:
    """Return how much each person (rows) moves posterior means of figures, which are given at some of the draws.

    See `posterior_influence`.
    """
    return posterior_influence(posterior, figures, posterior.draw_numbers(draws))
