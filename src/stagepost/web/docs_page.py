"""/docs: the OpenAPI document as one page for people, without scripts or foreign servers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import orjson
from jinja2 import Environment
from markupsafe import Markup, escape

_SERVER: Final = "http://127.0.0.1:8080"
_LAST: Final = "server"
_REF: Final = "#/components/schemas/"
_LINK: Final = re.compile(re.escape(f"&#34;{_REF}") + r"([^&]+)&#34;")
_CODE: Final = re.compile(r"`([^`]+)`")
_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{ info.title }} API</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.4 ui-monospace, monospace; overflow-wrap: break-word }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .75rem }
pre { background: #8881; border-radius: 4px }
summary { cursor: pointer; padding: .4rem 0 }
summary b { display: inline-block; min-width: 4.5rem }
details { margin-left: 1rem }
table { border-collapse: collapse; width: 100% }
td, th { padding: .15rem 1rem .15rem 0; vertical-align: top; text-align: left }
td:first-child code { white-space: nowrap }
:root { color-scheme: light dark }
</style>
<h1>{{ info.title }} API {{ info.version }}</h1>
<p>{{ info.description | text }} The same as a document for programs:
<a href="openapi.json">openapi.json</a>.</p>
{% for title, operations in groups %}
<h2>{{ title }}</h2>
{% for each in operations %}
<details>
<summary><b>{{ each.method }}</b> <code>{{ each.path }}</code> {{ each.summary | text }}</summary>
{% if each.description %}<p>{{ each.description | text }}</p>{% endif %}
<pre>{{ each.curl }}</pre>
{% if each.parameters %}<table>
<tr><th>Parameter<th>In<th>Type<th></tr>
{% for name, place, type, description in each.parameters %}<tr><td><code>{{ name }}</code>
<td>{{ place }}<td>{{ type }}<td>{{ description | text }}</tr>
{% endfor %}</table>{% endif %}
{% for kind, fields, schema in each.bodies %}
<p>Body, <code>{{ kind }}</code></p>
{% if fields %}<table>
{% for name, needed, type, description in fields %}<tr><td><code>{{ name }}</code>
<td>{{ "required" if needed }}<td>{{ type }}<td>{{ description | text }}</tr>
{% endfor %}</table>{% endif %}
<details><summary>its schema</summary><pre>{{ schema }}</pre></details>
{% endfor %}
<p>Answers</p><table>
{% for status, description, type in each.answers %}<tr><td>{{ status }}
<td>{{ description | text }}<td>{{ type }}</tr>
{% endfor %}</table>
</details>
{% endfor %}{% endfor %}
<h2>Shapes</h2>
{% for name, schema in schemas %}
<details><summary><code>{{ name }}</code></summary>
<pre id="schema-{{ name }}">{{ schema }}</pre></details>
{% endfor %}
</html>
"""

Schema = Mapping[str, Any]


def page(document: Mapping[str, Any]) -> str:
    """The page: the task types' own routes first, each route with a command to try it by."""
    environment = Environment(autoescape=True)
    environment.filters["text"] = _text
    components: Mapping[str, Schema] = document["components"]["schemas"]
    return environment.from_string(_PAGE).render(
        info=document["info"],
        groups=_groups(document, components),
        schemas=[(name, _linked(schema)) for name, schema in sorted(components.items())],
    )


