"""Multipart bodies, read as they arrive: fields into memory, files straight into blobs.

Nothing of a form is kept in memory but its fields, and nothing of a file reaches the disk but as a
blob under a key of our own: a file's name is data, never a path.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from stagepost.caller import Caller
from stagepost.client import Client
from stagepost.records import UploadRecord
from stagepost.settings import Limits
from stagepost.web.exchange import Exchange
from stagepost.web.limits import body_pieces, check_plain, too_large
from stagepost.web.problems import Kind, Problem

JSON_PART: Final = "input"
"""The name of the part that may hold the input, or a part of it, as JSON."""
FIELDS_MOST: Final = 100
_NAME_MOST: Final = 200  # characters
_HEADERS_MOST: Final = 8
_HEADER_MOST: Final = 4096  # bytes
_PLAIN_ENCODINGS: Final = frozenset({"", "7bit", "8bit", "binary"})


@dataclass(slots=True)
class Form:
    """What a form held: texts by name, and the files that were kept, by name, in order."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, list[UploadRecord]] = field(default_factory=dict)

    @property
    def uploads(self) -> Sequence[UploadRecord]:
        """All files."""
        return [record for records in self.files.values() for record in records]


class _Step(Enum):
    BEGIN = auto()
    FIELD = auto()
    VALUE = auto()
    HEADER_END = auto()
    HEAD_END = auto()
    DATA = auto()
    END = auto()


class _Steps:
    """The parser's callbacks, turned into something to be pulled."""

    def __init__(self, boundary: bytes, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._waiting: deque[tuple[_Step, bytes]] = deque()
        self._ended = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._mark(_Step.BEGIN),
                "on_header_field": self._data(_Step.FIELD),
                "on_header_value": self._data(_Step.VALUE),
                "on_header_end": self._mark(_Step.HEADER_END),
                "on_headers_finished": self._mark(_Step.HEAD_END),
                "on_part_data": self._data(_Step.DATA),
                "on_part_end": self._mark(_Step.END),
                "on_end": self._end,
            },
            max_header_count=_HEADERS_MOST,
            max_header_size=_HEADER_MOST,
        )

    async def next(self) -> tuple[_Step, bytes] | None:
        """What comes next in the form; None behind its end."""
        while not self._waiting:
            piece = await anext(self._pieces, None)
            if piece is None:
                if not self._ended:
                    raise _broken("it ends in the middle")
                return None
            self._feed(piece)
        return self._waiting.popleft()

    def _feed(self, piece: bytes) -> None:
        try:
            self._parser.write(piece)
        except FormParserError as error:
            raise _broken(str(error)[:200]) from error

    def _mark(self, step: _Step) -> Callable[[], None]:
        return lambda: self._waiting.append((step, b""))

    def _data(self, step: _Step) -> Callable[[bytes, int, int], None]:
        return lambda data, start, end: self._waiting.append((step, data[start:end]))

    def _end(self) -> None:
        self._ended = True


@dataclass(frozen=True, slots=True)
class _Head:
    name: str
    file_name: str | None
    media_type: str

    @property
    def is_text(self) -> bool:
        """Whether it is a field. Scripts can send JSON only as something that looks like a file."""
        return self.file_name is None or (
            self.name == JSON_PART and self.media_type == "application/json"
        )


