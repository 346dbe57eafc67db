"""The HTTP client against servers and proxies that misbehave."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from stagepost.remote import (
    FilePart,
    News,
    Refused,
    Remote,
    SubmitOptions,
    Unreachable,
    Where,
    local_name,
    named,
    placed,
)
from stagepost.remote.files import FileField, file_fields

URL = "http://stagepost.test"
ID = "01890000-0000-7000-8000-000000000000"
ACCEPTED = {"taskId": ID, "type": "say", "status": "QUEUED", "lane": "interactive"}

Handler = Callable[[httpx.Request], Any]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("transport", "following"):
        monkeypatch.setattr(f"stagepost.remote.{module}._FIRST_DELAY", 0.0)
        monkeypatch.setattr(f"stagepost.remote.{module}._MOST_DELAY", 0.0)


class Script:
    """A server that answers one thing after the other and keeps what it was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[httpx.Request] = []
        self.bodies: list[bytes] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        self.bodies.append(await request.aread())
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def remote(self, key: str = "") -> Remote:
        return Remote(URL, key, httpx.MockTransport(self))


def problem(status: int, slug: str, detail: str, **more: Any) -> httpx.Response:
    body = {"type": f"urn:stagepost:problem:{slug}", "status": status, "detail": detail, **more}
    return httpx.Response(
        status, content=json.dumps(body), headers={"content-type": "application/problem+json"}
    )


def ok(value: Any, **headers: str) -> httpx.Response:
    return httpx.Response(200, json=value, headers=headers)


# Requests and answers


async def test_a_submit_whose_answer_was_lost_is_asked_for_again_under_one_key() -> None:
    script = Script(
        httpx.ReadError("reset"),
        httpx.ReadTimeout("late"),
        problem(503, "unavailable", "Full."),
        httpx.Response(202, json=ACCEPTED),
    )
    async with script.remote() as remote:
        assert (await remote.submit("say", {"word": "x"}))["taskId"] == ID
    keys = {request.headers["idempotency-key"] for request in script.asked}
    assert len(script.asked) == 4
    assert len(keys) == 1
    assert set(script.bodies) == {b'{"word":"x"}'}


async def test_two_submits_have_two_keys() -> None:
    script = Script(httpx.Response(202, json=ACCEPTED))
    async with script.remote() as remote:
        await remote.submit("say")
        await remote.submit("say")
    assert len({request.headers["idempotency-key"] for request in script.asked}) == 2


async def test_a_submit_of_unknown_fate_says_how_to_find_out() -> None:
    script = Script(httpx.ReadError("reset"))
    async with script.remote() as remote:
        with pytest.raises(Unreachable, match=r"may have been accepted.*--idempotency-key mine"):
            await remote.submit("say", options=SubmitOptions(idempotency_key="mine"))
    assert len(script.asked) == 5


async def test_a_submit_without_room_has_left_nothing_behind() -> None:
    script = Script(problem(429, "too-many", "The tenant has 5 tasks that wait to start."))
    async with script.remote() as remote:
        with pytest.raises(Unreachable, match=r"5 tasks that wait to start\.$"):
            await remote.submit("say")


async def test_files_are_sent_whole_at_each_try(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Sir")
    script = Script(httpx.ReadError("reset"), httpx.Response(202, json=ACCEPTED))
    async with script.remote() as remote:
        await remote.submit("read", {"note": "n"}, [FilePart("file", letter)])
    for body in script.bodies:
        assert b'name="file"; filename="letter.txt"' in body
        assert b"text/plain" in body
        assert b"Dear Sir" in body
        assert b'name="input"' in body
    assert len(script.bodies) == 2


async def test_options_go_into_the_query() -> None:
    script = Script(httpx.Response(202, json=ACCEPTED))
    options = SubmitOptions(
        lane="batch", priority=0, delay=1.5, tags=("a", "b"), unique_key="k", debounce=2.5
    )
    async with script.remote() as remote:
        await remote.submit("say", options=options)
    assert script.asked[0].url.params.multi_items() == [
        ("lane", "batch"),
        ("priority", "0"),
        ("delaySeconds", "1.5"),
        ("uniqueKey", "k"),
        ("debounceSeconds", "2.5"),
        ("tag", "a"),
        ("tag", "b"),
    ]


async def test_a_read_is_tried_again_and_a_change_is_not() -> None:
    reading = Script(
        httpx.ReadError("reset"), problem(503, "unavailable", "Full."), ok({"progress": 1})
    )
    async with reading.remote() as remote:
        assert (await remote.status(ID))["progress"] == 1
    changing = Script(httpx.ReadError("reset"))
    async with changing.remote() as remote:
        with pytest.raises(Unreachable, match="broke off"):
            await remote.cancel(ID)
    assert len(changing.asked) == 1


async def test_nobody_there_is_said_at_once() -> None:
    script = Script(httpx.ConnectError("refused"))
    async with script.remote() as remote:
        with pytest.raises(
            Unreachable, match=r"No server answers at http://stagepost\.test; start"
        ):
            await remote.submit("say")
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (problem(404, "not-found", "There is no such task."), "There is no such task."),
        (problem(401, "unauthorized", "No key."), "No key. Set it as STAGEPOST_API_KEY."),
        (
            problem(
                422,
                "validation",
                "It does not fit.",
                errors=[{"detail": "too short", "pointer": "#/a/b"}] * 5,
            ),
            "It does not fit. (a.b: too short; a.b: too short; a.b: too short; and 2 more)",
        ),
        (
            problem(422, "validation", "No.", errors=[{"detail": "No.", "parameter": "lane"}]),
            "No.",
        ),
        (problem(409, "conflict", "two\nlines"), "two lines"),
        (
            httpx.Response(404, text="<html>"),
            "http://stagepost.test does not answer as a Stagepost server (404); check --url.",
        ),
    ],
)
async def test_a_refusal_is_one_sentence(answer: httpx.Response, told: str) -> None:
    async with Script(answer).remote() as remote:
        with pytest.raises(Refused) as refused:
            await remote.task(ID)
    assert str(refused.value) == told
    assert refused.value.status == answer.status_code


