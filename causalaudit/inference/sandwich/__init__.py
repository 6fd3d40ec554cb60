"""Posteriors of weighted people: draws whose spread is that of a survey, the sandwich, and not that of the curvature."""
