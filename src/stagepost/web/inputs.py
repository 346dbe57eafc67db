"""From what a caller sent to a type's input: fields coerced by its schema, files found by id."""

import re
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final

import orjson

from stagepost.records import UploadRecord
from stagepost.settings import Limits
from stagepost.store import Store
from stagepost.task_type import TaskType
from stagepost.web.forms import JSON_PART, Form
from stagepost.web.limits import parse_json
from stagepost.web.problems import Kind, Problem, invalid, pointer

_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_IDS_MOST: Final = 1_000
_REFERENCES_MOST: Final = 8


class _Way(Enum):
    """How the texts of a form's field become a value."""

    PLAIN = auto()
    JSON = auto()
    MANY = auto()
    MANY_JSON = auto()


class InputShape:
    """What a type's schema says about its fields."""

    def __init__(self, task_type: TaskType) -> None:
        schema = task_type.input_schema()
        self._definitions: Mapping[str, Any] = schema.get("$defs", {})
        top = self._resolved(schema)
        properties: Mapping[str, Any] = top.get("properties", {})
        self._ways = {name: self._way(part) for name, part in properties.items()}
        self.takes_files = b'"format":"binary"' in orjson.dumps(schema)

    def from_form(self, form: Form, limits: Limits) -> Any:
        """The input that a form holds, not yet validated."""
        value: dict[str, Any] = {}
        fields = dict(form.fields)
        if JSON_PART in fields and JSON_PART not in self._ways:
            whole = _from_json_part(fields.pop(JSON_PART), limits)
            if not isinstance(whole, dict):
                if fields or form.files:
                    raise invalid(
                        "The part input must be a JSON object where other parts come with it.",
                        pointer="#",
                    )
                return whole
            value = whole
        given = {name: self._coerced(name, texts) for name, texts in fields.items()}
        files = {name: self._file_ids(name, records) for name, records in form.files.items()}
        for name, part in [*given.items(), *files.items()]:
            if name in value:
                raise invalid(f"{name} comes twice.", pointer=pointer([name]))
            value[name] = part
        return value

    def _coerced(self, name: str, texts: Sequence[str]) -> Any:
        # The model itself turns "5" into 5; only lists and objects need help.
        match self._ways.get(name, _Way.PLAIN):
            case _Way.MANY:
                return list(texts)
            case _Way.MANY_JSON:
                parts = [_json_or_text(text) for text in texts]
                return parts[0] if len(parts) == 1 and isinstance(parts[0], list) else parts
            case _Way.JSON:
                return _json_or_text(_only(name, texts))
            case _:
                return _only(name, texts)

    def _file_ids(self, name: str, records: Sequence[UploadRecord]) -> Any:
        ids = [record.upload_id for record in records]
        many = self._ways.get(name) in {_Way.MANY, _Way.MANY_JSON}
        return ids if many or len(ids) > 1 else ids[0]

    def _way(self, schema: Mapping[str, Any]) -> _Way:
        schema = self._resolved(schema)
        choices = [self._resolved(part) for part in schema.get("anyOf", schema.get("oneOf", ()))]
        for choice in [schema, *choices]:
            if choice.get("type") == "array":
                items = self._way(choice.get("items", {}))
                return _Way.MANY if items is _Way.PLAIN else _Way.MANY_JSON
        if any(choice.get("type") == "object" for choice in [schema, *choices]):
            return _Way.JSON
        constants = [*schema.get("enum", ()), schema.get("const", "")]
        return _Way.PLAIN if all(isinstance(value, str) for value in constants) else _Way.JSON

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        for _ in range(_REFERENCES_MOST):
            reference = schema.get("$ref")
            if reference is None:
                break
            schema = self._definitions.get(str(reference).rpartition("/")[2], {})
        return schema


async def named_uploads(
    value: Any, store: Store, tenant: str, limits: Limits
) -> Sequence[UploadRecord]:
    """The tenant's uploads that a JSON input names by id."""
    ids = list(dict.fromkeys(_ids_in(value)))[:_IDS_MOST]
    found = await store.uploads(tenant, ids) if ids else ()
    if len(found) > limits.files:
        raise Problem(Kind.TOO_LARGE, f"An input names at most {limits.files} files.")
    return found


def check_all_used(form: Form, task_type: TaskType, text: str) -> None:
    """Refuse a file that fills no field of the input: it would be lost without a word."""
    for name, records in form.files.items():
        if any(record.upload_id not in text for record in records):
            takes = ", ".join(task_type.file_names())
            remedy = (
                f"call it as a field that takes a file: {takes}"
                if takes
                else f"{task_type.name} takes no files, leave it out"
            )
            raise invalid(
                f'The file part "{name}" fills no field of the input; {remedy}.',
                pointer=pointer([name]),
            )


def _ids_in(value: Any) -> list[str]:
    found: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if len(item) == 36 and _ID.fullmatch(item):
                found.append(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return found


def _from_json_part(texts: Sequence[str], limits: Limits) -> Any:
    return parse_json(_only(JSON_PART, texts).encode(), limits.json_depth)


def _only(name: str, texts: Sequence[str]) -> str:
    if len(texts) > 1:
        raise invalid(f"{name} comes more than once.", pointer=pointer([name]))
    return texts[0]


def _json_or_text(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
