"""Compare two programs by interleaved pairs, so that the machine's moods hit both alike."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from bench.program import Measured


@dataclass(frozen=True, slots=True)
class Comparison:
    """Pairs of runs, each of the subject and then of the other."""

    pairs: tuple[tuple[Measured, Measured], ...]

    @property
    def ratios(self) -> list[float]:
        """How many times the other's rate the subject's was, pair by pair."""
        return [subject.rate / other.rate for subject, other in self.pairs]

    @property
    def subject(self) -> Measured:
        """The subject's run of median rate."""
        return middle([subject for subject, _ in self.pairs])

    @property
    def other(self) -> Measured:
        """The other's run of median rate."""
        return middle([other for _, other in self.pairs])

    def as_json(self) -> dict[str, object]:
        """Every rate, and the median with its range."""
        return {
            "against": self.other.name,
            "tasks": [self.subject.tasks, self.other.tasks],
            "durable": [self.subject.durable, self.other.durable],
            "rates": [[round(a.rate, 1), round(b.rate, 1)] for a, b in self.pairs],
            "ratio": spread(self.ratios),
            "notes": [self.subject.notes, self.other.notes],
        }


def interleaved(
    subject: Callable[[], Measured], other: Callable[[], Measured], pairs: int
) -> Comparison:
    """Subject, other, subject, other, ..."""
    return Comparison(tuple((subject(), other()) for _ in range(pairs)))


def middle(runs: list[Measured]) -> Measured:
    """The run of median rate; of an even number the lower of the two in the middle."""
    return sorted(runs, key=lambda run: run.rate)[(len(runs) - 1) // 2]


def spread(values: list[float]) -> dict[str, float]:
    """Median, least and most."""
    return {
        "median": round(median(values), 2),
        "min": round(min(values), 2),
        "max": round(max(values), 2),
    }
