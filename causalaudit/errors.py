"""The exceptions and warnings of causalaudit: catch `CausalAuditError` to catch them all."""

import difflib
from collections.abc import Collection
from typing import Any


class CausalAuditError(Exception):
    """Base of every error raised on purpose by causalaudit."""

    located = False
    """Whether the message says which line of a configuration it is about."""


class ProgramError(CausalAuditError):
    """The Pyro program is not a structural causal model we can audit with."""


class DataError(CausalAuditError):
    """A table, a column or a value is not what the program or the function needs."""


class InterventionError(CausalAuditError):
    """An intervention names something that cannot be set, or sets it to something impossible."""


class InferenceError(CausalAuditError):
    """The posterior could not be computed, or must not be trusted."""


class SavedFileError(CausalAuditError):
    """A file is damaged, or does not hold what it is read as."""


class ConfigurationError(CausalAuditError):
    """A configuration, or a file that it names, is not what is needed; the message says where."""


class CausalAuditWarning(UserWarning):
    """Base of every warning raised on purpose by causalaudit."""


def nearest(name: Any, names: Collection[Any]) -> str:
    """Return a hint at the names most like `name`, or at all of them; columns may be named by numbers."""
    texts = {str(one): one for one in names}
    close = difflib.get_close_matches(str(name), list(texts), n=1, cutoff=0.5)
    return f"did you mean {texts[close[0]]!r}?" if close else f"there are {', '.join(map(repr, names)) or 'none'}."
