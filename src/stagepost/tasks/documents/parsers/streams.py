"""How large a PDF stream becomes when it is decoded, found without ever holding the result.

A few kilobytes can decode to gigabytes. Every stream that reading text would decode is measured in
constant memory first, and the first one past the limit ends the measuring.
"""

import base64
import binascii
import zlib
from collections.abc import Iterator

from stagepost.tasks.documents.limits import MIB
from stagepost.tasks.documents.parsers.refusal import Refusal

MOST_ONE_STREAM = 64 * MIB
MOST_ALL_STREAMS = 512 * MIB
_MOST_FILTERS = 8
_CHUNK = MIB
_TOO_LARGE = (
    "This PDF unpacks to far more data than a contract holds, so it was not opened. "
    "Print it to a new PDF and upload that one."
)
_ASCII = {"ASCIIHexDecode", "AHx", "ASCII85Decode", "A85"}
_FLATE = {"FlateDecode", "Fl"}
_BLANKS = bytes(range(33))


def decoded_size(raw: bytes, filters: list[str]) -> int:
    """The bytes that `raw` becomes through `filters`, in order.

    Damaged data counts as far as it decodes. Filters of pictures (JPEG and the like) are not run
    to read text and end the chain. Raises Refusal past `MOST_ONE_STREAM` and for chains no known
    program writes.
    """
    if len(filters) > _MOST_FILTERS:
        raise Refusal(_TOO_LARGE)
    chunks: Iterator[bytes] = iter((raw,))
    for position, name in enumerate(filters):
        if name in _ASCII:
            chunks = iter((_from_ascii(_joined(chunks), name),))
        elif name in _FLATE:
            chunks = _inflated(chunks)
        elif name in {"LZWDecode", "LZW", "RunLengthDecode", "RL"}:
            if position + 1 < len(filters):
                raise Refusal(_TOO_LARGE)
            measure = _lzw_size if name.startswith("LZW") else _run_length_size
            return measure(_joined(chunks))
        else:
            break
    return _bounded(sum_of_sizes=map(len, chunks))


def check_total(total: int) -> None:
    """Raises Refusal when all streams together decode to more than `MOST_ALL_STREAMS`."""
    if total > MOST_ALL_STREAMS:
        raise Refusal(_TOO_LARGE)


def _bounded(sum_of_sizes: Iterator[int]) -> int:
    total = 0
    for size in sum_of_sizes:
        total += size
        if total > MOST_ONE_STREAM:
            raise Refusal(_TOO_LARGE)
    return total


def _joined(chunks: Iterator[bytes]) -> bytes:
    """All chunks as one, bounded like a stream's end result."""
    parts: list[bytes] = []
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > MOST_ONE_STREAM:
            raise Refusal(_TOO_LARGE)
        parts.append(chunk)
    return b"".join(parts)


def _inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The decompressed data in chunks of at most a mebibyte; ends at damage, as readers do."""
    inflater = zlib.decompressobj()
    for chunk in chunks:
        rest = chunk
        while rest and not inflater.eof:
            try:
                out = inflater.decompress(rest, _CHUNK)
            except zlib.error:
                return
            rest = inflater.unconsumed_tail
            yield out


def _from_ascii(data: bytes, name: str) -> bytes:
    """ASCII85 or hexadecimal text as bytes; empty when it is damaged. It never grows."""
    text = data.translate(None, delete=_BLANKS)
    try:
        if name in {"ASCII85Decode", "A85"}:
            return base64.a85decode(text.split(b"~")[0].removeprefix(b"<~"))
        digits = text.split(b">")[0]
        return binascii.unhexlify(digits + b"0" * (len(digits) % 2))
    except ValueError:
        return b""


def _run_length_size(data: bytes) -> int:
    total = at = 0
    while at < len(data) and data[at] != 128:
        literal = data[at] < 128
        total += data[at] + 1 if literal else 257 - data[at]
        at += data[at] + 2 if literal else 2
    return _bounded(iter((total,)))


def _lzw_size(data: bytes) -> int:
    """Follows LZW by the lengths of its strings alone; the early change of the code width is kept.

    A code's string is one byte longer than the string of the code before it, so the lengths are
    enough to know the size.
    """
    lengths = [1] * 258
    total = bits = held = previous = 0
    width = 9
    for byte in data:
        bits = (bits << 8 | byte) & 0xFFFFF
        held += 8
        if held < width:
            continue
        held -= width
        code = bits >> held & ((1 << width) - 1)
        if code == 257 or code > len(lengths):
            break
        if code == 256:
            lengths, width, previous = [1] * 258, 9, 0
            continue
        length = lengths[code] if code < len(lengths) else previous + 1
        if previous and len(lengths) < 4096:
            lengths.append(previous + 1)
        previous = length
        width = min(12, (len(lengths) + 1).bit_length())
        total += length
        if total > MOST_ONE_STREAM:
            raise Refusal(_TOO_LARGE)
    return total
