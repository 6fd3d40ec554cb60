"""Posteriors over the parameters and latents of an SCM."""

from causalaudit.inference.fit import fit
from causalaudit.inference.posterior import Posterior

__all__ = ["Posterior", "fit"]
