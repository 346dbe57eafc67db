"""The ledger and the book that a test keeps beside it, through any history.

`STAGEPOST_EXAMPLES=50` makes fifty times as many histories.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import note as note_it
from hypothesis import strategies as st

from support.book import ENDS, STEPS, Book
from support.postgres_worlds import PostgresWorlds
from support.quick import quick_folder
from support.world import Opener, a_world, open_sqlite


def postgres_of(request: pytest.FixtureRequest) -> Opener:
    worlds: PostgresWorlds = request.getfixturevalue("postgres_worlds")
    return worlds.open


STORES: dict[str, Callable[[pytest.FixtureRequest], Opener]] = {
    "sqlite": lambda _: open_sqlite,
    "postgres": postgres_of,
}
Cause = tuple[str, int, int, int]
"""What happens, and three numbers that say with what."""

HAPPENS: dict[str, Callable[[Book, int, int, int], Awaitable[None]]] = {
    "call": lambda book, a, b, c: book.call(a, b % len(STEPS), c % 2),
    "end": lambda book, a, b, _: book.end(a, b % len(ENDS)),
    "end well": lambda book, a, _b, _c: book.end(a, 0),
    "claim": lambda book, *_: book.claim(),
    "die": lambda book, *_: book.die(),
    "settle": lambda book, a, b, _: book.settle(a, b % 4),
    "submit": lambda book, *_: book.submit(),
    "save": lambda book, a, b, _: book.save(a, b % len(STEPS)),
    "redrive": lambda book, a, b, _: book.redrive(a, fresh=b % 2 == 0),
    "erase": lambda book, a, *_: book.erase(a),
    "note": lambda book, a, *_: book.note(1 + a % 5),
}
OFTEN = ["call"] * 6 + ["end"] * 4 + ["end well"] * 2 + ["claim", "settle", "die", "note"]
_number = st.integers(0, 29)
causes = st.tuples(st.sampled_from([*OFTEN, *HAPPENS]), _number, _number, _number)
histories = st.lists(causes, min_size=25, max_size=60)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", STORES)
def test_the_ledger_says_what_has_happened(name: str, request: pytest.FixtureRequest) -> None:
    open_store = STORES[name](request)
    seen = Counter[str]()

    async def one(history: list[Cause]) -> None:
        with quick_folder() as folder:
            async with a_world(open_store, folder / "data") as world:
                book = Book(world)
                await book.submit()
                await book.claim()
                for what, *numbers in history:
                    await HAPPENS[what](book, *numbers)
                    await book.check()
                seen.update(str(book._state(entry)) for entry in book.entries)
                seen["used"] += len(book.used)

    @settings(max_examples=settings.get_profile("stagepost").max_examples)
    @given(histories)
    def run(history: list[Cause]) -> None:
        note_it(repr(history))
        asyncio.run(one(history))

    run()
    assert min(seen[each] for each in ("RESULT", "REJECTED", "REFUSED", "UNKNOWN", "used")) > 5, (
        seen
    )
