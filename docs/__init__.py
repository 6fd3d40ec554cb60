"""The documentation: its pages, and what draws their pictures."""
