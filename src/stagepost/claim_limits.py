"""What one claim has taken of limits, and holds."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from stagepost.errors import Retryable, UnknownLimit
from stagepost.limiter import Reservation, Verdict
from stagepost.limiting import Limiting, place_in_line
from stagepost.records import Claimed

_log = logging.getLogger("stagepost.limiter")

_AWAY: Final = 5.0  # seconds before another try when the limiter can't be asked
_LETTING_GO: Final = 5.0  # seconds; the limiter is told later what it could not be told by then


class ClaimLimits:
    """Everything is let go of when the claim ends; what still waits keeps its place in line."""

    def __init__(self, claim: Claimed, limiting: Limiting | None) -> None:
        self._claim = claim
        self._limiting = limiting
        self._held: dict[str, Reservation] = {}

    async def reserve(self, place: str, wants: Mapping[str, int], patience: float) -> Verdict:
        """Take units by the names of limits; `place` is the reservation's identity in the task.

        A limiter that can't be asked is told as a wait: nothing is granted without it. Raises
        UnknownLimit, NeverFits, ValueError.
        """
        if self._limiting is None:
            raise UnknownLimit("This engine has no limiter.")
        charges = await self._limiting.charges(wants)
        claim = self._claim
        reservation = Reservation(place_in_line(claim.task_id, place), charges, claim.lease_id)
        if any(charge.limit.at_once is not None for charge in charges):
            # Noted before it is asked for: its answer may be lost.
            self._held[place] = reservation
        try:
            verdict = await self._limiting.limiter.reserve(reservation, patience=patience)
        except Retryable as error:
            _log.warning("task %s waits for a limit: %s", claim.task_id, error)
            verdict = Verdict(granted=False, wait=_AWAY, limit=next(iter(wants)))
        if not verdict.granted:
            self._held.pop(place, None)
        return verdict

    async def release(self, place: str) -> None:
        """What is held under this place is free."""
        reservation = self._held.pop(place, None)
        if reservation is not None and self._limiting is not None:
            await self._limiting.limiter.settle(reservation)

    async def let_go(self) -> None:
        """The claim has ended."""
        held, limiting = self._held, self._limiting
        self._held = {}
        if not held or limiting is None:
            return
        try:
            async with asyncio.timeout(_LETTING_GO):
                settles = [limiting.limiter.settle(reservation) for reservation in held.values()]
                await asyncio.gather(*settles)
        except (Retryable, TimeoutError) as error:
            _log.warning("the limiter frees what was held when its lease ends: %s", error)