def _groups(
    document: Mapping[str, Any], components: Mapping[str, Schema]
) -> Sequence[tuple[str, Sequence[Mapping[str, Any]]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {"submit": []}
    with_key = {} not in document.get("security", [{}])
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            shown = _operation(path, method.upper(), operation, components, with_key=with_key)
            groups.setdefault(operation["tags"][0], []).append(shown)
    groups[_LAST] = groups.pop(_LAST, [])
    return [(name.capitalize(), shown) for name, shown in groups.items() if shown]


def _operation(
    path: str,
    method: str,
    operation: Mapping[str, Any],
    components: Mapping[str, Schema],
    *,
    with_key: bool,
) -> Mapping[str, Any]:
    summary = operation.get("summary", "")
    contents = operation.get("requestBody", {}).get("content", {})
    bodies = {kind: _resolved(body["schema"], components) for kind, body in contents.items()}
    return {
        "method": method,
        "path": path,
        "summary": summary,
        # A docstring begins with its summary, which stands above already.
        "description": operation.get("description", "").removeprefix(f"{summary}.").strip(),
        "parameters": [
            (each["name"], each["in"], _type(each["schema"]), each.get("description", ""))
            for each in operation.get("parameters", ())
        ],
        "bodies": [
            (kind, [*_fields(schema)], _linked(contents[kind]["schema"]))
            for kind, schema in bodies.items()
        ],
        "answers": [*_answers(operation["responses"])],
        "curl": _curl(path, method, bodies, with_key=with_key),
    }


def _fields(schema: Schema) -> Iterator[tuple[str, bool, Markup, str]]:
    for name, field in schema.get("properties", {}).items():
        told = field.get("description", "")
        if field.get("default") is not None:
            told = f"{told} Without it: `{orjson.dumps(field['default']).decode()}`.".strip()
        yield name, name in schema.get("required", ()), _type(field), told


def _answers(responses: Mapping[str, Any]) -> Iterator[tuple[str, str, Markup]]:
    refusals: dict[str, list[str]] = {}
    for status, answer in sorted(responses.items()):
        contents = answer.get("content", {})
        if int(status) >= 400:
            refusals.setdefault(answer["description"], []).append(status)
            continue
        types = [
            Markup("{} {}").format(kind, _type(body["schema"])) for kind, body in contents.items()
        ]
        yield status, answer["description"], Markup("; ").join(types)
    for description, statuses in refusals.items():
        yield ", ".join(statuses), description, _type({"$ref": f"{_REF}Problem"})


def _curl(path: str, method: str, bodies: Mapping[str, Schema], *, with_key: bool) -> str:
    words = ["curl"]
    if path.endswith("/progress"):
        words.append("-N")
    elif method not in {"GET", "POST"} or (method == "POST" and not bodies):
        words.append(f"-X {method}")
    if with_key:
        words.append('-H "Authorization: Bearer $STAGEPOST_API_KEY"')
    form, plain = bodies.get("multipart/form-data"), bodies.get("application/json")
    if form is not None and (plain is None or "'binary'" in repr(form)):
        words += [f"-F {name}={value}" for name, value in _form_values(form)]
    elif plain is not None:
        text = orjson.dumps(_example(plain)).decode().replace("'", "'\\''")
        words += ["-H 'Content-Type: application/json'", f"-d '{text}'"]
    filled = quote(path.replace("{", "").replace("}", ""), safe="/")
    return " ".join([*words, f"{_SERVER}{filled}"])


def _form_values(schema: Schema) -> Iterator[tuple[str, str]]:
    for name, field in _needed(schema):
        yield name, "@FILE" if "'binary'" in repr(field) else str(_value(field))


def _example(schema: Schema) -> Any:
    return {name: _value(field) for name, field in _needed(schema)}


def _needed(schema: Schema) -> Iterator[tuple[str, Schema]]:
    fields = schema.get("properties", {})
    # Where nothing is required, one field shows how it is written.
    for name in schema.get("required") or list(fields)[:1]:
        yield name, fields.get(name, {})


def _value(field: Schema) -> Any:
    for known in ("default", "const"):
        if field.get(known) is not None:
            return field[known]
    if field.get("enum"):
        return field["enum"][0]
    values = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return values.get(field.get("type", ""), "...")


def _type(schema: Schema) -> Markup:
    reference = str(schema.get("$ref", ""))
    if reference:
        name = reference.rpartition("/")[2]
        return Markup('<a href="#schema-{}">{}</a>').format(name, name)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return Markup(" or ").join(map(_type, choices))
    if "enum" in schema or "const" in schema:
        known = schema.get("enum", [schema.get("const")])
        return Markup(", ").join(Markup("<code>{}</code>").format(value) for value in known)
    if schema.get("type") == "array":
        return Markup("list of {}").format(_type(schema.get("items", {})))
    if schema.get("format") == "binary":
        return Markup("file")
    words = [schema.get("type", "any JSON"), schema.get("format")]
    bounds = [f"{schema.get('minimum', '')}..{schema.get('maximum', '')}"]
    told = [*words, *(bounds if bounds != [".."] else [])]
    return escape(" ".join(str(word) for word in told if word))


def _resolved(schema: Schema, components: Mapping[str, Schema]) -> Schema:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return components.get(name, schema)


def _linked(schema: Schema) -> Markup:
    text = str(escape(orjson.dumps(schema, option=orjson.OPT_INDENT_2).decode()))
    return Markup(_LINK.sub(r'<a href="#schema-\1">\1</a>', text))  # noqa: S704  # escaped above


def _text(text: str) -> Markup:
    # Escaped first.
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704
