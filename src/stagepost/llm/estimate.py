"""How many tokens a text will be, learnt for each model from what its calls have used. Pure.

No tokenizer is needed: a model's characters per token are much the same from call to call. They
differ by script, so Latin, Chinese (with Japanese and Korean) and all others are learnt apart. What
is estimated has something on top, more where the estimates were off, so that it is rarely too low.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

_OF_A_MESSAGE: Final = 4
"""Tokens by which each message is wrapped."""
_OF_ALL: Final = 3

_WIDE: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0003ffff]+"
)
_NEITHER: Final = re.compile(
    "[^\u0000-\u024f\u1e00-\u1eff\u2000-\u206f\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+"
)

_WEIGHT: Final = 1 / 8
"""Of one call, in the averages."""
_ENOUGH: Final = 30
"""Tokens; what is shorter tells little."""
_LEAST, _MOST = 0.2, 20.0
"""Characters per token."""
_LEAST_SAFETY, _MOST_SAFETY = 0.05, 0.5


class Size(NamedTuple):
    """Of texts: Latin characters, Chinese ones, bytes of all others, and the tokens around them."""

    latin: int = 0
    wide: int = 0
    other: int = 0
    around: int = 0


def size_of(texts: Iterable[str], messages: int = 1) -> Size:
    """How large texts are, that are sent as so many messages."""
    latin = wide = other = 0
    for text in texts:
        if text.isascii():
            latin += len(text)
            continue
        here = sum(map(len, _WIDE.findall(text)))
        rest = _NEITHER.findall(text)
        wide += here
        other += sum(len(part.encode(errors="replace")) for part in rest)
        latin += len(text) - here - sum(map(len, rest))
    return Size(latin, wide, other, messages * _OF_A_MESSAGE + _OF_ALL)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of one model: characters per token by script, and how far off that is."""

    latin: float = 3.5
    wide: float = 1.2
    other: float = 2.0
    """Bytes per token."""
    off: float = 0.1
    """By which share calls have differed from the estimate, on average."""

    def tokens(self, size: Size) -> int:
        """What to reserve: rarely less than what the texts will be."""
        safety = min(_MOST_SAFETY, max(_LEAST_SAFETY, 2 * self.off))
        return math.ceil(self._likely(size) * (1 + safety)) + size.around

    def learn(self, size: Size, tokens: int) -> Self:
        """The same after a call of that size that was so many tokens, by the provider's count."""
        likely, found = self._likely(size), tokens - size.around
        if found < _ENOUGH or likely < _ENOUGH:
            return self
        ratio = found / likely
        parts = (size.latin / self.latin, size.wide / self.wide, size.other / self.other)
        latin, wide, other = (_WEIGHT * part / likely * (ratio - 1) for part in parts)
        return replace(
            self,
            latin=_bounded(self.latin / (1 + latin)),
            wide=_bounded(self.wide / (1 + wide)),
            other=_bounded(self.other / (1 + other)),
            off=self.off + _WEIGHT * (min(1.0, abs(ratio - 1)) - self.off),
        )

    def dump(self) -> dict[str, float]:
        """All of it, for JSON."""
        return {"latin": self.latin, "wide": self.wide, "other": self.other, "off": self.off}

    @classmethod
    def load(cls, kept: dict[str, Any]) -> Self:
        """What `dump` wrote."""
        return cls(**{name: float(kept[name]) for name in ("latin", "wide", "other", "off")})

    def _likely(self, size: Size) -> float:
        return size.latin / self.latin + size.wide / self.wide + size.other / self.other


def _bounded(per_token: float) -> float:
    return min(_MOST, max(_LEAST, per_token))
