"""How two worlds share the noise of each variable: what may be assumed, and what is."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

from torch.distributions import Distribution

from causalaudit.errors import ProgramError, nearest
from causalaudit.scm.noise import COUPLINGS, Coupling, couplings_of, is_discrete


def resolve_couplings(
    laws: Mapping[str, Distribution],
    own: Mapping[str, Coupling],
    asked: Coupling | Mapping[str, Coupling] | None,
) -> dict[str, Coupling]:
    """Return the coupling of every variable.

    Parameters
    ----------
    laws
        The distributions of the variables that have noise.
    own
        What has been chosen before; other variables have the default of their family.
    asked
        What is asked for now: see `SCM.couplings`.

    Raises
    ------
    ProgramError
        If a coupling is unknown, out of range, or none of that variable.
    """
    chosen: dict[str, Coupling] = {name: own.get(name, couplings_of(law)[0]) for name, law in laws.items()}
    if asked is None:
        return chosen
    if isinstance(asked, Mapping):
        return chosen | {name: _of_one(name, value, laws) for name, value in asked.items()}
    value = _checked(asked)
    if isinstance(value, str) and not isinstance(asked, Real):
        return chosen | {name: value for name, law in laws.items() if is_discrete(law) and value in couplings_of(law)}
    degrees = {name: value for name, law in laws.items() if _has_degrees(law)}
    if not degrees:
        raise ProgramError(
            f"The coupling {asked!r} is a number, but no variable has noise with an order: those of categorical ones "
            f"are coupled by name, {', '.join(COUPLINGS)}."
        )
    return chosen | degrees


def _of_one(name: str, asked: Coupling, laws: Mapping[str, Distribution]) -> Coupling:
    """Return the coupling of a variable that is named."""
    value = _checked(asked)
    if name not in laws:
        raise ProgramError(f"A coupling is given for {name!r}, which has no noise: {nearest(str(name), list(laws))}")
    law, family = laws[name], type(laws[name]).__name__
    if isinstance(asked, Real):
        if not _has_degrees(law):
            raise ProgramError(
                f"{name!r} ({family}) cannot have the coupling {asked!r}: its values have no order, so that its noise "
                f"has no correlation. Use one of {', '.join(couplings_of(law))}."
            )
    elif value not in couplings_of(law):
        raise ProgramError(
            f"{name!r} ({family}) cannot have the coupling {asked!r}: use one of {', '.join(couplings_of(law))}, or a "
            "number from -1 to 1."
        )
    return value


def _checked(asked: Any) -> Coupling:
    """Return a coupling by its name or as a number; 1 is the same noise, and has a name."""
    if isinstance(asked, Real) and not isinstance(asked, bool) and -1 <= float(asked) <= 1:
        return "monotone" if asked == 1 else float(asked)
    if isinstance(asked, str) and asked in COUPLINGS:
        return asked
    raise ProgramError(
        f"The coupling {asked!r} is not one of {', '.join(COUPLINGS)}, nor a number from -1 to 1, the correlation of a "
        "person's noise in two worlds."
    )


def _has_degrees(law: Distribution) -> bool:
    """Tell whether the noise of a family is ordered, so that it can be correlated."""
    return couplings_of(law)[0] == "monotone"
