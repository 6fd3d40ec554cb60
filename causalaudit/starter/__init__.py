"""The starter: a configuration, a model and invented people, to run as they are and to change from there."""

from causalaudit.starter.writing import FILES, write_starter

__all__ = ["FILES", "write_starter"]
