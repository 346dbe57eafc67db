"""The contract reviews that both designs are given: drawn once, so the same for both.

All times are in seconds of the provider, which its speed shortens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

BURSTS = 3
EVERY = 60.0
"""From the begin of one burst to that of the next."""
WITHIN = 10.0
"""What the reviews of one burst are spread over."""

_MEDIAN, _SIGMA, _LEAST, _MOST = 8.0, 1.0, 1.0, 60.0
_ALWAYS = 1_000_000  # however often it is asked, the same review takes as long
_CLAUSES = (
    "The Supplier shall indemnify the Customer against all claims without any limit.",
    "The Customer shall pay within ninety days of the receipt of an invoice.",
    "Either party may terminate this contract with a notice of seven days.",
    "The Supplier may change its prices at any time without the consent of the Customer.",
)


@dataclass(frozen=True, slots=True)
class Review:
    """One that arrives so long after the first, and whose call takes so long."""

    number: int
    arrives: float
    takes: float

    @property
    def mark(self) -> str:
        """What its prompt has and no other."""
        return f"Contract no. {self.number:05d}"

    @property
    def prompt(self) -> str:
        """What the model is asked."""
        text = "\n".join(f"{n}. {_CLAUSES[n % len(_CLAUSES)]}" for n in range(1, 25))
        return f"Which clauses burden the customer, and why?\n\n{self.mark}\n\n{text}"


WARM_UP = Review(99_999, 0.0, _LEAST)


def reviews(number: int) -> Sequence[Review]:
    """So many of them, in the order in which they arrive."""
    drawn = Random(1)
    found = []
    for place in range(number):
        burst = place * BURSTS // number
        takes = min(max(_MEDIAN * drawn.lognormvariate(0.0, _SIGMA), _LEAST), _MOST)
        found.append(Review(place, EVERY * burst + drawn.random() * WITHIN, takes))
    return sorted(found, key=lambda review: review.arrives)


def script(given: Sequence[Review]) -> Sequence[dict[str, object]]:
    """How the simulated provider takes as long over each as was drawn."""
    return [
        {"fault": "slow", "wait": review.takes, "contains": review.mark, "times": _ALWAYS}
        for review in given
    ]
