"""What one call has taken from the limits, until it is known what it has used."""

from dataclasses import dataclass, field

from stagepost.clock import Clock
from stagepost.simulated.ledger import Ledger
from stagepost.simulated.lending import Lent


@dataclass(slots=True)
class Hold:
    """A call that was admitted with so many tokens; `settle` it once it is known what it took.

    It is settled before the end of its answer goes out, so that whoever has the answer may call
    again at once. The first settlement counts.
    """

    lent: Lent
    tokens: int
    ledger: Ledger
    clock: Clock
    _open: bool = field(default=True, init=False)

    def begin(self) -> None:
        """Count what was lent."""
        now = self.clock.monotonic()
        self.lent.requests.lend(1, now)
        self.lent.tokens.lend(self.tokens, now)
        self.ledger.begin()

    def settle(self, used: int) -> None:
        """End it, with the tokens that were used."""
        if not self._open:
            return
        self._open = False
        now = self.clock.monotonic()
        self.ledger.end()
        self.lent.quota.settle(self.tokens, used, now)
        if self.lent.quota.charge == "actual" or used > self.tokens:
            self.lent.tokens.lend(used - self.tokens, now)
