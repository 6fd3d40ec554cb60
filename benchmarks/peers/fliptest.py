"""FlipTest (Black, Yeom and Fredrikson 2020), written from the paper, with the exact optimal transport.

Protected people are mapped onto as many others, one to one, so that the sum of squared distances is smallest. The paper
approximates the map by a generative network, and says that it approximates this one. Whoever is decided upon otherwise
than the person she is mapped onto is in the flip set: the positive one if she is approved and the other is not, the
negative one if it is the other way round. No causal model is used: the map is between groups, not worlds.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist


def flip_test(values: np.ndarray, decision: np.ndarray, protected: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    """Return who of the protected is in the positive and in the negative flip set, by position among all people.

    Parameters
    ----------
    values
        People × features.
    decision
        1 if it is favourable, else 0.
    protected
        Who is protected: at most half of the people.
    seed
        Of the others, of whom as many are drawn as are protected.
    """
    ours = np.flatnonzero(protected)
    theirs = np.random.default_rng(seed).choice(np.flatnonzero(~protected), len(ours), replace=False)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    mapped = theirs[linear_sum_assignment(cdist(scaled[ours], scaled[theirs], "sqeuclidean"))[1]]
    up, down = decision[ours] > decision[mapped], decision[ours] < decision[mapped]
    return {"positive": ours[up], "negative": ours[down]}
