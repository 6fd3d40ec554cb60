"""An audit that says what it is told."""

from causalaudit.results import AuditResult, headline_of, interval_table, verdict_table


class Stated(AuditResult):
    """An audit that says what it is told."""

    KIND = "stated"
    title = "stated"

    def __init__(self, rows, headline=(1.0, 2.0)):
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "numbers", headline)

    @property
    def verdicts(self):
        unit, flagged, probability, value, structural, sampling = zip(*self.rows, strict=True)
        return verdict_table(
            unit,
            flagged,
            rule="as stated",
            probability=probability,
            value=value,
            structural=structural,
            sampling=sampling,
        )

    @property
    def headline(self):
        return headline_of(self.numbers, "stated number")

    intervals = property(lambda self: interval_table([]))

    def summary(self):
        return self.verdicts

    def plot(self, ax=None):
        return ax

    def to_inference_data(self):
        raise NotImplementedError
