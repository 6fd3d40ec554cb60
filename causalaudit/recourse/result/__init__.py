"""The result of an audit of recourse: step (c) of FACTS (Kavouras et al. 2023, section 3), with uncertainty."""
