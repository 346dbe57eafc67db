"""A batch's inputs on their way from a request into a file, each validated, a few at a time."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, NamedTuple

import orjson

from stagepost.children import MOST_CHILDREN
from stagepost.errors import Invalid
from stagepost.inputs import ids_in, input_text
from stagepost.records import UploadRecord
from stagepost.settings import Limits
from stagepost.store import Store
from stagepost.task_type import TaskType
from stagepost.web.exchange import Exchange
from stagepost.web.limits import body_pieces, parse_json, too_large
from stagepost.web.problems import Kind, Problem, pointer

_TOGETHER: Final = 100  # inputs that are validated and written at once, and their bytes at most
_BYTES_TOGETHER: Final = 1024 * 1024


class Given(NamedTuple):
    """An input, where it stands for a person, and where in the document.

    `size` is what it adds in bytes to what is held: nothing, where a whole body is held anyway.
    """

    value: Any
    name: str
    place: tuple[str | int, ...]
    size: int = 0


async def given(values: Sequence[Any]) -> AsyncIterator[Given]:
    """The inputs of a body of JSON."""
    for index, value in enumerate(values):
        yield Given(value, f"Input {index}", ("inputs", index))


async def lines_of(exchange: Exchange, receive: Any, limits: Limits) -> AsyncIterator[Given]:
    """The inputs of a body of JSON Lines as they arrive; empty lines are passed over."""
    number = 0
    async for line in _lines(exchange, receive, limits):
        number += 1
        if not line.strip():
            continue
        try:
            value = parse_json(line, limits.json_depth)
        except Problem as problem:
            told = problem.detail.replace("The body", "It")
            raise Problem(problem.kind, f"Line {number} can't be read. {told}") from problem
        yield Given(value, f"Line {number}", (number - 1,), len(line))


async def _lines(exchange: Exchange, receive: Any, limits: Limits) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in body_pieces(exchange, receive, limits.file_bytes):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            _check_line(line, limits)
            yield line
        _check_line(rest, limits)
    if rest:
        yield rest


def _check_line(line: bytes, limits: Limits) -> None:
    if len(line) > limits.json_bytes:
        raise too_large("line", limits.json_bytes)


class Inputs:
    """Validates inputs of one type; `count` says how many there were."""

    def __init__(
        self, task_type: TaskType, store: Store, tenant: str, values: AsyncIterator[Given]
    ) -> None:
        self._task_type = task_type
        self._store = store
        self._tenant = tenant
        self._values = values
        self.count = 0

    async def checked(self) -> AsyncIterator[bytes]:
        """Lines of JSON. Raises Problem at the first input that is not valid.

        JSON takes many times its text's memory, and all of a piece is looked at in one turn of the
        event loop: so a piece is small, and nothing is left of it once it was given.
        """
        async for together in self._groups():
            piece = await self._check(together)
            together.clear()
            yield piece

    async def _groups(self) -> AsyncIterator[list[Given]]:
        together: list[Given] = []
        size = 0
        async for value in self._values:
            self.count += 1
            if self.count > MOST_CHILDREN:
                raise Problem(
                    Kind.TOO_LARGE, f"A batch has at most {MOST_CHILDREN:,} inputs; send several."
                )
            full = len(together) == _TOGETHER or size + value.size > _BYTES_TOGETHER
            if together and full:
                yield together
                together, size = [], 0
            together.append(value)
            size += value.size
        yield together

    async def _check(self, together: Sequence[Given]) -> bytes:
        uploads = await self._uploads(together)
        for each in together:
            try:
                input_text(self._task_type, each.value, uploads)
            except Invalid as error:
                raise _invalid(each, error) from error
        return b"".join(
            orjson.dumps(each.value, option=orjson.OPT_APPEND_NEWLINE) for each in together
        )

    async def _uploads(self, together: Sequence[Given]) -> Sequence[UploadRecord]:
        if not self._task_type.file_names():
            return ()
        ids = [upload_id for each in together for upload_id in ids_in(each.value)]
        return await self._store.uploads(self._tenant, ids)


def _invalid(each: Given, error: Invalid) -> Problem:
    faults = [
        {"detail": text, "pointer": pointer((*each.place, *where))} for where, text in error.errors
    ]
    return Problem(Kind.VALIDATION, f"{each.name} is not valid: {error}", faults=faults)
