"""From a handler's wish to the page that the store makes, and whose files its inputs name."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid5

import orjson
import pytest
from pydantic import BaseModel

from stagepost import App, Context, Upload
from stagepost.child_pages import ChildPages
from stagepost.errors import Invalid
from stagepost.journal import NewChildren
from stagepost.records import UploadRecord

FILES = [
    UploadRecord(f"{uuid5(UUID(int=0), name)}", "acme", name, "application/pdf", 7, "sha")
    for name in ("a.pdf", "b.pdf")
]


class Shelf:
    """The part of a store that knows uploads."""

    async def uploads(self, tenant: str, upload_ids: Sequence[str]) -> Sequence[UploadRecord]:
        return [each for each in FILES if each.tenant == tenant and each.upload_id in upload_ids]


class Pair(BaseModel):
    first: Upload
    second: Upload | None = None
    note: str = ""


app = App()


@app.task("compare")
async def compare(ctx: Context, pair: Pair) -> None:
    del ctx, pair


@app.task("plain")
async def plain(ctx: Context, value: dict[str, str]) -> None:
    del ctx, value


def asked(kind: str, *inputs: dict[str, Any]) -> NewChildren:
    texts = tuple(orjson.dumps(value).decode() for value in inputs)
    return NewChildren("p", kind, None, False, None, "", 0, texts, "", "digest", True)


def pages() -> ChildPages:
    store: Any = Shelf()
    return ChildPages(app, store, ())


async def test_each_child_has_the_files_that_its_input_names() -> None:
    one, two = (each.upload_id for each in FILES)
    inputs = [{"first": one, "second": two}, {"first": two, "note": two}, {"first": one}]
    page = await pages().page("acme", asked("compare", *inputs))
    ids = [child_id for child_id, _ in page.children]
    assert set(page.uploads) == set(ids)
    assert sorted(page.uploads[ids[0]]) == sorted(FILES)
    assert [page.uploads[each] for each in ids[1:]] == [(FILES[1],), (FILES[0],)]


async def test_a_type_without_files_uses_none() -> None:
    page = await pages().page("acme", asked("plain", {"text": FILES[0].upload_id}))
    assert not page.uploads


async def test_files_of_another_tenant_are_none() -> None:
    with pytest.raises(Invalid):
        await pages().page("bolt", asked("compare", {"first": FILES[0].upload_id}))
