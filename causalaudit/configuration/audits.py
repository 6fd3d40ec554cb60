"""The kinds of ``[[audit]]`` tables: their keys are the arguments of the functions."""

from typing import Annotated, Any, Literal

from pydantic import Field

from causalaudit.configuration.tables import Count, Coupling, Direction, Level, Name, Seed, Share, Table

Protected = dict[str, Level | Annotated[list[Level], Field(min_length=2, max_length=2)]]
Features = Annotated[list[str], Field(min_length=1)]
Bins = int | list[float]


class ShiftTable(Table):
    """A change of a number or an ordered category, in place of a protected level."""

    by: float
    """What is added to the value."""
    within: float = 0.0
    """How much a member of a group may deviate from the value in question."""
    least: float | None = None
    """The smallest value of a complainant."""
    most: float | None = None
    """The largest value of a complainant."""


class Distance(Table):
    """Gower's distance."""

    scale: Literal["range", "std", "authors"] = "range"
    """What differences of numbers are measured in."""
    categorical: list[str] | None = None
    """Features to compare by 0 or 1."""
    weights: dict[str, Annotated[float, Field(ge=0)]] | None = None
    """The weight of each feature."""


class ActionsTable(Table):
    """What changes cost, and which are feasible."""

    numeric: list[str] = Field(default_factory=list)
    """Features whose changes cost in proportion to the difference over the range in the data."""
    ordinal: list[str] = Field(default_factory=list)
    """Features whose changes cost in proportion to the difference of positions."""
    orders: dict[str, list[Level]] | None = None
    """Feature → its values, lowest first."""
    weights: dict[str, Annotated[float, Field(ge=0)]] | None = None
    """Feature → what its cost is multiplied by."""
    immutable: list[str] = Field(default_factory=list)
    """Features that may not change."""
    increasing: list[str] = Field(default_factory=list)
    """Features that may not go down."""
    never: list[Level] = Field(default_factory=list)
    """Values that no action may lead to."""
    subsets: bool = False
    """Whether an action may also set only some of the features of a subgroup."""
    values: dict[str, dict[str, Level]] | None = None
    """With the posterior: feature → bin → the value that an action sets the variable to."""


class Audit(Table):
    """What every audit has."""

    kind: Any
    """Which audit it is."""
    name: Name | None = None
    """What this audit is called in the report; by default its kind."""

    @property
    def label(self) -> str:
        """What the audit is called."""
        return self.name or str(self.kind).replace("_", " ")


class Comparing(Audit):
    """What audits of one group beside another have."""

    protected: Any
    """`{column = "level"}`, or `{column = ["level", "reference"]}`, the protected level first."""
    prob: Share = 0.9
    """Probability of credible intervals."""
    seed: Seed | None = None
    """By default that of the whole configuration."""


