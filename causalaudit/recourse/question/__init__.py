"""The question of an audit of recourse: the people as codes, and what changes cost and which are feasible."""
