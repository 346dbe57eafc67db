"""Multipart forms: files into uploads, fields into the input, nonsense refused."""

import hashlib
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from stagepost import App, Upload
from stagepost.records import Filter, Scope
from stagepost.web.forms import base_name
from web.kit import API, BASE, Engine, Session, engine_in, http

ALL = Scope(None)
REVIEW = f"{API}/tasks/review"
FORM = {"content-type": "multipart/form-data; boundary=b"}


def part(disposition: str, content: bytes = b"", *headers: str) -> bytes:
    lines = [f"Content-Disposition: {disposition}", *headers]
    return b"--b\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n"


FILE = part('form-data; name="file"; filename="a.txt"', b"hello", "Content-Type: text/plain")
END = b"--b--\r\n"


async def input_of(client: httpx.AsyncClient, response: httpx.Response) -> Any:
    assert response.status_code == 202, response.text
    return (await client.get(response.headers["location"])).json()["input"]


class TestFiles:
    async def test_a_file_fills_the_field_of_its_name(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        response = await client.post(
            REVIEW, files={"file": ("contract.pdf", b"%PDF-1.7", "application/pdf")}
        )
        value = await input_of(client, response)

        assert value["file"] == {
            "uploadId": value["file"]["uploadId"],
            "name": "contract.pdf",
            "mediaType": "application/pdf",
            "size": 8,
            "sha256": hashlib.sha256(b"%PDF-1.7").hexdigest(),
        }
        assert await engine.blobs.get(value["file"]["uploadId"]) == b"%PDF-1.7"

    async def test_several_of_one_name_fill_a_list(self, client: httpx.AsyncClient) -> None:
        files = [("file", ("a", b"1")), ("more", ("b", b"2")), ("more", ("c", b"3"))]
        value = await input_of(client, await client.post(REVIEW, files=files))

        assert [file["name"] for file in value["more"]] == ["b", "c"]

    async def test_one_fills_a_list_too(self, client: httpx.AsyncClient) -> None:
        files = [("file", ("a", b"1")), ("more", ("b", b"2"))]
        value = await input_of(client, await client.post(REVIEW, files=files))

        assert [file["name"] for file in value["more"]] == ["b"]

    async def test_a_file_of_binary_content_comes_back_as_it_was(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        content = bytes(range(256)) * 999 + b"\r\n--b\r\n--other--\r\n\r\n"
        value = await input_of(client, await client.post(REVIEW, files={"file": ("a", content)}))

        assert await engine.blobs.get(value["file"]["uploadId"]) == content

    async def test_a_file_that_fills_nothing_is_refused(
        self, engine: Engine, client: httpx.AsyncClient
    ) -> None:
        files = {"file": ("a", b"1"), "flie": ("b", b"2")}
        response = await client.post(REVIEW, files=files)

        assert response.status_code == 422
        assert response.json()["errors"][0]["pointer"] == "#/flie"
        assert (await client.get(f"{API}/tasks")).json()["items"] == []

    async def test_two_files_for_one_field_are_refused(self, client: httpx.AsyncClient) -> None:
        response = await client.post(REVIEW, files=[("file", ("a", b"1")), ("file", ("b", b"2"))])

        assert response.status_code == 422

    async def test_a_missing_file_is_named(self, client: httpx.AsyncClient) -> None:
        response = await client.post(
            REVIEW, content=part('form-data; name="side"', b"x") + END, headers=FORM
        )

        assert response.status_code == 422
        assert response.json()["errors"][0]["pointer"] == "#/file"

    async def test_a_file_that_nobody_chose_is_none(self, client: httpx.AsyncClient) -> None:
        nothing = part('form-data; name="more"; filename=""', b"", "Content-Type: x/y")
        response = await client.post(REVIEW, content=FILE + nothing + END, headers=FORM)

        assert (await input_of(client, response))["more"] == []

    async def test_its_id_works_in_json(self, client: httpx.AsyncClient) -> None:
        kept = await client.post(f"{API}/uploads", files={"any": ("../x/甲.txt", b"hello")})
        assert kept.status_code == 201
        assert list(kept.json()) == ["uploadId", "name", "bytes", "sha256"]
        assert (kept.json()["name"], kept.json()["bytes"]) == ("甲.txt", 5)
        for _ in range(2):
            response = await client.post(REVIEW, json={"file": kept.json()["uploadId"]})
            value = await input_of(client, response)
            assert value["file"]["uploadId"] == kept.json()["uploadId"]

    @pytest.mark.parametrize(
        "value", ["00000000-0000-7000-8000-000000000000", "", "/etc/passwd", None, 5, {"name": "x"}]
    )
    async def test_what_is_no_upload_is_refused(
        self, client: httpx.AsyncClient, value: Any
    ) -> None:
        response = await client.post(REVIEW, json={"file": value})

        assert response.status_code == 422
        assert response.json()["errors"][0]["pointer"].startswith("#/file")

    @pytest.mark.parametrize(
        "body",
        [
            END,
            FILE + FILE + END,
            FILE + part('form-data; name="x"', b"y") + END,
        ],
    )
    async def test_an_upload_is_one_file_and_nothing_else(
        self, client: httpx.AsyncClient, body: bytes
    ) -> None:
        response = await client.post(f"{API}/uploads", content=body, headers=FORM)
        assert response.status_code == 422
        as_json = await client.post(f"{API}/uploads", json={})
        assert as_json.status_code == 415


class TestNames:
    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("a.pdf", "a.pdf"),
            ("../../etc/passwd", "passwd"),
            ("/etc/passwd", "passwd"),
            ("C:\\Users\\me\\a.pdf", "a.pdf"),
            ("..\\..\\a.pdf", "a.pdf"),
            ("a\x00b\r\n.pdf", "ab.pdf"),
            ("..", "file"),
            (".", "file"),
            ("", "file"),
            ("x/", "file"),
            ("  ", "file"),
            ("合同.pdf", "合同.pdf"),
        ],
    )
    def test_a_name_is_never_a_path(self, given: str, kept: str) -> None:
        assert base_name(given) == kept

    @given(st.text(max_size=600))
    def test_whatever_comes(self, name: str) -> None:
        kept = base_name(name)

        assert 1 <= len(kept) <= 200
        assert kept.isprintable()
        assert not set(kept) & {"/", "\\", "\0"}
        assert kept not in {".", ".."}

    def test_a_long_name_keeps_its_ending(self) -> None:
        assert base_name("x" * 500 + ".docx").endswith("x.docx")

    async def test_on_the_wire(self, client: httpx.AsyncClient) -> None:
        body = part('form-data; name="file"; filename="../甲 \\"b\\".txt"', b"x") + END
        response = await client.post(REVIEW, content=body, headers=FORM)

        assert (await input_of(client, response))["file"]["name"] == '甲 "b".txt'


