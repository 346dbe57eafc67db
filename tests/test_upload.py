"""Uploads in inputs: only what the caller has sent, however it is named."""

from typing import Any

import pytest
from pydantic import BaseModel

from stagepost import App, Context, Upload
from stagepost.errors import Invalid
from stagepost.records import UploadRecord

RECORD = UploadRecord(
    "01900000-0000-7000-8000-000000000001", "acme", "a.pdf", "application/pdf", 3, "f00"
)
FULL = {
    "uploadId": RECORD.upload_id,
    "name": "a.pdf",
    "mediaType": "application/pdf",
    "size": 3,
    "sha256": "f00",
}

app = App()


class Files(BaseModel):
    file: Upload
    more: list[Upload] = []
    free: dict[str, Any] = {}


@app.task("files")
async def files(ctx: Context, request: Files) -> None: ...


def known(name: str) -> UploadRecord | None:
    return RECORD if name == RECORD.upload_id else None


def test_an_id_becomes_what_is_known_of_it() -> None:
    value = app.get("files").parse({"file": RECORD.upload_id, "more": [RECORD.upload_id]}, known)
    assert value.file.model_dump(by_alias=True) == FULL
    assert value.more == [value.file]


def test_an_upload_as_a_task_shows_it_is_taken_by_its_id_alone() -> None:
    forged = {**FULL, "name": "other", "size": 99, "sha256": "bad"}
    value = app.get("files").parse({"file": forged}, known)
    assert value.file.model_dump(by_alias=True) == FULL


@pytest.mark.parametrize(
    "forged",
    [
        {**FULL, "uploadId": "01900000-0000-7000-8000-000000000002"},
        "01900000-0000-7000-8000-000000000002",
        {**FULL, "upload_id": RECORD.upload_id, "uploadId": ["x"]},
        "/etc/passwd",
        5,
        None,
    ],
)
def test_what_the_caller_has_not_sent_is_refused(forged: Any) -> None:
    for known_here in (known, None):
        with pytest.raises(Invalid) as refused:
            app.get("files").parse({"file": forged}, known_here)
        assert refused.value.errors[0][0] == ("file",)


def test_nobody_makes_an_upload_by_hand() -> None:
    with pytest.raises(ValueError, match="Send the file"):
        Upload(**FULL)


def test_what_is_kept_is_read_again_as_it_was() -> None:
    task_type = app.get("files")
    value = task_type.parse({"file": RECORD.upload_id, "free": {"file": FULL}}, known)
    again = task_type.load(task_type.dump(value))
    assert again == value
    assert again.free == {"file": FULL}


def test_the_schema_tells_callers_to_send_text() -> None:
    schema = app.get("files").input_schema()
    assert schema["$defs"]["Upload"]["type"] == "string"
