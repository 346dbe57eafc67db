"""What a benchmark is given: how to run a program, with its services and its environment."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import runner
from bench.program import Figures, Measured
from bench.programs import Program


@dataclass(frozen=True, slots=True)
class Session:
    """One call of `make bench`.

    `folder` is gone after it. `pairs` is the most that any benchmark takes. A quick one takes one
    pair of each comparison at a tiny size, and its figures say nothing. Without `peers` nothing is
    compared with them.
    """

    folder: Path
    environment: Mapping[str, str]
    pairs: int | None = None
    quick: bool = False
    peers: bool = True

    def pairs_of(self, own: int) -> int:
        """How many pairs a benchmark takes whose own number this is."""
        if self.quick:
            return 1
        return own if self.pairs is None else min(own, self.pairs)

    def rate(self, program: Program, *words: str) -> Measured:
        """One run of a program that counts tasks, noted on standard error."""
        measured = runner.run(
            program,
            Measured.from_line,
            size=self.size_of(program),
            words=words,
            environment=self.environment,
        )
        _note(f"{measured.name}: {measured.rate:,.0f}/s")
        return measured

    def figures(self, program: Program, *words: str) -> Figures:
        """One run of a program with figures of its own, noted on standard error."""
        figures = runner.run(
            program,
            Figures.from_line,
            size=self.size_of(program),
            words=words,
            environment=self.environment,
        )
        values = ", ".join(f"{value:,.6g} {name}" for name, value in figures.values.items())
        _note(f"{program.name}: {values}")
        return figures

    def size_of(self, program: Program) -> int:
        """The size at which it runs here."""
        return program.quick if self.quick else program.size


def _note(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)
