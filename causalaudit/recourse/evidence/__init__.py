"""The evidence of an audit of recourse: frequent subgroups and actions, and whom each action helps.

Steps (a) and (b) of FACTS (Kavouras et al. 2023, section 3).
"""
