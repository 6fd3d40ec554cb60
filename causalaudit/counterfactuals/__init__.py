"""What people would have been: abduction, action and prediction over all draws."""

from causalaudit.counterfactuals.ask import check_posterior, counterfactuals
from causalaudit.counterfactuals.draws import CounterfactualDraws
from causalaudit.counterfactuals.enumerated import EnumeratedPeople, EnumeratedWorlds
from causalaudit.counterfactuals.observed import ObservedPeople
from causalaudit.counterfactuals.population import influence_through_parameters, population
from causalaudit.counterfactuals.reweighted import ReweightedPeople
from causalaudit.counterfactuals.simulated import SimulatedPeople, SimulatedWorld, World
from causalaudit.counterfactuals.tabled import Tabled

__all__ = [
    "CounterfactualDraws",
    "EnumeratedPeople",
    "EnumeratedWorlds",
    "ObservedPeople",
    "ReweightedPeople",
    "SimulatedPeople",
    "SimulatedWorld",
    "Tabled",
    "World",
    "check_posterior",
    "counterfactuals",
    "influence_through_parameters",
    "population",
]
