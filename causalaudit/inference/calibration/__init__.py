"""Simulation-based calibration: whether the posteriors of a program mean what they say."""

from causalaudit.inference.calibration.result import Calibration
from causalaudit.inference.calibration.simulation_based import calibrate

__all__ = ["Calibration", "calibrate"]
