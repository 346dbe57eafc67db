"""What a measured program prints: one JSON line, the last of its standard output."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
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


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is gone afterwards, where the harness says or in the temporary folder."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get(FOLDER)) as folder:
        yield Path(folder)
