"""Decisions drawn by people's labels, so that a person gets the same decision again."""

from typing import Any

import numpy as np
import pandas as pd

from causalaudit.randomness import spawn


def uniforms_by_label(index: "pd.Index[Any]", seed: int) -> np.ndarray:
    """Return a uniform number for each label: a hash, so that a person's does not depend on who else is there.

    Examples
    --------
    >>> import pandas as pd
    >>> both, one = uniforms_by_label(pd.Index(["ann", "bob"]), 0), uniforms_by_label(pd.Index(["bob"]), 0)
    >>> bool(both[1] == one[0])
    True
    """
    bits = pd.util.hash_pandas_object(index, index=False).to_numpy().astype(np.uint64)
    bits = bits ^ spawn(seed, "decisions").generate_state(1, np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finaliser of splitmix64
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    bits = bits ^ (bits >> np.uint64(31))
    return (bits >> np.uint64(11)) * 2.0**-53
