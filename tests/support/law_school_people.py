"""People like those of the law-school survey, drawn from its level 2."""

import numpy as np
import pandas as pd

from causalaudit.models import law_school
from causalaudit.scm.simulation import simulate


def simulated_level_2(n, seed):
    scm = law_school.level_2()
    truth = {
        "share_female": 0.44,
        "share_nonwhite": 0.16,
        "ugpa0": 3.2,
        "female_UGPA": 0.13,
        "nonwhite_UGPA": -0.22,
        "lsat0": 3.63,
        "eta_l": 0.03,
        "female_LSAT": -0.02,
        "nonwhite_LSAT": -0.13,
        "eta_u": 0.36,
        "variance_g": 0.032,
    }
    drawn = simulate(scm, {name: np.array([value]) for name, value in truth.items()}, n, 1, seed).isel(draw=0)
    people = pd.DataFrame({name: scm.codec.decode(name, drawn[name].to_numpy()) for name in scm.columns})
    return scm, people, truth
