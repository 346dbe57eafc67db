"""What the ledger keeps of texts: redacted, encrypted, and read again with the right key only."""

import base64
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost import adapters
from stagepost.body_codec import ENCRYPTED, PLAIN, BodyCodec
from stagepost.body_keys import BodyKeys, keys_of
from stagepost.environment import from_environment
from stagepost.errors import BodyUnreadable, StoreRefused
from stagepost.settings import Settings

OLD, NEW, OTHER = (bytes([number]) * 32 for number in range(3))
TEXT = '{"messages":["Anna owes ten euros."]}'

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


def codec(**keys: bytes) -> BodyCodec:
    return BodyCodec(BodyKeys(keys))


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@given(json)
def test_what_is_kept_is_read_again(value: Any) -> None:
    text = orjson.dumps(value).decode()
    for each in (PLAIN, codec(old=OLD, new=NEW)):
        kept = each.kept(text)
        assert (kept.sha256, kept.size) == (hash_of(text), len(text.encode()))
        assert not kept.redacted
        assert each.read(kept.text, kept.sha256) == text


def test_an_encrypted_text_names_the_newest_key_and_nothing_else() -> None:
    kept = codec(old=OLD, new=NEW).kept(TEXT)
    assert kept.text.startswith(f"{ENCRYPTED}new:")
    assert "Anna" not in kept.text
    assert b"Anna" not in base64.b64decode(kept.text.rpartition(":")[2])
    # The same text twice does not look the same.
    assert codec(old=OLD, new=NEW).kept(TEXT).text != kept.text


def test_keys_are_rotated() -> None:
    plain, before = PLAIN.kept(TEXT), codec(old=OLD).kept(TEXT)
    rotated = codec(old=OLD, new=NEW)
    assert rotated.read(plain.text, plain.sha256) == TEXT
    assert rotated.read(before.text, before.sha256) == TEXT
    after = rotated.kept(TEXT)
    assert codec(new=NEW).read(after.text, after.sha256) == TEXT
    with pytest.raises(BodyUnreadable, match='the key "old", which is not set'):
        codec(new=NEW).read(before.text, before.sha256)


def test_a_wrong_key_is_told_from_a_missing_one() -> None:
    kept = codec(old=OLD).kept(TEXT)
    with pytest.raises(BodyUnreadable, match="another key of that id"):
        codec(old=OTHER).read(kept.text, kept.sha256)
    with pytest.raises(BodyUnreadable, match="no keys are set"):
        PLAIN.read(kept.text, kept.sha256)


@given(st.data())
def test_a_changed_text_is_never_read(data: st.DataObject) -> None:
    kept = codec(old=OLD).kept(TEXT)
    head, _, packed = kept.text.rpartition(":")
    content = bytearray(base64.b64decode(packed))
    match data.draw(st.sampled_from(["flip", "cut", "move"])):
        case "flip":
            content[data.draw(st.integers(0, len(content) - 1))] ^= 1
        case "cut":
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        case _:
            kept = kept._replace(sha256=hash_of("another row"))
    changed = f"{head}:{base64.b64encode(content).decode()}"
    with pytest.raises(BodyUnreadable):
        codec(old=OLD).read(changed, kept.sha256)


def test_texts_inside_are_redacted_and_the_form_stays() -> None:
    redacting = BodyCodec(redact=lambda text: text.replace("Anna", '"A"'))
    kept = redacting.kept(TEXT)
    assert orjson.loads(kept.text) == {"messages": ['"A" owes ten euros.']}
    assert (kept.redacted, kept.sha256) == (True, hash_of(kept.text))
    untouched = redacting.kept('{"n": 1}')
    assert (untouched.text, untouched.redacted) == ('{"n": 1}', False)


def test_what_is_encrypted_is_redacted_first() -> None:
    both = BodyCodec(BodyKeys({"k": OLD}), lambda text: text.replace("Anna", "A"))
    kept = both.kept(TEXT)
    assert "Anna" not in both.read(kept.text, kept.sha256)
    assert kept.redacted


def encoded(**keys: bytes) -> str:
    return ",".join(f"{name}:{base64.b64encode(key).decode()}" for name, key in keys.items())


def test_keys_are_read_from_words_and_lines() -> None:
    lines = f"# first\n{encoded(a=OLD)}  # old\n\n{encoded(b=NEW, c=OTHER)}\n"
    expected: Mapping[str, bytes] = {"a": OLD, "b": NEW, "c": OTHER}
    assert keys_of(lines) == expected
    assert list(keys_of(lines)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "text",
    ["", "#", "a", "a:", "a:!!", f"a b:{'A' * 44}", encoded(a=b"short"), f"{encoded(a=OLD)}," * 2],
)
def test_keys_that_can_t_be_used_are_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ValueError, match="body keys") as caught:
        keys_of(text)
    assert "AAAA" not in str(caught.value)


def settings(**changes: str) -> Settings:
    return from_environment({f"STAGEPOST_{name}": text for name, text in changes.items()})


def test_the_settings_make_a_codec(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"{encoded(a=OLD)}\n{encoded(b=NEW)}\n")
    kept = adapters.body_codec(settings(BODY_KEYS_FILE=str(file))).kept(TEXT)
    assert kept.text.startswith(f"{ENCRYPTED}b:")
    by_words = adapters.body_codec(settings(BODY_KEYS=encoded(b=NEW)))
    assert by_words.read(kept.text, kept.sha256) == TEXT
    assert adapters.body_codec(settings()).kept(TEXT).text == TEXT
    redacting = adapters.body_codec(settings(REDACT="os.path:basename"))
    assert redacting.kept('"a/b"').text == '"b"'


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"BODY_KEYS": "x:y"}, "openssl rand -base64 32"),
        ({"BODY_KEYS": "x:y", "BODY_KEYS_FILE": "z"}, "not both"),
        ({"BODY_KEYS_FILE": "/nowhere/keys"}, "can't be read"),
        ({"REDACT": "nothing"}, "module:function"),
        ({"REDACT": "os:nothing"}, "can't be loaded"),
        ({"REDACT": "os:sep"}, "is no function"),
    ],
)
def test_settings_that_can_t_be_used_refuse_the_start(changes: dict[str, str], told: str) -> None:
    with pytest.raises(StoreRefused, match=told):
        adapters.body_codec(settings(**changes))


def test_no_key_is_in_the_settings_text() -> None:
    key = encoded(a=os.urandom(32))
    assert key not in repr(settings(BODY_KEYS=key))
