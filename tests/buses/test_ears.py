"""Listeners that are gone are let go."""

import asyncio

from buses.ear import Ear, bell
from stagepost.buses.ears import Ears


def test_a_closed_loop_is_let_go() -> None:
    ears = Ears()

    async def listen() -> None:
        ears.listen(Ear())

    asyncio.run(listen())
    assert len(ears._ears) == 1
    ears.committed(bell(1))
    assert not ears._ears
