"""The evidence with a posterior: actions are interventions, and what they cause responds, in every draw."""
