"""Submits over HTTP, one after the other, on one connection."""

from collections.abc import Mapping, Sequence
from http.client import HTTPConnection
from typing import Any

import orjson

from bench.server import HOST


def submit_all(port: int, path: str, inputs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ids of the accepted tasks. Raises SystemExit when one is refused."""
    connection = HTTPConnection(HOST, port, timeout=30)
    try:
        return [_submit(connection, path, orjson.dumps(input_)) for input_ in inputs]
    finally:
        connection.close()


def _submit(connection: HTTPConnection, path: str, body: bytes) -> str:
    connection.request("POST", path, body, {"content-type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 202:
        raise SystemExit(f"a submit was answered with {answer.status}: {text[:500]!r}")
    return str(orjson.loads(text)["taskId"])
