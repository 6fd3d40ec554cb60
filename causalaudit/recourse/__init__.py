"""Fairness of recourse for subgroups: how hard it is for two groups to turn an unfavourable decision."""
