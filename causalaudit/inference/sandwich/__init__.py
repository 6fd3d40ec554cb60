"""Posteriors of weighted people: draws with the spread of a survey, the sandwich, and not that of the curvature."""
