"""Simulation-based calibration: whether the posteriors of a program mean what they say."""

from causalaudit.inference.calibration.calibrate import calibrate
from causalaudit.inference.calibration.result import Calibration

__all__ = ["Calibration", "calibrate"]
