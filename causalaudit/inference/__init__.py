"""Posteriors over the parameters and latents of an SCM."""

from causalaudit.inference.fit import fit, fit_near
from causalaudit.inference.posterior.posterior import Posterior
from causalaudit.inference.samplers.methods import register_method

__all__ = ["Posterior", "fit", "fit_near", "register_method"]
