"""Large bytes beside the store, on every blob store."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random

import pytest

from stagepost.blobs import Blobs, Stored
from stagepost.blobstores.folder import FolderBlobs
from stagepost.errors import Conflict, NotFound
from support.world import new_id, refused

BLOBS: dict[str, Callable[[Path], Blobs]] = {
    "folder": FolderBlobs,
}
MIB = 1024 * 1024


@pytest.fixture(params=BLOBS)
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    return BLOBS[request.param](tmp_path / "blobs")


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


async def put(blobs: Blobs, content: bytes, key: str | None = None) -> str:
    key = key or new_id()
    await blobs.put(key, pieces(content), limit=len(content))
    return key


async def absent(blobs: Blobs, key: str) -> None:
    """Nothing of the key can be read."""
    await refused(blobs.get(key), NotFound)
    await refused(blobs.path(key), NotFound)
    await refused(anext(aiter(blobs.stream(key))), NotFound)


@pytest.mark.parametrize("size", [0, 1, 4095, 65_537, 3 * MIB])
async def test_what_was_put_comes_back(blobs: Blobs, size: int) -> None:
    content, key = Random(size).randbytes(size), new_id()
    stored = await blobs.put(key, pieces(content), limit=size)
    assert stored == Stored(size, hashlib.sha256(content).hexdigest())
    assert await blobs.get(key) == content
    assert (await blobs.path(key)).read_bytes() == content
    assert b"".join([piece async for piece in blobs.stream(key)]) == content


async def test_pieces_of_any_size_are_put_together(blobs: Blobs) -> None:
    key = new_id()
    stored = await blobs.put(key, pieces(b"", b"a", b"bc" * 70_000, b"", b"d"), limit=MIB)
    assert await blobs.get(key) == b"a" + b"bc" * 70_000 + b"d"
    assert stored.size == 140_002


async def test_nothing_at_all_is_an_empty_blob(blobs: Blobs) -> None:
    key = new_id()
    assert (await blobs.put(key, pieces(), limit=0)).size == 0
    assert await blobs.get(key) == b""


@pytest.mark.parametrize("chunk", [1, 1000, 99_999, MIB])
async def test_a_stream_has_pieces_of_at_most_the_size_asked_for(blobs: Blobs, chunk: int) -> None:
    content = Random(1).randbytes(50 if chunk == 1 else 200_000)
    key = await put(blobs, content)
    got = [piece async for piece in blobs.stream(key, chunk=chunk)]
    assert b"".join(got) == content
    assert max(map(len, got)) <= chunk


async def test_more_than_the_limit_is_refused_and_nothing_kept(blobs: Blobs) -> None:
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            read.append(1)
            yield b"x" * 1000

    key = new_id()
    with pytest.raises(ValueError, match="more than 5500 bytes"):
        await blobs.put(key, endless(), limit=5_500)
    assert len(read) == 6
    await absent(blobs, key)


async def test_exactly_the_limit_is_taken(blobs: Blobs) -> None:
    assert (await blobs.put(new_id(), pieces(b"x" * 10, b"y"), limit=11)).size == 11


@pytest.mark.parametrize("fault", [ConnectionResetError("gone"), RuntimeError("a fault")])
async def test_a_fault_of_the_sender_is_passed_on_and_nothing_kept(
    blobs: Blobs, fault: Exception
) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"half"
        raise fault

    key = new_id()
    with pytest.raises(type(fault)) as caught:
        await blobs.put(key, breaking(), limit=MIB)
    assert caught.value is fault
    await absent(blobs, key)


async def test_a_put_that_is_cancelled_leaves_nothing(blobs: Blobs) -> None:
    begun = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x" * 100_000
        begun.set()
        await asyncio.sleep(3_600)

    key = new_id()
    putting = asyncio.create_task(blobs.put(key, slow(), limit=MIB))
    await begun.wait()
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting
    await absent(blobs, key)


async def test_puts_that_are_cancelled_at_any_moment(blobs: Blobs) -> None:
    keys = [new_id() for _ in range(30)]
    content = b"x" * 50_000
    puts = []
    for number, key in enumerate(keys):
        put_ = asyncio.create_task(blobs.put(key, pieces(content, content), limit=MIB))
        puts.append(put_)
        for _ in range(number % 7):
            await asyncio.sleep(0)
        await asyncio.sleep(0.0002 * (number % 5))
        put_.cancel()
    await asyncio.gather(*puts, return_exceptions=True)
    for key in keys:
        # All or nothing.
        try:
            assert len(await blobs.get(key)) == 100_000
        except NotFound:
            await absent(blobs, key)


async def test_a_blob_is_seen_only_when_it_is_whole(blobs: Blobs) -> None:
    key = new_id()

    async def watched() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * 20_000
            await absent(blobs, key)

    await blobs.put(key, watched(), limit=MIB)
    assert len(await blobs.get(key)) == 60_000


async def test_many_puts_at_once(blobs: Blobs) -> None:
    contents = {new_id(): Random(n).randbytes(n * 997) for n in range(40)}
    await asyncio.gather(*(put(blobs, content, key) for key, content in contents.items()))
    found = await asyncio.gather(*map(blobs.get, contents))
    assert found == list(contents.values())


async def test_a_key_is_written_once(blobs: Blobs) -> None:
    key = await put(blobs, b"first")
    await refused(blobs.put(key, pieces(b"second"), limit=9), Conflict)
    assert await blobs.get(key) == b"first"


async def test_of_two_puts_of_one_key_one_wins(blobs: Blobs) -> None:
    key = new_id()
    puts = [blobs.put(key, pieces(content * 1000), limit=MIB) for content in (b"a", b"b")]
    answers = await asyncio.gather(*puts, return_exceptions=True)
    assert sorted(type(answer).__name__ for answer in answers) == ["Conflict", "Stored"]
    assert set(await blobs.get(key)) in ({ord("a")}, {ord("b")})


async def test_delete(blobs: Blobs) -> None:
    key, other = await put(blobs, b"gone"), await put(blobs, b"kept")
    await blobs.delete(key)
    await absent(blobs, key)
    await blobs.delete(key)
    await blobs.delete(new_id())
    assert await blobs.get(other) == b"kept"


async def test_a_stream_that_was_begun_is_read_to_its_end(blobs: Blobs) -> None:
    key = await put(blobs, b"x" * 10_000)
    stream = aiter(blobs.stream(key, chunk=1_000))
    first = await anext(stream)
    await blobs.delete(key)
    assert len(first) + sum([len(piece) async for piece in stream]) == 10_000


@pytest.mark.parametrize(
    "key",
    [
        "",
        ".",
        "..",
        "../../etc/passwd",
        "/etc/passwd",
        "a/b",
        "0190c5a2-0000-7000-8000-00000000000/",
        "0190c5a2-0000-7000-8000-0000000000zz",
        "0190C5A2-0000-7000-8000-0000000000AA",
        "0190c5a2-0000-7000-8000-0000000000aa\n",
        "0190c5a2-0000-7000-8000-0000000000aa\0",
        "0190c5a200007000800000000000aa",
        "{}.partial",
    ],
    ids=ascii,
)
async def test_what_is_no_key_reaches_nothing(blobs: Blobs, key: str, tmp_path: Path) -> None:
    key = key.format(new_id())
    await refused(blobs.put(key, pieces(b"x"), limit=9), NotFound)
    await absent(blobs, key)
    await refused(blobs.delete(key), NotFound)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


async def every_key(blobs: Blobs, older_than: float) -> list[str]:
    after, found = "", list[str]()
    for _ in range(1_000):
        keys, rest = await blobs.listed(after, older_than=older_than)
        found += keys
        if rest is None:
            return found
        after = rest
    raise AssertionError("the list has no end")


async def test_every_key_is_listed_once_it_is_old_enough(blobs: Blobs) -> None:
    assert await every_key(blobs, 0.0) == []
    keys = [await put(blobs, b"x") for _ in range(300)]
    assert sorted(await every_key(blobs, -60.0)) == sorted(keys)
    assert await every_key(blobs, 3_600.0) == []


async def test_the_first_owner_stays_the_owner(blobs: Blobs) -> None:
    first = await asyncio.gather(*(blobs.belong_to(f"store-{n}") for n in range(20)))
    assert first.count(True) == 1
    owner = f"store-{first.index(True)}"
    assert [await blobs.belong_to(name) for name in (owner, "another", owner)] == [
        True, False, True,
    ]  # fmt: skip
    assert await every_key(blobs, -60.0) == []