class Many(BaseModel):
    number: int
    ratio: float = 0.5
    yes: bool = False
    words: list[str] = []
    numbers: list[int] = []
    nested: dict[str, int] = {}
    rows: list[dict[str, int]] = []
    maybe: int | None = None
    file: Upload | None = None


class TestFields:
    @pytest.fixture
    async def posting(self, tmp_path: Path) -> Any:
        app = App()

        @app.task("many")
        async def many(ctx: Any, request: Many) -> Any:
            raise NotImplementedError

        async with engine_in(tmp_path, app=app) as engine, http(engine) as client:

            async def post(*fields: tuple[str, str]) -> httpx.Response:
                body = b"".join(
                    part(f'form-data; name="{name}"', text.encode()) for name, text in fields
                )
                return await client.post(f"{API}/tasks/many", content=body + END, headers=FORM)

            async def kept(*fields: tuple[str, str]) -> Any:
                return await input_of(client, await post(*fields))

            post.kept = kept  # type: ignore[attr-defined]
            yield post

    async def test_they_are_coerced(self, posting: Any) -> None:
        value = await posting.kept(
            ("number", "5"), ("ratio", "0.25"), ("yes", "true"), ("maybe", "7"),
            ("words", "a"), ("words", "[b]"), ("numbers", "1"), ("numbers", "2"),
            ("nested", '{"a": 1}'), ("rows", '{"a": 1}'), ("rows", '{"b": 2}'),
        )  # fmt: skip

        assert value == {
            "number": 5, "ratio": 0.25, "yes": True, "maybe": 7, "words": ["a", "[b]"],
            "numbers": [1, 2], "nested": {"a": 1}, "rows": [{"a": 1}, {"b": 2}], "file": None,
        }  # fmt: skip

    async def test_a_list_of_objects_may_come_as_one(self, posting: Any) -> None:
        value = await posting.kept(("number", "5"), ("rows", '[{"a": 1}, {"b": 2}]'))

        assert value["rows"] == [{"a": 1}, {"b": 2}]

    async def test_the_input_part_holds_json(self, posting: Any) -> None:
        value = await posting.kept(("input", '{"number": 5, "words": ["a"]}'), ("ratio", "2"))

        assert (value["number"], value["words"], value["ratio"]) == (5, ["a"], 2.0)

    @pytest.mark.parametrize(
        ("fields", "status"),
        [
            ([("number", "many")], 422),
            ([("number", "1"), ("number", "2")], 422),
            ([("number", "1"), ("nested", "x")], 422),
            ([("input", '{"number": 1}'), ("number", "1")], 422),
            ([("input", "[1]"), ("number", "1")], 422),
            ([("input", '{"number": 1}'), ("input", "{}")], 422),
            ([("input", "{")], 400),
            ([("input", "[" * 70 + "]" * 70)], 400),
            ([("input", "7")], 422),
        ],
    )
    async def test_what_does_not_fit_is_refused(
        self, posting: Any, fields: list[tuple[str, str]], status: int
    ) -> None:
        response = await posting(*fields)

        assert response.status_code == status, response.text
        assert response.headers["content-type"] == "application/problem+json"

    async def test_json_that_looks_like_a_file(self, client: httpx.AsyncClient) -> None:
        # A script can give a part a type only by making it a blob, which then has a file name.
        blob = part(
            'form-data; name="input"; filename="blob"',
            b'{"side": "partyA"}',
            "Content-Type: application/json",
        )
        response = await client.post(REVIEW, content=FILE + blob + END, headers=FORM)

        assert (await input_of(client, response))["side"] == "partyA"


