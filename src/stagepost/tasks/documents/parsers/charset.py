"""Which character set a text file is in, and its text."""

import codecs
import re
from collections.abc import Iterator

from stagepost.tasks.documents.parsers.refusal import Refusal

_MARKS = (  # the longer ones first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The commonest characters of Chinese contracts, simplified and traditional. Read in the wrong
# character set, Chinese text turns into rare characters and shows next to none of these.
_COMMON = frozenset(
    "的一不人有在为本方甲乙合同日月年约定之及或以下应当第条款人民共和国公司付期内给责任权"
    "為約應當條國權與務業時間後種個關於費額書實際違買賣總"
)
_ENOUGH_COMMON = 0.04  # of the Chinese characters; real contracts have 0.2 and more
_HAN = re.compile(r"[\u3400-\u9fff]")
_CONTROLS = re.compile(r"[\x01-\x08\x0e-\x1f\x7f-\x9f]")
_MOST_LOST = 0.001  # share of characters that may be damaged
_SAMPLE = 256 * 1024  # characters looked at to tell whether a decoding makes sense

_NO_TEXT = (
    "This is not a PDF, Word, text or Markdown file, or its text is in no known character set. "
    "Save it as UTF-8 text, DOCX or PDF and upload that copy."
)
_LOST = "Some characters of the file were damaged and are shown as \ufffd."


def decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The text without its byte order mark, and warnings. Raises Refusal if it isn't text.

    A NUL character, which no store of text takes, becomes a blank, so offsets stay the file's.
    """
    for charset in _candidates(data):
        text, lost = _decode(data, charset)
        if lost <= _MOST_LOST and _makes_sense(text, charset):
            return text.replace("\0", " "), (_LOST,) if lost else ()
    raise Refusal(_NO_TEXT)


def _candidates(data: bytes) -> Iterator[str]:
    for mark, charset in _MARKS:
        if data.startswith(mark):
            yield charset
            return
    yield from _wide(data)
    yield from ("utf-8", "gb18030", "big5hkscs", "cp1252")
    guess = _guess(data)
    if guess:
        yield guess


def _wide(data: bytes) -> Iterator[str]:
    """UTF-16 without a mark: ASCII in it, blanks and line ends at least, has a NUL beside it."""
    head = data[: _SAMPLE // 2 * 2]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) * 50 > len(head):
        yield "utf-16-le" if odd > even else "utf-16-be"


def _guess(data: bytes) -> str | None:
    """What a statistical detector makes of it: other languages' character sets."""
    from charset_normalizer import from_bytes  # noqa: PLC0415 - slow to import and seldom needed

    best = from_bytes(data[:_SAMPLE]).best()
    return best.encoding if best else None


def _decode(data: bytes, charset: str) -> tuple[str, float]:
    """The text without its mark, and the share of it that was lost to damage."""
    try:
        return data.decode(charset).removeprefix("\ufeff"), 0.0
    except UnicodeDecodeError:
        text = data.decode(charset, "replace").removeprefix("\ufeff")
        return text, text.count("\ufffd") / len(text)


def _makes_sense(text: str, charset: str) -> bool:
    sample = text[:_SAMPLE]
    if sample.count("\0") * 100 > len(sample) or len(_CONTROLS.findall(sample)) * 100 > len(sample):
        return False
    if charset in {"gb18030", "big5hkscs"}:
        return _is_chinese(sample)
    if charset == "cp1252":
        return _is_western(sample)
    return True


def _is_chinese(sample: str) -> bool:
    han = _HAN.findall(sample)
    return bool(han) and sum(char in _COMMON for char in han) > _ENOUGH_COMMON * len(han)


def _is_western(sample: str) -> bool:
    """Whether letters with accents and typographic marks are the exception, as in English."""
    return sum(char > "\x7f" for char in sample) * 10 <= len(sample)
