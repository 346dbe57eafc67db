"""Limits by their names: the rules as they are now, and the limiter that keeps them."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from stagepost.clock import Clock
from stagepost.errors import NeverFits, Retryable, UnknownLimit
from stagepost.limit import Limit
from stagepost.limiter import MOST_CHARGES, Charge, Limiter
from stagepost.store import Store

_log = logging.getLogger("stagepost.limiter")

_FRESH: Final = 1.0  # seconds for which what was read of the store holds


def place_in_line(task_id: str, place: str) -> str:
    """The id of a task's reservation; the same on every replay."""
    return f"{task_id}/{place}"


def task_of(reservation: str) -> str:
    """The task of such an id."""
    return reservation.partition("/")[0]


class Rule(NamedTuple):
    """A limit, and where it was set."""

    limit: Limit
    source: Literal["settings", "api"]


class Limiting:
    """What handlers and the API share. A rule of the store wins over the settings' of its name.

    While the store can't be asked the rules last read hold.
    """

    def __init__(
        self, limiter: Limiter, store: Store, settings: Mapping[str, Limit], clock: Clock
    ) -> None:
        self.limiter = limiter
        self._store = store
        self._clock = clock
        self._settings = {name: Rule(limit, "settings") for name, limit in settings.items()}
        self._rules: Mapping[str, Rule] = self._settings
        self._read_at: float | None = None

    async def charges(self, wants: Mapping[str, int]) -> Sequence[Charge]:
        """Units by a limit's name, as charges. Raises UnknownLimit, NeverFits and ValueError."""
        if not 1 <= len(wants) <= MOST_CHARGES:
            raise ValueError(f"1 to {MOST_CHARGES} limits are taken together.")
        rules = await self.rules()
        return [_charge(rules, name, units) for name, units in wants.items()]

    async def rules(self) -> Mapping[str, Rule]:
        """All rules, at most a second old."""
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at >= _FRESH:
            await self._read()
            self._read_at = now
        return self._rules

    def forget(self) -> None:
        """A rule was changed here: the next look is at the store."""
        self._read_at = None

    async def _read(self) -> None:
        try:
            limits = await self._store.limits.all()
        except Retryable as error:
            _log.warning("limits can't be read and stay as they were: %s", error)
            return
        self._rules = {**self._settings, **{each.name: Rule(each, "api") for each in limits}}


def _charge(rules: Mapping[str, Rule], name: str, units: int) -> Charge:
    rule = rules.get(name)
    if rule is None:
        raise UnknownLimit(
            f'There is no limit "{name}"; set it with `stagepost limits set {name} 100/1m` or in '
            "STAGEPOST_LIMITS."
        )
    if not isinstance(units, int) or units < 1:
        raise ValueError("The units of a limit are a whole number from 1.")
    if rule.limit.never_fits(units):
        raise NeverFits(
            f'{units} units never fit in the limit "{name}" of {rule.limit.words}; ask for fewer '
            "at a time, or raise the limit."
        )
    return Charge(rule.limit, units)
