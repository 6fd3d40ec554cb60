"""Many regressions on the same rows at once."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from causalaudit.adjustment import fit_logistic


def test_many_fits_at_once_are_single_fits():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 3))
    weights = rng.gamma(1.0, size=(6, 30))
    successes = weights * rng.random((6, 30))
    penalty = rng.gamma(1.0, size=(6, 3))
    together = fit_logistic(rows, successes, weights, penalty)
    for at in range(6):
        alone = fit_logistic(rows, successes[[at]], weights[[at]], penalty[[at]])
        np.testing.assert_allclose(together[at], alone[0], atol=1e-10)
        scale = np.sqrt(penalty[at])
        model = LogisticRegression(tol=1e-12, max_iter=10_000)
        both = np.concatenate([successes[at], weights[at] - successes[at]])
        model.fit(np.concatenate([rows / scale] * 2), np.repeat([1, 0], 30), sample_weight=both)
        np.testing.assert_allclose(together[at, 1:], model.coef_[0] / scale, atol=1e-6)
