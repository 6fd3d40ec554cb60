"""Latents whose sign nothing identifies: a posterior with two mirror images."""

import warnings

import pyro.distributions as dist
import torch
from torch.distributions import constraints

from causalaudit.errors import CausalAuditWarning
from causalaudit.inference.density.latent_states import continuous_latents
from causalaudit.randomness import seeded
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Intervene, Record, Tensors, run

_PEOPLE = 8


def warn_of_mirror_images(scm: SCM) -> None:
    """Warn of each latent that can change sign together with its loadings, everything else staying the same."""
    for latent in continuous_latents(scm):
        loadings = mirrored_loadings(scm, latent)
        if loadings:
            names = ", ".join(map(repr, loadings))
            warnings.warn(
                f"The latent {latent!r} can change sign together with {names}, and nothing else changes: the posterior "
                f"has two mirror images, over which its means are taken. Give {loadings[0]!r} a positive prior, "
                "for example HalfNormal.",
                CausalAuditWarning,
                stacklevel=4,
            )


def mirrored_loadings(scm: SCM, latent: str) -> list[str]:
    """Return the parameters that change sign with a latent; none if something identifies its sign."""
    changes = _sign_changes(scm, latent)
    return [] if None in changes.values() else _all_of(changes)


def loadings_of_some_child(scm: SCM, latent: str) -> list[str]:
    """Return the parameters that change sign with a latent for some of its children, others identifying its sign.

    If these others tell little, the posterior has a second, local maximum, where the latent has the wrong sign.
    """
    return _all_of(_sign_changes(scm, latent))


def _all_of(changes: dict[str, list[str] | None]) -> list[str]:
    return list(dict.fromkeys(name for names in changes.values() for name in names or []))


def _sign_changes(scm: SCM, latent: str) -> dict[str, list[str] | None]:
    """Return for each child the parameters that change sign with the latent; None if a change of its sign shows."""
    record = Record()
    with numerics(), torch.no_grad(), seeded(0, "symmetry"):
        run(scm.program, _PEOPLE, record)
        values = {name: record.values[name] for name in (*scm.parameters, *scm.variables)}
        if not _even(record, latent):
            return {}
        flips = [[], *([name] for name in scm.parameters if _even(record, name))]
        return {
            child: next((flip for flip in flips if _unchanged(scm, record, values, child, [latent, *flip])), None)
            for child in scm.graph.successors(latent)
        }


def _even(record: Record, name: str) -> bool:
    """Tell whether the distribution of a site is the same for a value and its negative."""
    law, value = record.laws[name], record.values[name]
    if isinstance(law, dist.Delta) or not _is_real(law.support):
        return False
    return bool(torch.allclose(law.log_prob(value), law.log_prob(-value)))


def _is_real(support: constraints.Constraint | None) -> bool:
    """Tell whether values are all numbers, or vectors of all numbers."""
    while isinstance(support, constraints.independent):
        support = support.base_constraint
    return support is constraints.real


def _unchanged(scm: SCM, record: Record, values: Tensors, child: str, flipped: list[str]) -> bool:
    """Tell whether changing the sign of some sites leaves the distribution of a child as it is."""
    now = Record()
    run(scm.program, _PEOPLE, now, Intervene({**values, **{name: -values[name] for name in flipped}}))
    before, after = record.laws[child], now.laws[child]
    if isinstance(before, dist.Delta) or isinstance(after, dist.Delta):
        return bool(torch.allclose(before.v.double(), after.v.double()))  # type: ignore[attr-defined]
    return bool(torch.allclose(before.log_prob(values[child]), after.log_prob(values[child])))