class SituationTesting(Comparing):
    """Who was discriminated: the arguments of `causalaudit.situation_testing`."""

    kind: Literal["situation_testing"]
    """Which audit it is."""
    protected: Annotated[
        dict[str, Level | Annotated[list[Level], Field(min_length=2, max_length=2)] | ShiftTable],
        Field(min_length=1, max_length=1),
    ]
    """`{column = "level"}`, `{column = ["level", "reference"]}`, or `{column = {by = -10}}` of a number."""
    features: Features
    """The columns by which people are compared."""
    counterfactuals: str | None = None
    """The name of an `[[intervention]]`; without, standard situation testing."""
    k: Count | list[Count] = 15
    """The size of the groups, or several sizes."""
    alpha: Share = 0.05
    """Level of tests and confidence intervals."""
    tau: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The difference beyond which it is a case."""
    centres: bool = False
    """Count complainant and counterfactual in their groups."""
    direction: Direction = "negative"
    """Whether to ask for discrimination or for privilege."""
    distance: Distance = Distance()
    """How alike two people are."""
    max_distance: Annotated[float, Field(ge=0)] | None = None
    """How far a member of a group may be."""
    bounds: bool = False
    """Find also what holds under every coupling of the worlds; with counterfactuals of finite variables."""


class ErrorRates(Comparing):
    """Why error rates are unequal: the arguments of `causalaudit.decompose_error_rates`."""

    kind: Literal["error_rates"]
    """Which audit it is."""
    protected: str | Annotated[Protected, Field(min_length=1, max_length=1)]
    """`{column = ["level", "reference"]}`, or a column of two levels."""
    outcome: str
    """The column of the true outcome, a variable of the model."""
    features: Features | None = None
    """What the decision reads; default all variables but the outcome."""
    y: Level = 0
    """The value of the outcome whose rate is explained."""
    yhat: Level = 1
    """The decision whose rate is explained."""
    baseline: Level | None = None
    """The level of the reference, if it is not in `protected`."""
    contrast: Level | None = None
    """The protected level, if it is not in `protected`."""
    population: Literal["standardise", "bootstrap", "simulate", "exact"] = "standardise"
    """Whose error rates they are."""
    bounds: bool = False
    """Find also what holds under every coupling of the worlds; of finite variables."""
    coupling: Coupling | dict[str, Coupling] | None = None
    """How worlds share noise."""
    draws: Count | None = None
    """How many posterior draws; default all."""


class Recourse(Comparing):
    """Who can turn a rejection: the arguments of `causalaudit.audit_recourse`."""

    kind: Literal["recourse"]
    """Which audit it is."""
    protected: str | Annotated[Protected, Field(min_length=1, max_length=1)]
    """`{column = "level"}`, `{column = ["level", "reference"]}`, or a column of two levels."""
    features: Features
    """The columns that the decision reads, without the protected one."""
    actions: ActionsTable = ActionsTable()
    """What changes cost, and which are feasible."""
    thresholds: list[str] = Field(default_factory=list)
    """Features of which subgroups may also say that they are at least, or at most, a value."""
    support: Annotated[float, Field(gt=0, le=1)] = 0.01
    """The share of people that a subgroup or an action must have."""
    phi: Annotated[list[Annotated[float, Field(gt=0, le=1)]], Field(min_length=1)] = Field(
        default_factory=lambda: [0.3, 0.7]
    )
    """Shares of effectiveness at which costs are compared."""
    budgets: list[Annotated[float, Field(ge=0)]] | None = None
    """Costs at which effectiveness is compared."""
    no_recourse_cost: Annotated[float, Field(ge=0)] | None = None
    """What it costs to have no recourse."""
    posterior: bool = False
    """Whether actions are interventions, with effects on other features; else features are set independently."""
    split: Share | None = None
    """The share of people who are searched; the others are measured."""
    alpha: Share = 0.05
    """Level of tests and confidence intervals."""
    draws: Count | None = None
    """How many posterior draws; default all."""


class BiasScan(Comparing):
    """Which subgroup is treated most differently: the arguments of `causalaudit.scan_bias`."""

    kind: Literal["bias_scan"]
    """Which audit it is."""
    protected: Annotated[Protected, Field(min_length=1, max_length=1)]
    """`{column = "level"}`, or `{column = ["level", "reference"]}`."""
    outcome: str
    """The column of the true outcome, 0 or 1."""
    prediction: str | None = None
    """The column of a predicted probability."""
    recommendation: str | None = None
    """The column of a decision, 0 or 1."""
    criterion: str = "separation"
    """"separation", "sufficiency", or a common name such as "false positive rate"."""
    given: Literal[0, 1] | None = None
    """The value of the conditioning variable to filter on."""
    direction: Direction = "positive"
    """Whether events are more or less frequent than expected."""
    features: Features | None = None
    """The columns that form subgroups; default all others."""
    adjust_for: Features | None = None
    """The covariates of the models; default the features."""
    bins: Bins | dict[str, Bins] | None = None
    """How numbers are binned for the scan."""
    scale: Literal["mean", "paper"] = "mean"
    """How predictions are compared."""
    sigma: Annotated[float, Field(gt=0)] | None = None
    """Of the paper's scale."""
    penalty: Annotated[float, Field(ge=0)] = 1.0
    """What each value of a subgroup costs its score."""
    iterations: Count = 500
    """Restarts of the search where it cannot be exhaustive."""
    permutations: Annotated[int, Field(ge=0)] = 0
    """Data sets under the null hypothesis, for a p-value."""
    null: Literal["propensity", "permutation"] = "propensity"
    """How these are drawn."""
    counterfactuals: str | None = None
    """The name of an `[[intervention]]`: expectations are then what would have happened to the same people."""
    posterior_draws: Annotated[int, Field(ge=0)] = 0
    """Draws behind intervals and `inclusion`."""
    draws: Count | None = None
    """How many draws of the counterfactuals; default all."""
    split: Share | None = None
    """The share of people who are searched; the others are measured."""
    top: Count = 1
    """How many subgroups."""
    alpha: Share = 0.05
    """Level of tests and confidence intervals."""


class ImpactRatios(Audit):
    """Selection rates beside one another: the arguments of `causalaudit.impact_ratios`."""

    kind: Literal["impact_ratios"]
    """Which audit it is."""
    columns: Features
    """The columns of categories, such as sex and race."""
    rate: Literal["selection", "scoring"] = "selection"
    """Who is selected, or who has a score above the median."""
    exclude_below: Annotated[float, Field(ge=0, lt=1)] = 0.02
    """Categories with a smaller share of the people are shown, but not judged."""
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.8
    """A category is flagged if the interval of its ratio lies below it."""
    alpha: Share = 0.05
    """Level of tests and confidence intervals."""


AnyAudit = Annotated[SituationTesting | ErrorRates | Recourse | BiasScan | ImpactRatios, Field(discriminator="kind")]
