"""Posteriors that factorise: parameters that enter different sites are fitted by themselves, and put together again."""
