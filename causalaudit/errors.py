"""The exceptions and warnings of causalaudit: catch `CausalAuditError` to catch them all."""


class CausalAuditError(Exception):
    """Base of every error raised on purpose by causalaudit."""


class ProgramError(CausalAuditError):
    """The Pyro program is not a structural causal model we can audit with."""


class DataError(CausalAuditError):
    """A table, a column or a value is not what the program or the function needs."""


class InterventionError(CausalAuditError):
    """An intervention names something that cannot be set, or sets it to something impossible."""


class InferenceError(CausalAuditError):
    """The posterior could not be computed, or must not be trusted."""


class SavedPosteriorError(CausalAuditError):
    """A file does not hold an intact posterior of the given program."""


class CausalAuditWarning(UserWarning):
    """Base of every warning raised on purpose by causalaudit."""
