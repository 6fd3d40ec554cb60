"""What a configuration may say: the schema of ``audit.toml``."""

from typing import Annotated, Any, Literal

from pydantic import Field

from causalaudit.configuration.audits import AnyAudit
from causalaudit.configuration.tables import Count, Coupling, Edge, Level, Name, Seed, Share, Table

Levels = dict[str, Annotated[list[Level], Field(min_length=1)]]
Correlation = Annotated[float, Field(gt=-1, lt=1)]


class Data(Table):
    """The table of people."""

    path: str
    """A file beside or below the configuration."""
    format: Literal["csv", "parquet"] | None = None
    """By default by the end of the name: .parquet, or else csv."""
    separator: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """Between the values of a csv file."""
    index: str | None = None
    """The column that names people; by default they are numbered."""
    missing: list[str] = Field(default_factory=list)
    """Texts of a csv file that stand for a missing value, besides the empty one."""


class Decision(Table):
    """The decision that is audited: a column, or a rule."""

    column: str | None = None
    """The column of recorded decisions."""
    rule: str | None = None
    """`"model.py:function"`: a function of a table of people that returns their decisions."""
    favourable: Level = 1
    """The good decision; any other is unfavourable."""


class Fit(Table):
    """How the parameters are inferred: arguments of `causalaudit.fit`."""

    method: Literal["auto", "laplace", "nuts", "svi", "map", "ml"] = "auto"
    """See `causalaudit.fit`."""
    draws: Count = 1000
    """Draws of each chain."""
    chains: Count = 4
    """There are chains × draws draws in all."""
    weights: str | None = None
    """A column of survey weights."""


class Intervention(Table):
    """What would have been, had something been different: arguments of `causalaudit.counterfactuals`."""

    name: Name
    """By which audits refer to it."""
    do: Annotated[dict[str, Level], Field(min_length=1)]
    """Variable → the level or number that it is set to."""
    rows: Annotated[dict[str, Level | list[Level]], Field(min_length=1)] | None = None
    """Who is asked about: column → a level, or several; default everybody."""
    draws: Count | None = None
    """How many posterior draws; default all."""
    coupling: Coupling | dict[str, Coupling] | None = None
    """How worlds share noise."""
    edges: list[Edge] | None = None
    """The edges along which the change may travel; default all."""
    seed: Seed | None = None
    """By default that of the whole configuration."""


class Confounded(Table):
    """Two variables with a hidden common cause."""

    between: Edge
    """The two variables."""
    rho: Correlation
    """The correlation of their noises."""


class ModelTable(Table):
    """What is said of a program beside its name."""

    levels: Levels | None = None
    """Of columns of text: their levels, whose positions are the codes that the program sees."""
    latents: list[str] | None = None
    """Variables of people that have no column."""
    columns: dict[str, list[str]] | None = None
    """Of variables that are vectors: the columns of their numbers."""


class World(ModelTable):
    """Another set of assumptions, in which the same audits are asked."""

    name: Name
    """What the world is called in the report."""
    model: str | None = None
    """Another program; default that of the configuration, with its levels, latents and columns."""
    without: list[Edge] = Field(default_factory=list)
    """Edges (cause, effect) that are cut."""
    confounded: list[Confounded] = Field(default_factory=list)
    """Pairs with a hidden common cause."""
    coupling: Coupling | dict[str, Coupling] | None = None
    """How worlds share noise: "monotone", "gumbel", "independent", or a number from -1 to 1."""


class Comparison(Table):
    """How worlds are compared."""

    base: Name = "as configured"
    """What the world of the configuration itself is called."""
    audits: Annotated[list[str], Field(min_length=1)] | None = None
    """The names of the audits that are asked in every world; default all that use the model."""
    weights: Literal["stacking", "evidence", "equal"] | dict[str, Annotated[float, Field(ge=0)]] = "stacking"
    """How worlds are averaged."""
    prob: Share = 0.9
    """Probability of credible intervals."""


class Report(Table):
    """What the report is called; its fields are in `[context]`."""

    title: Name | None = None
    """The heading."""


class Configuration(ModelTable):
    """An audit: a model, data, a decision, what is asked, and in which worlds."""

    model: str
    """`"model.py:program"`, or the name of a model that is shipped, such as "loan.linear"."""
    data: Data
    """The table of people."""
    decision: Decision | None = None
    """The decision that is audited."""
    fit: Fit = Fit()
    """How the parameters are inferred."""
    seed: Seed = 0
    """Everything random flows from it."""
    out: str = "run"
    """The folder of the run, beside or below the configuration."""
    intervention: list[Intervention] = Field(default_factory=list)
    """Counterfactual questions."""
    audit: Annotated[list[AnyAudit], Field(min_length=1)]
    """What is asked."""
    world: list[World] = Field(default_factory=list)
    """Other sets of assumptions."""
    comparison: Comparison = Comparison()
    """How worlds are compared."""
    report: Report = Report()
    """What the report is called."""
    context: dict[str, Any] = Field(default_factory=dict)
    """What the report says about the system, the people and the data; what is left out is "not stated"."""


def json_schema() -> dict[str, Any]:
    """Return the schema of a configuration as JSON Schema.

    Examples
    --------
    >>> json_schema()["title"]
    'Configuration'
    """
    return Configuration.model_json_schema()
