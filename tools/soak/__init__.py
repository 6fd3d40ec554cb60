"""A soak test: valid calls of all public functions, mutated at random for as long as one likes.

``python -m tools.soak --minutes 10`` (``make soak``) prints what was called, answered and refused, and every call that
ended otherwise than in an answer or a `CausalAuditError`: with its number, by which ``--only`` runs it again.
"""
