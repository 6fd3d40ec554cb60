"""Posteriors over the parameters and latents of an SCM."""

from causalaudit.inference.fit import fit
from causalaudit.inference.posterior.posterior import Posterior
from causalaudit.inference.samplers.methods import register_method

__all__ = ["Posterior", "fit", "register_method"]
