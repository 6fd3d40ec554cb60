"""What all tables of a configuration share: no key is unknown, nothing is taken for something else."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

Level = str | int | float | bool
Share = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0)]
Edge = Annotated[list[str], Field(min_length=2, max_length=2)]
Coupling = str | float
Name = Annotated[str, Field(min_length=1, max_length=80)]
Direction = Literal["positive", "negative"]


class Table(BaseModel):
    """A table whose keys are known."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _no_unknown_key(cls, values: Any) -> Any:
        unknown = [key for key in values if key not in cls.model_fields] if isinstance(values, dict) else []
        if unknown:
            raise PydanticCustomError(
                "unknown_key", "unknown key", {"key": str(unknown[0]), "allowed": list(cls.model_fields)}
            )
        return values

    def said(self, *without: str) -> dict[str, Any]:
        """Return the keys that were given, with their values in plain types; all others have the default of the code.

        Examples
        --------
        >>> from causalaudit.configuration.schema import Fit
        >>> Fit(draws=50).said()
        {'draws': 50}
        """
        return {
            name: value
            for name, value in self.model_dump(exclude_unset=True, exclude_none=True).items()
            if name not in without
        }
