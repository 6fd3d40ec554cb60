"""Draws of several chains: whether they agree, and how much they are worth."""

from typing import Any

import numpy as np

from causalaudit.arviz_versions import effective_size
from causalaudit.arviz_versions import r_hat as r_hat_of
from causalaudit.inference.density.log_density import ProgramDensity


def some_of(by_chain: np.ndarray, count: int) -> np.ndarray:
    """Return some of the draws, from all over the chains."""
    flat = by_chain.reshape(-1, by_chain.shape[-1])
    return flat[np.linspace(0, len(flat) - 1, min(count, len(flat))).round().astype(int)]


def chain_statistics(density: ProgramDensity, vectors: np.ndarray) -> dict[str, Any]:
    """Return r-hat and the effective sizes of the worst parameter; they do not depend on its scale.

    Parameters
    ----------
    density
        The posterior, which knows what its numbers belong to.
    vectors
        Unconstrained draws, by chain, draw and number.
    """
    size = density.parameter_size or density.size  # a program without parameters has latents alone
    chains, draws = vectors.shape[:2]
    if chains == 1 and draws >= 2:  # compare the halves of a single chain
        halves = np.split(vectors[:, : draws // 2 * 2], 2, axis=1)
        split = np.concatenate(halves)
    else:
        split = vectors
    r_hat = np.array([r_hat_of(split[..., at]) if split.shape[1] >= 4 else np.nan for at in range(size)])
    bulk, tail = (
        np.array([effective_size(vectors[..., at], kind) if draws >= 4 else np.nan for at in range(size)])
        for kind in ("bulk", "tail")
    )
    labels = density.labels
    return {
        "r_hat": float(r_hat.max()),
        "ess": float(bulk.min()),
        "ess_tail": float(tail.min()),
        "worst": labels[int(np.nanargmax(r_hat))] if np.isfinite(r_hat).any() else labels[0],
    }
