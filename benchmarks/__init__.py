"""Benchmarks of causalaudit: how fast, how much memory, and whether its peers agree. Run by ``make bench``."""