class FormReader:
    """Reads one form for one caller."""

    def __init__(self, client: Client, limits: Limits, caller: Caller) -> None:
        self._client = client
        self._limits = limits
        self._caller = caller
        self._form = Form()
        self._count = 0
        self._text_bytes = 0

    async def read(self, exchange: Exchange, receive: Any) -> Form:
        """The whole form. Raises Problem at the first thing that is wrong.

        The files of a refused form were staged and are referred to by nothing: the sweeper of
        unreferenced blobs removes them after a day.
        """
        check_plain(exchange)
        pieces = body_pieces(exchange, receive, self._limits.multipart_bytes)
        steps = _Steps(_boundary(exchange), pieces)
        while (step := await steps.next()) is not None:
            if step[0] is not _Step.BEGIN:
                raise _broken("a part does not begin")
            head = await _head(steps)
            if head.is_text:
                await self._field(head, steps)
            elif head.file_name:
                await self._file(head, steps)
            else:
                await self._nothing(steps)
        return self._form

    async def _nothing(self, steps: _Steps) -> None:
        # What a browser sends for a file that nobody chose.
        self._count_field()
        async for piece in _content(steps):
            if piece:
                raise _broken("a file has no name")

    async def _field(self, head: _Head, steps: _Steps) -> None:
        self._count_field()
        pieces = []
        async for piece in _content(steps):
            self._text_bytes += len(piece)
            if self._text_bytes > self._limits.json_bytes:
                raise too_large("text of the form's fields", self._limits.json_bytes)
            pieces.append(piece)
        try:
            text = b"".join(pieces).decode()
        except UnicodeDecodeError as error:
            raise _broken(f'the field "{head.name}" is not UTF-8') from error
        self._form.fields.setdefault(head.name, []).append(text)

    def _count_field(self) -> None:
        self._count += 1
        if self._count > FIELDS_MOST:
            raise Problem(Kind.TOO_LARGE, f"A form has at most {FIELDS_MOST} fields.")

    async def _file(self, head: _Head, steps: _Steps) -> None:
        limits = self._limits
        if len(self._form.uploads) >= limits.files:
            raise Problem(Kind.TOO_LARGE, f"A form has at most {limits.files} files.")
        try:
            record = await self._client.upload(
                base_name(head.file_name or JSON_PART),
                head.media_type,
                _content(steps),
                caller=self._caller,
                limit=limits.file_bytes,
            )
        except ValueError:
            raise too_large("file", limits.file_bytes) from None
        self._form.files.setdefault(head.name, []).append(record)


def base_name(name: str) -> str:
    """A file's name without folders and control characters; what can't be a name is "file"."""
    last = name.replace("\\", "/").rpartition("/")[2]
    shown = "".join(letter for letter in last if letter.isprintable()).strip()
    if len(shown) > _NAME_MOST:
        stem, dot, ending = shown.rpartition(".")
        keeps = dot and len(ending) <= 16
        shown = f"{stem[: _NAME_MOST - 17]}.{ending}" if keeps else shown[:_NAME_MOST]
    return "file" if shown in {"", ".", ".."} else shown


def _boundary(exchange: Exchange) -> bytes:
    _, parameters = parse_options_header(exchange.text(b"content-type") or "")
    boundary = parameters.get(b"boundary", b"")
    if not 1 <= len(boundary) <= 70:
        raise _broken("its Content-Type names no boundary of 1 to 70 characters")
    return boundary


async def _head(steps: _Steps) -> _Head:
    headers: dict[bytes, bytes] = {}
    name, value = bytearray(), bytearray()
    while True:
        step, data = await _expected(steps)
        if step is _Step.FIELD:
            name += data
        elif step is _Step.VALUE:
            value += data
        elif step is _Step.HEADER_END:
            headers[bytes(name).lower()] = bytes(value)
            name.clear()
            value.clear()
        else:
            break
    return _parsed_head(headers)


def _parsed_head(headers: dict[bytes, bytes]) -> _Head:
    kind, parameters = parse_options_header(headers.get(b"content-disposition", b""))
    if kind != b"form-data" or b"name" not in parameters:
        raise _broken("a part has no Content-Disposition of form-data with a name")
    encoding = headers.get(b"content-transfer-encoding", b"").decode("latin-1").strip().lower()
    if encoding not in _PLAIN_ENCODINGS:
        raise _broken("a part has a Content-Transfer-Encoding; send it as it is")
    file_name = parameters.get(b"filename")
    media_type = headers.get(b"content-type", b"").decode("latin-1").strip()
    return _Head(
        parameters[b"name"].decode("utf-8", "replace")[:_NAME_MOST],
        None if file_name is None else file_name.decode("utf-8", "replace"),
        _clean_media_type(media_type),
    )


def _clean_media_type(text: str) -> str:
    plain = text.partition(";")[0].strip().lower()
    main, slash, sub = plain.partition("/")
    fits = len(plain) <= 100 and all(part and _is_token(part) for part in (main, sub))
    return plain if slash and fits else "application/octet-stream"


def _is_token(text: str) -> bool:
    return text.isascii() and all(letter.isalnum() or letter in "!#$&-^_.+" for letter in text)


async def _content(steps: _Steps) -> AsyncIterator[bytes]:
    while True:
        step, data = await _expected(steps)
        if step is _Step.DATA:
            yield data
        elif step is _Step.END:
            return
        else:
            raise _broken("a part does not end")


async def _expected(steps: _Steps) -> tuple[_Step, bytes]:
    step = await steps.next()
    if step is None:
        raise _broken("it ends in the middle")
    return step


def _broken(why: str) -> Problem:
    return Problem(Kind.BAD_REQUEST, f"The form can't be read: {why}.")