async def test_an_answer_that_is_no_json_is_no_traceback() -> None:
    async with Script(httpx.Response(200, text="<html>")).remote() as remote:
        with pytest.raises(Unreachable, match="does not answer as a Stagepost server"):
            await remote.task(ID)


async def test_the_key_goes_with_each_request() -> None:
    script = Script(ok({}))
    async with script.remote("sp_live_x") as remote:
        await remote.status(ID)
    assert script.asked[0].headers["authorization"] == "Bearer sp_live_x"


async def test_an_id_never_leaves_its_place_in_the_path() -> None:
    script = Script(ok({}))
    async with script.remote() as remote:
        await remote.status("../../keys?x=1")
    assert script.asked[0].url.raw_path == b"/api/v1/tasks/..%2F..%2Fkeys%3Fx%3D1/status"


async def test_lists_are_read_to_their_end() -> None:
    script = Script(
        ok({"items": [{"taskId": "1"}, {"taskId": "2"}], "next": "k"}),
        ok({"items": [{"taskId": "3"}], "next": None}),
    )
    async with script.remote() as remote:
        found = remote.tasks(Where(status=("RUNNING", "FAILED")))
        assert [task["taskId"] async for task in found] == ["1", "2", "3"]
    assert script.asked[1].url.params.get_list("status") == ["RUNNING", "FAILED"]
    assert script.asked[1].url.params["after"] == "k"


async def test_a_download_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise httpx.ReadError("reset")

    target = tmp_path / "result.json"
    async with Script(httpx.Response(200, content=broken())).remote() as remote:
        with pytest.raises(Unreachable):
            await remote.save_result(ID, target)
    assert list(tmp_path.iterdir()) == []
    async with Script(httpx.Response(200, content=b"whole")).remote() as remote:
        assert await remote.save_result(ID, target) == 5
    assert target.read_bytes() == b"whole"


# Following


def stream(*events: tuple[str, Any, int | None], then: Exception | None = None) -> httpx.Response:
    async def content() -> AsyncIterator[bytes]:
        yield b"retry: 2000\n\n: hello\n\n"
        for name, data, seq in events:
            number = "" if seq is None else f"id: {seq}\n"
            yield f"{number}event: {name}\ndata: {json.dumps(data)}\n\n".encode()
        if then is not None:
            raise then

    return httpx.Response(
        200, content=content(), headers={"content-type": "text/event-stream; charset=utf-8"}
    )


SNAPSHOT = {"status": "RUNNING", "final": False, "seq": 2}


async def follow(script: Script, after: int | None = None) -> list[News]:
    async with script.remote() as remote:
        return [news async for news in remote.follow(ID, after)]


async def test_a_stream_is_resumed_without_gap_or_repeat() -> None:
    script = Script(
        stream(("status", SNAPSHOT, 2), ("progress", {"n": 3}, 3), then=httpx.ReadError("cut")),
        httpx.ReadError("still away"),
        stream(
            ("status", SNAPSHOT, None),
            ("progress", {"n": 3}, 3),
            ("token", {"text": "x"}, None),
            ("progress", {"n": 4}, 4),
        ),
        stream(("status", SNAPSHOT, None), ("completed", {"result": 1}, 5)),
    )
    seen = await follow(script)
    assert [(news.event, news.seq) for news in seen if news.seq is not None] == [
        ("progress", 3),
        ("progress", 4),
        ("completed", 5),
    ]
    assert [news.event for news in seen].count("away") == 2
    assert [request.headers.get("last-event-id") for request in script.asked] == [
        None,
        "3",
        "3",
        "4",
    ]


async def test_a_fresh_stream_of_a_task_that_is_over_ends_by_itself() -> None:
    script = Script(stream(("status", {"final": True, "seq": 6}, 6), ("completed", {}, 7)))
    assert [news.event for news in await follow(script)] == ["status", "completed"]


