"""What a benchmark is given: how to run a program, with its services and its environment."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from bench import runner
from bench.program import Measured
from bench.programs import Program


@dataclass(frozen=True, slots=True)
class Session:
    """One call of `make bench`. `tasks` replaces every program's own number when it is given."""

    pairs: int
    tasks: int | None
    environment: Mapping[str, str]

    def run(self, program: Program) -> Measured:
        """One run, noted on standard error."""
        measured = runner.run(program, tasks=self.tasks, environment=self.environment)
        print(f"  {measured.name}: {measured.rate:,.0f}/s", file=sys.stderr, flush=True)
        return measured