class TestNonsense:
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"nonsense",
            b"--b",
            b"--b\r\n",
            b"--b\r\n\r\n",
            FILE,
            FILE[:-2],
            FILE + b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n" + END,
            FILE + part("attachment; name=x", b"y") + END,
            FILE + b"--b\r\n\r\nno headers\r\n" + END,
            FILE + b"--b\r\nbroken header\r\n\r\nx\r\n" + END,
            FILE + part('form-data; name="x"', b"\xff") + END,
            FILE + part('form-data; name="x"', b"eA==", "Content-Transfer-Encoding: base64") + END,
            FILE + part('form-data; name="x"; filename=""', b"content") + END,
            FILE + part('form-data; name="x"', b"y", f"X-Long: {'x' * 9000}") + END,
            FILE + part('form-data; name="x"', b"y", *[f"X-{n}: y" for n in range(20)]) + END,
            part(f'form-data; name="{"n" * 5000}"', b"y") + FILE + END,
        ],
    )
    async def test_a_broken_form_is_refused_whole(
        self, client: httpx.AsyncClient, body: bytes
    ) -> None:
        response = await client.post(REVIEW, content=body, headers=FORM)

        assert (response.status_code, response.json()["type"]) == (
            400,
            "urn:stagepost:problem:bad-request",
        )
        assert (await client.get(f"{API}/tasks")).json()["items"] == []

    @pytest.mark.parametrize(
        "content_type",
        [
            "multipart/form-data",
            "multipart/form-data; boundary=",
            f"multipart/form-data; boundary={'b' * 71}",
            "multipart/form-data; boundary*=b",
        ],
    )
    async def test_a_form_without_a_boundary(
        self, client: httpx.AsyncClient, content_type: str
    ) -> None:
        response = await client.post(
            REVIEW, content=FILE + END, headers={"content-type": content_type}
        )

        assert response.status_code == 400

    def test_no_nonsense_is_a_fault_of_ours(self, session: Session) -> None:
        """Cut, repeated, flipped and torn forms: each gets an answer, and never a 500."""
        whole = (
            FILE
            + part('form-data; name="side"', b"partyA")
            + part('form-data; name="input"', orjson.dumps({"pages": 5}))
            + END
        )

        @settings(max_examples=200, deadline=None)
        @given(
            st.lists(
                st.tuples(
                    st.sampled_from(["cut", "insert", "drop", "repeat"]),
                    st.integers(0, len(whole)),
                    st.binary(max_size=12) | st.sampled_from([b"--b", b"\r\n", b"--", b'"', b";"]),
                ),
                max_size=4,
            ),
            st.integers(1, 80),
        )
        def torn(changes: list[tuple[str, int, bytes]], size: int) -> None:
            body = whole
            for kind, at, extra in changes:
                body = {
                    "cut": body[:at],
                    "insert": body[:at] + extra + body[at:],
                    "drop": body[:at] + body[at + len(extra) :],
                    "repeat": body[:at] + body[max(0, at - 40) :],
                }[kind]
            session.run(_post_torn(session, body, size))

        torn()


async def _post_torn(session: Session, body: bytes, size: int) -> None:
    async def pieces() -> Any:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    transport = httpx.ASGITransport(session.app)
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
        before = len(await session.engine.store.find(ALL, Filter(limit=1000)))
        response = await client.post(REVIEW, content=pieces(), headers=FORM)
        after = len(await session.engine.store.find(ALL, Filter(limit=1000)))
    assert response.status_code in {202, 400, 413, 422}, response.text
    assert after - before == (1 if response.status_code == 202 else 0)
