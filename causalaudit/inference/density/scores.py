"""How each person pulls at parameters: the gradients of many log-likelihoods at once."""

from collections.abc import Callable

import numpy as np
import torch


def gradients_by_row(likelihood: Callable[[torch.Tensor], torch.Tensor], rows: int, location: np.ndarray) -> np.ndarray:
    """Return the gradient of the log-likelihood of each row (rows), a function of one vector.

    The gradient of a weighted sum is linear in the weights, and its derivative with respect to these has the gradients
    of the rows: one backward pass for each number, as for a Hessian, whatever the number of rows.

    Examples
    --------
    >>> import numpy as np, torch
    >>> data = torch.tensor([1.0, 2.0], dtype=torch.float64)
    >>> gradients_by_row(lambda centre: -((data - centre[0]) ** 2), 2, np.array([0.5])).tolist()
    [[1.0], [3.0]]
    """
    vector = torch.tensor(location, requires_grad=True)
    weights = torch.ones(rows, dtype=vector.dtype, requires_grad=True)
    total = (likelihood(vector) * weights).sum() + 0.0 * vector.sum()
    (slope,) = torch.autograd.grad(total, vector, create_graph=True)
    return np.stack([_derivative(number, weights) for number in slope], axis=1)


def _derivative(number: torch.Tensor, weights: torch.Tensor) -> np.ndarray:
    if not number.requires_grad:
        return np.zeros(len(weights))
    (found,) = torch.autograd.grad(number, weights, retain_graph=True, allow_unused=True)
    return np.zeros(len(weights)) if found is None else np.asarray(found.numpy())