async def test_after_the_last_event_there_is_nothing() -> None:
    assert await follow(Script(httpx.Response(204)), after=7) == []


async def test_an_unknown_number_starts_anew_where_the_server_says() -> None:
    script = Script(
        stream(
            ("status", {**SNAPSHOT, "reset": True}, None),
            ("progress", {}, 3),
            ("cancelled", {}, 4),
        )
    )
    assert [news.seq for news in await follow(script, after=900)] == [None, 3, 4]


async def test_a_stream_that_is_cut_again_and_again_gives_way_to_polling() -> None:
    final = {**SNAPSHOT, "status": "COMPLETED", "final": True}
    script = Script(
        *(stream(("status", SNAPSHOT, 2)) for _ in range(3)),
        ok(SNAPSHOT, etag='"1"'),
        httpx.Response(304, headers={"etag": '"1"'}),
        ok(final, etag='"2"'),
    )
    seen = await follow(script)
    assert seen[-1] == News("status", final)
    paths = [request.url.path.rpartition("/")[2] for request in script.asked]
    assert paths == ["progress"] * 3 + ["status"] * 3
    assert [request.headers.get("if-none-match") for request in script.asked[3:]] == [
        None,
        '"1"',
        '"1"',
    ]
    assert script.asked[4].url.params["wait"] == "20"


async def test_a_stream_that_is_cut_now_and_then_is_no_reason_to_poll() -> None:
    script = Script(
        *(stream(("status", SNAPSHOT, None), ("progress", {}, n)) for n in range(3, 9)),
        stream(("status", SNAPSHOT, None), ("completed", {}, 9)),
    )
    seen = await follow(script, after=2)
    assert [news.seq for news in seen if news.seq] == list(range(3, 10))


async def test_a_server_that_was_away_is_streamed_from_again() -> None:
    script = Script(
        *(httpx.ConnectError("refused") for _ in range(5)),
        stream(("status", SNAPSHOT, 2), ("completed", {}, 3)),
    )
    assert [news.event for news in await follow(script)][-2:] == ["status", "completed"]


async def test_what_is_no_stream_is_polled_at_once() -> None:
    script = Script(
        httpx.Response(200, text="<html>", headers={"content-type": "text/html"}),
        ok({**SNAPSHOT, "final": True}),
    )
    assert [news.event for news in await follow(script)] == ["status"]


async def test_a_refusal_ends_the_following() -> None:
    script = Script(problem(404, "not-found", "No such task."))
    with pytest.raises(Refused, match="No such task"):
        await follow(script)


async def test_a_busy_server_is_asked_again() -> None:
    script = Script(
        problem(503, "unavailable", "Stopping."), stream(("status", SNAPSHOT, 2), ("failed", {}, 3))
    )
    assert [news.event for news in await follow(script)] == ["away", "status", "failed"]


async def test_a_server_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stagepost.remote.following._AWAY", 0.05)
    with pytest.raises(Unreachable, match="No server answers"):
        await follow(Script(httpx.ConnectError("refused")))


# Files


def test_bare_files_take_the_free_fields_in_order(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).touch()
    a, b, c = (str(tmp_path / name) for name in "abc")
    fields = [FileField("one"), FileField("many", several=True)]
    filled = placed(named([a, b, c]), fields)
    assert [(part.field, part.path.name) for part in filled] == [
        ("one", "a"),
        ("many", "b"),
        ("many", "c"),
    ]
    filled = placed(named([a, f"one={b}"]), fields)
    assert [(part.field, part.path.name) for part in filled] == [("many", "a"), ("one", "b")]
    assert placed(named([a]), [])[0].field == "file"
    with pytest.raises(ValueError, match=r"no field left for .*/b: the task type takes"):
        placed(named([a, b]), [FileField("one")])


def test_file_fields_come_from_the_servers_document() -> None:
    schema = {
        "properties": {
            "side": {"type": "string"},
            "before": {"type": "string", "format": "binary"},
            "after": {"anyOf": [{"$ref": "#/components/schemas/Upload"}, {"type": "null"}]},
            "papers": {"type": "array", "items": {"$ref": "#/components/schemas/Upload"}},
        }
    }
    document = {
        "paths": {
            "/api/v1/tasks/t": {
                "post": {
                    "requestBody": {
                        "content": {
                            "multipart/form-data": {"schema": {"$ref": "#/components/schemas/T"}}
                        }
                    }
                }
            }
        },
        "components": {"schemas": {"T": schema, "Upload": {"type": "string", "format": "binary"}}},
    }
    assert file_fields(document, "t") == [
        FileField("before"),
        FileField("after"),
        FileField("papers", several=True),
    ]
    assert file_fields(document, "other") == []
    assert file_fields([], "t") == []


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report.html", "report.html"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("..", "file"),
        (".bashrc", "bashrc"),
        ("a\x00b\nc", "a_b_c"),
        ("taken", "2-taken"),
        ("x" * 300, "x" * 200),
    ],
)
def test_a_servers_name_is_no_path_here(name: str, safe: str) -> None:
    assert local_name(name, {"taken": 1}) == safe
