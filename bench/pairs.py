"""Compare two programs by interleaved pairs, so that the machine's moods hit both alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.program import Figures, Measured


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


@dataclass(frozen=True, slots=True)
class Rounds:
    """Runs of several programs in turn, by the program's name; all have as many."""

    runs: dict[str, list[Figures]]

    def spread(self, name: str, figure: str) -> dict[str, float]:
        """Median and range of one figure of one program."""
        return spread([run.values[figure] for run in self.runs[name]])

    def ratio(self, subject: str, other: str, figure: str) -> float:
        """The median, round by round, of the subject's figure in terms of the other's."""
        both = zip(self.runs[subject], self.runs[other], strict=True)
        return median(a.values[figure] / b.values[figure] for a, b in both)

    def as_json(self) -> dict[str, object]:
        """Every figure of every run."""
        return {
            name: {"notes": runs[0].notes, "runs": [dict(run.values) for run in runs]}
            for name, runs in self.runs.items()
        }


def interleaved(
    subject: Callable[[], Measured], other: Callable[[], Measured], pairs: int
) -> Comparison:
    """Subject, other, subject, other, ..."""
    return Comparison(tuple((subject(), other()) for _ in range(pairs)))


def in_turn(programs: Mapping[str, Callable[[], Figures]], rounds: int) -> Rounds:
    """Each once, then each again, ..."""
    runs: dict[str, list[Figures]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, run in programs.items():
            runs[name].append(run())
    return Rounds(runs)


def middle(runs: Sequence[Measured]) -> Measured:
    """The run of median rate; of an even number the lower of the two in the middle."""
    return sorted(runs, key=lambda run: run.rate)[(len(runs) - 1) // 2]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, least and most."""
    return {
        "median": round(median(values), 2),
        "min": round(min(values), 2),
        "max": round(max(values), 2),
    }
