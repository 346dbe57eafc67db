"""A file in a task's input, as handlers see it."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, Protocol, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from stagepost.records import UploadRecord


class FileSource(Protocol):
    """Where a running handler's files come from."""

    async def path(self, key: str) -> Path:
        """A local file with the upload's bytes, for reading only."""
        ...


SOURCE: Final[ContextVar[FileSource]] = ContextVar("stagepost_files")
"""Set while a handler runs."""

STORED: Final = "stored"
"""Validation context key: the input comes from the store and may name uploads in full."""

KNOWN: Final = "uploads"
"""Validation context key: a function from an id to the caller's upload, or None."""

_ONE: Final = "Send the file as a part of a form, or the id of an upload of yours."
_ONE_ONLY: Final = "Send one file only: this field takes no list of files."
NOT_SENT_TEXTS: Final = frozenset({_ONE, _ONE_ONLY})
"""What is said where a file should be and is not."""

Known = Callable[[str], UploadRecord | None]


class Upload(BaseModel):
    """A file that a caller sent with an input; `size` is in bytes.

    In JSON from a caller it is the upload's id; in a form, the file part of the field's name.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    upload_id: str = Field(alias="uploadId")
    name: str
    media_type: str = Field(alias="mediaType")
    size: int
    sha256: str

    async def path(self) -> Path:
        """A local copy to read from; never the caller's own path. Only while a handler runs."""
        return await SOURCE.get().path(self.upload_id)

    async def read(self) -> bytes:
        """The whole file. Only while a handler runs."""
        path = await self.path()
        return await asyncio.to_thread(path.read_bytes)

    @classmethod
    def of(cls, record: UploadRecord) -> "Upload":
        """The upload that a record tells of."""
        return cls.model_validate(_fields_of(record), context={STORED: True})

    @model_validator(mode="wrap")
    @classmethod
    def _resolve(
        cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        context = info.context or {}
        if isinstance(value, cls) or context.get(STORED):
            return handler(value)
        known: Known | None = context.get(KNOWN)
        # Of an upload as a task shows it only the id counts: all else is known here.
        name = value.get("uploadId") if isinstance(value, dict) else value
        record = known(name) if known is not None and isinstance(name, str) else None
        if record is None:
            raise PydanticCustomError("upload", _ONE_ONLY if isinstance(value, list) else _ONE)
        return handler(cls.of(record))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Callers send an id, or a file part."""
        return {
            "type": "string",
            "format": "binary",
            "description": "A file part of a form, or the id of an upload.",
        }


def _fields_of(record: UploadRecord) -> dict[str, Any]:
    return {
        "uploadId": record.upload_id,
        "name": record.name,
        "mediaType": record.media_type,
        "size": record.size,
        "sha256": record.sha256,
    }
