"""Whatever is told fits into NOTIFY and is read back."""

import json

from hypothesis import given
from hypothesis import strategies as st

from buses.ear import token
from stagepost.bus import Token
from stagepost.buses.postgres.outgoing import Batch
from stagepost.buses.postgres.wire import Channels, hello, payloads, read

CHANNELS = Channels.of("stagepost")
IDS = st.lists(st.text(max_size=40), max_size=400)
TOKENS = st.builds(
    Token,
    step=st.text(max_size=60),
    attempt=st.integers(1, 9),
    offset=st.integers(0, 10**9),
    text=st.builds(
        lambda piece, times: piece * times,
        # Half a pair beside its other half would become one character in JSON.
        st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
        st.integers(0, 700),
    ),
)
BATCHES = st.builds(
    Batch,
    events=IDS.map(tuple),
    cancels=IDS.map(tuple),
    said=st.lists(st.tuples(st.text(max_size=40), TOKENS | st.none()), max_size=6).map(tuple),
    missed=st.booleans(),
)


def joined(said: list[tuple[str, Token | None]]) -> list[tuple[str, Token | None]]:
    """Pieces that go on where the one before ends, as one."""
    whole: list[tuple[str, Token | None]] = []
    for task_id, piece in said:
        before = whole[-1] if whole else ("", None)
        if piece is not None and before[0] == task_id and before[1] is not None:
            old = before[1]
            if (old.step, old.attempt, old.offset + len(old.text)) == piece[:3]:
                whole[-1] = task_id, old._replace(text=old.text + piece.text)
                continue
        whole.append((task_id, piece))
    return whole


@given(BATCHES)
def test_any_batch_comes_through(batch: Batch) -> None:
    told = [*payloads("sender", batch, CHANNELS)]
    assert all(payload.isascii() and len(payload) < 8_000 for _, payload in told)
    heard = [read(payload) for _, payload in told]
    assert all(each is not None and each.sender == "sender" for each in heard)
    whole = [each for each in heard if each is not None]
    assert [id_ for each in whole for id_ in each.events] == [*batch.events]
    assert [id_ for each in whole for id_ in each.cancels] == [*batch.cancels]
    said = [piece for each in whole for piece in each.said]
    assert joined(said) == joined([*batch.said])
    assert any(each.missed for each in whole) is batch.missed
    texts = {channel for channel, payload in told if "said" in json.loads(payload)}
    assert texts <= {CHANNELS.texts}


def test_ids_fill_a_payload() -> None:
    ids = tuple(f"0190aaaa-bbbb-7ccc-8ddd-{number:012}" for number in range(1_000))
    told = [*payloads("0123456789abcdef", Batch(events=ids), CHANNELS)]
    assert {channel for channel, _ in told} == {CHANNELS.bells}
    assert len(told) == 5


def test_text_of_a_path_without_an_end_stays_at_home() -> None:
    said = (("task", token("x" * 100, step="y" * 10_000)), ("task", None))
    told = [*payloads("sender", Batch(said=said), CHANNELS)]
    assert len(told) == 1
    heard = read(told[0][1])
    assert heard is not None
    assert heard.said == (("task", None),)


def test_hello_is_no_news() -> None:
    heard = read(hello("me"))
    assert heard is not None
    assert (heard.sender, heard.events, heard.missed) == ("me", (), False)


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_nonsense_is_left_out(payload: str) -> None:
    assert read(payload) is None


def test_nesting_without_an_end_is_left_out() -> None:
    assert read("[" * 100_000) is None
