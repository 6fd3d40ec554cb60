"""Plots: functions that take axes or make them, and return them."""
