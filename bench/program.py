"""What a measured program prints: one JSON line, the last of its standard output."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Self

#: Where a program makes its files: on a disk, while the temporary folder may be memory.
FOLDER = "BENCH_FOLDER"


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of one program. `durable`: whether what it counted as done survives a power cut."""

    name: str
    tasks: int
    seconds: float
    durable: bool
    notes: str = ""

    @property
    def rate(self) -> float:
        """Tasks per second."""
        return self.tasks / self.seconds

    @classmethod
    def from_line(cls, line: str) -> Self:
        """The inverse of `print_measured`; ValueError for any other line."""
        try:
            fields = json.loads(line)
            del fields["rate"]
            return cls(**fields)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a measurement: {line}") from error


def print_measured(measured: Measured) -> None:
    """The line that the harness reads."""
    print(json.dumps({**asdict(measured), "rate": round(measured.rate, 1)}), flush=True)


@dataclass(frozen=True, slots=True)
class Figures:
    """One run of a program that has several figures, each by its name with its unit."""

    name: str
    values: Mapping[str, float]
    notes: str = ""

    @classmethod
    def from_line(cls, line: str) -> Self:
        """The inverse of `print_figures`; ValueError for any other line."""
        try:
            figures = cls(**json.loads(line))
            return cls(
                figures.name, {k: float(v) for k, v in figures.values.items()}, figures.notes
            )
        except (AttributeError, TypeError) as error:
            raise ValueError(f"no figures: {line}") from error


def print_figures(figures: Figures) -> None:
    """The line that the harness reads."""
    print(json.dumps(asdict(figures)), flush=True)


def latencies(milliseconds: Sequence[float]) -> dict[str, float]:
    """The figures of a sample of latencies, of which there is one at least."""
    ordered = sorted(milliseconds)
    return {
        name: round(ordered[ceil(share * len(ordered)) - 1], 3)
        for name, share in (("p50 ms", 0.5), ("p99 ms", 0.99), ("max ms", 1.0))
    }


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is gone afterwards, where the harness says or in the temporary folder."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get(FOLDER)) as folder:
        yield Path(folder)
