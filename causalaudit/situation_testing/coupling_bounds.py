"""Between what the probability of a case lies under any coupling of the worlds, where variables are finite and known.

Delta is a function of what the complainant would have been. Test groups are searched for every profile of features that
the program can give her, and the profiles with a delta beyond tau are an event of the counterfactual world.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import xarray as xr

from causalaudit.counterfactuals import AnyCoupling, CounterfactualDraws
from causalaudit.errors import DataError
from causalaudit.situation_testing.draw_comparison import DrawCounts
from causalaudit.situation_testing.question import SituationQuestion
from causalaudit.storage import storable

_MOST = 2**24  # profiles × people: 128 MiB for each feature


@storable
@dataclass(frozen=True, eq=False)
class CaseBounds:
    """The least and the greatest probability of a case under any coupling, averaged over draws of the parameters.

    Attributes
    ----------
    low, high
        Sizes × complainants.
    kind
        "sharp" where couplings attain both ends for each complainant, else "outer".
    """

    low: np.ndarray
    high: np.ndarray
    kind: Literal["sharp", "outer"]


@dataclass(frozen=True, eq=False)
class Profiles:
    """All that people could have been, in place of draws.

    Attributes
    ----------
    coupled
        What they can be under any coupling.
    names
        The variables that decide on delta, among those that the intervention reaches.
    worlds
        Counterfactuals whose draws are the profiles: every combination of values of these variables, the last of
        which moves fastest.
    """

    coupled: AnyCoupling
    names: list[str]
    worlds: CounterfactualDraws

    @classmethod
    def of(cls, worlds: CounterfactualDraws, question: SituationQuestion) -> "Profiles":
        """Return the profiles of the features, and with centres of all that a decision on them may read.

        Raises
        ------
        DataError
            If a variable of the program is not finite or not known of everybody, or if there are too many profiles.
        """
        coupled = worlds.any_coupling
        decisive = list(worlds.dataset) if question.centres else question.features
        names = [name for name in coupled.reached if name in decisive]
        values = [coupled.values(name) for name in names]
        number, people = int(np.prod([float(len(some)) for some in values])), worlds.dataset.sizes["individual"]
        if number * people > _MOST:
            raise DataError(
                f"There are {number:,} profiles of {', '.join(map(repr, names))}, each of which would be compared for "
                f"{people:,} people: ask about fewer features or people, or without bounds=True."
            )
        grid = dict(zip(names, np.meshgrid(*values, indexing="ij"), strict=True)) if names else {}
        parts = {}
        for name, array in worlds.dataset.isel(draw=[0]).data_vars.items():
            own = grid[str(name)].reshape(-1, 1).astype(array.dtype) if name in grid else array.to_numpy()
            parts[name] = (array.dims, np.broadcast_to(own, (number, people)), array.attrs)
        coords = {"draw": np.arange(number), "individual": worlds.dataset["individual"].to_numpy()}
        dataset = xr.Dataset(parts, coords=coords)
        return cls(coupled, names, replace(worlds, dataset=dataset, path=None, _abduction=None))

    def bounds(self, counts: DrawCounts, question: SituationQuestion, who: np.ndarray) -> CaseBounds:
        """Return the bounds of the probability of a case.

        Parameters
        ----------
        counts
            The groups of each complainant at each profile.
        question
            What a case is.
        who
            The positions of the complainants among the people of the counterfactuals.
        """
        ends = np.empty((2, len(question.sizes), len(who)))
        sizes = [len(self.coupled.values(name)) for name in self.names]
        for place in range(len(question.sizes)):
            beyond = question.beyond(counts.delta(place)).T.astype(float)  # complainants × profiles
            if self.names:
                ends[:, place] = self.coupled.over_draws(self.names, beyond.reshape(-1, *sizes), who)
            else:
                ends[:, place] = beyond[:, 0]  # nothing that is compared could have been otherwise
        low, high = np.clip(ends, 0.0, 1.0)
        return CaseBounds(low, high, self.coupled.kind(self.names) if self.names else "sharp")
