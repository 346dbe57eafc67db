"""/openapi.json, and /docs: the same for people, as one page without scripts or foreign servers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson
from jinja2 import Environment
from starlette.responses import Response

from stagepost.web.answers import Operation, reads
from stagepost.web.schemas import AnyJson

_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
)
_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{ info.title }} API</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.4 ui-monospace, monospace }
pre { overflow: auto; padding: .75rem; background: #8881; border-radius: 4px }
summary { cursor: pointer; padding: .4rem 0 }
b { display: inline-block; min-width: 4.5rem }
table { border-collapse: collapse }
td { padding: .15rem 1rem .15rem 0; vertical-align: top }
:root { color-scheme: light dark }
</style>
<h1>{{ info.title }} API {{ info.version }}</h1>
<p>{{ info.description }} The same as a document for programs:
<a href="openapi.json">openapi.json</a>.</p>
{% for path, methods in paths.items() %}{% for method, operation in methods.items() %}
<details>
<summary><b>{{ method | upper }}</b> <code>{{ path }}</code> {{ operation.summary }}</summary>
<p>{{ operation.description }}</p>
{% if operation.parameters %}<table>
{% for parameter in operation.parameters %}<tr><td><code>{{ parameter.name }}</code>
<td>{{ parameter.in }}<td><code>{{ parameter.schema | json }}</code>
<td>{{ parameter.description }}</tr>
{% endfor %}</table>{% endif %}
{% for kind, body in (operation.requestBody or {}).get("content", {}).items() %}
<p>Body, <code>{{ kind }}</code></p><pre>{{ body.schema | json(2) }}</pre>
{% endfor %}
<p>Answers</p><table>
{% for status, answer in operation.responses.items() %}<tr><td>{{ status }}
<td>{{ answer.description }}<td>{% for kind, body in (answer.content or {}).items() %}
<code>{{ kind }} {{ body.schema | json }}</code>{% endfor %}</tr>
{% endfor %}</table>
</details>
{% endfor %}{% endfor %}
<h2>Shapes</h2>
{% for name, schema in components.schemas.items() %}
<details><summary><code>{{ name }}</code></summary><pre>{{ schema | json(2) }}</pre></details>
{% endfor %}
</html>
"""


class DocRoutes:
    """Serves the document that `build` makes."""

    def __init__(self, build: Callable[[], Mapping[str, Any]]) -> None:
        self._build = build
        self._json = b""
        self._html = b""

    def operations(self) -> Sequence[Operation]:
        """The routes."""
        return [
            Operation(
                method="GET",
                path="/",
                endpoint=self.start,
                answers={307: None},
                headers={"Location": "The page of the API."},
            ),
            reads("/openapi.json", self.json, AnyJson),
            Operation(
                method="GET",
                path="/docs",
                endpoint=self.page,
                answers={200: str},
                media_type="text/html",
            ),
        ]

    async def start(self) -> Response:
        """Where a person begins; until there is a page for them, the API's."""
        return Response(status_code=307, headers={"Location": "/docs"})

    async def json(self) -> Response:
        """The OpenAPI document."""
        self._make()
        return Response(self._json, media_type="application/json")

    async def page(self) -> Response:
        """The OpenAPI document as a page."""
        self._make()
        headers = {"Content-Security-Policy": _POLICY}
        return Response(self._html, media_type="text/html", headers=headers)

    def _make(self) -> None:
        # At the first request for it: a start has no time for what few will read.
        if self._json:
            return
        document = self._build()
        environment = Environment(autoescape=True)
        environment.filters["json"] = _json_text
        self._html = environment.from_string(_PAGE).render(**document).encode()
        self._json = orjson.dumps(document)


def _json_text(value: Any, indent: int = 0) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None).decode()
