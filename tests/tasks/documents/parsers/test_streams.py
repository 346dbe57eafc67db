"""The size that a stream decodes to is known without decoding it whole."""

import base64
import zlib
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO

import pikepdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.tasks.documents.parsers import streams
from stagepost.tasks.documents.parsers.refusal import Refusal
from tasks.documents import making

PIECES = st.tuples(st.binary(max_size=300), st.sampled_from([1, 2, 500]))


def run_length(data: bytes) -> bytes:
    """Every byte as a run or a literal of its own, runs up to 128."""
    out = bytearray()
    at = 0
    while at < len(data):
        run = 1
        while run < 128 and data[at : at + 1] * (run + 1) == data[at : at + run + 1]:
            run += 1
        out += bytes([257 - run, data[at]]) if run > 1 else bytes([0, data[at]])
        at += run
    return bytes(out) + b"\x80"


def lzw(data: bytes) -> bytes:
    """LZW as PDF has it: codes from 9 to 12 bits, widened one code early."""
    codes: list[tuple[int, int]] = [(256, 9)]
    table = {bytes([byte]): byte for byte in range(256)}
    following, width, held = 258, 9, b""
    for value in data:
        longer = held + bytes([value])
        if longer in table:
            held = longer
            continue
        codes.append((table[held], width))
        table[longer] = following
        following += 1
        width = following.bit_length()  # the reader is one code behind, and early by one
        held = bytes([value])
        if following == 4094:
            codes.append((256, width))
            table = {bytes([byte]): byte for byte in range(256)}
            following, width = 258, 9
    if held:
        codes.append((table[held], width))
        width = (following + 1).bit_length()
    return as_bytes([*codes, (257, width)])


def endless_lzw() -> bytes:
    """Ever longer strings of one byte, then clear and again: half a megabyte for gigabytes."""
    growing = [(97, 9), *((257 + n, (258 + n).bit_length()) for n in range(1, 3700)), (256, 12)]
    return as_bytes([(256, 9), *growing * 30])


def as_bytes(codes: list[tuple[int, int]]) -> bytes:
    bits = "".join(f"{code:0{size}b}" for code, size in codes)
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


@settings(deadline=None)
@given(PIECES)
def test_flate_chains_are_followed(pieces: tuple[bytes, int]) -> None:
    data = pieces[0] * pieces[1]
    once = zlib.compress(data)
    assert streams.decoded_size(once, ["FlateDecode"]) == len(data)
    assert streams.decoded_size(zlib.compress(once), ["Fl", "FlateDecode"]) == len(data)
    ascii85 = base64.a85encode(once, wrapcol=70) + b"~>"
    assert streams.decoded_size(ascii85, ["ASCII85Decode", "FlateDecode"]) == len(data)
    assert streams.decoded_size(once.hex().encode() + b">", ["AHx", "Fl"]) == len(data)


@settings(deadline=None)
@given(PIECES)
def test_run_lengths_are_added_up(pieces: tuple[bytes, int]) -> None:
    data = pieces[0] * pieces[1]
    assert streams.decoded_size(run_length(data), ["RunLengthDecode"]) == len(data)


@settings(deadline=None)
@given(PIECES)
def test_lzw_is_followed_by_lengths(pieces: tuple[bytes, int]) -> None:
    data = pieces[0] * pieces[1]
    assert streams.decoded_size(lzw(data), ["LZWDecode"]) == len(data)


@pytest.mark.parametrize("data", [b"", b"a", b"ab" * 9000, bytes(range(256)) * 40])
def test_the_tests_own_lzw_is_what_qpdf_reads(data: bytes) -> None:
    document = making.one_page_pdf(making.stream(lzw(data), b"/Filter /LZWDecode"))
    with pikepdf.open(BytesIO(document)) as pdf:
        assert pdf.pages[0].obj.Contents.read_bytes() == data


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("FlateDecode", lambda: zlib.compress(b" " * (streams.MOST_ONE_STREAM + 1))),
        ("RunLengthDecode", lambda: b"\x81 " * (streams.MOST_ONE_STREAM // 128 + 1)),
        ("LZWDecode", endless_lzw),
    ],
)
def test_a_bomb_of_any_kind_is_refused(name: str, make: Callable[[], bytes]) -> None:
    with pytest.raises(Refusal, match="unpacks to far more"):
        streams.decoded_size(make(), [name])


def test_the_sum_of_all_streams_is_bounded() -> None:
    streams.check_total(streams.MOST_ALL_STREAMS)
    with pytest.raises(Refusal):
        streams.check_total(streams.MOST_ALL_STREAMS + 1)


def test_unpacking_filters_in_an_order_no_program_writes_are_refused() -> None:
    with pytest.raises(Refusal):
        streams.decoded_size(b"", ["LZWDecode", "FlateDecode"])
    with pytest.raises(Refusal):
        streams.decoded_size(b"", ["FlateDecode"] * 9)


def test_filters_of_pictures_end_the_chain() -> None:
    assert streams.decoded_size(zlib.compress(b"jpeg"), ["FlateDecode", "DCTDecode"]) == 4


@settings(deadline=None)
@given(st.binary(max_size=500), st.lists(st.sampled_from(["Fl", "A85", "AHx", "RL", "LZW"])))
def test_noise_is_measured_or_refused(noise: bytes, filters: list[str]) -> None:
    with suppress(Refusal):
        assert streams.decoded_size(noise, filters) >= 0
