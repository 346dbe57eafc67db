"""A value that fits a JSON Schema, made from a draw. Pure.

It knows what models are asked for: objects, lists, texts, numbers, choices, references and
recursion. Deep down only what is required is made, so that a recursive schema ends.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from stagepost.simulated.texts import excerpt, phrase

MOST_VALUES: Final = 10_000
"""Values of one instance."""
_DEEP: Final = 6
"""Levels from which on only what must be there is made."""
_DEEPEST: Final = 60
_REFERENCES: Final = 32
_MOST_FOLLOWED: Final = 10 * MOST_VALUES

_FORMATS: Final[Mapping[str, str]] = {
    "date": "2026-03-31",
    "time": "09:30:00Z",
    "date-time": "2026-03-31T09:30:00Z",
    "duration": "P30D",
    "email": "ann@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/terms",
    "uuid": "3f2c8f0e-4d1b-4c5a-9c39-0a5d6a5f7b11",
}
_SAMPLES: Final = (
    "a", "A", "0", "1", "abc", "ABC", "Ab", "12", "123", "1234", "12345", "2026", "2026-03-31",
    "A1", "a1", "AB12", "ABC-123", "abc-1", "abc_1", "1.0", "1.2", "1.0.0", "EUR", "en", "en-US",
    "DE", "#a1b2c3", "+4915112345", "§ 1", "yes", "true", "ann@example.com", "https://example.com",
)  # fmt: skip
_LONGEST_PATTERN: Final = 300
_LONGEST_TEXT: Final = 100_000
_MAY_EXPLODE: Final = re.compile(r"\)[*+{]")
"""A repeated group may need more steps than there are atoms, unless the text is short."""
_SHORT: Final = 6


class Unsatisfiable(ValueError):
    """No value could be made; says of which part of the schema."""


def instance_of(schema: Mapping[str, Any], draw: Random, text: str = "") -> Any:
    """A value that fits. Raises Unsatisfiable.

    What is called a quote is taken word by word from `text`.
    """
    return _Making(schema, draw, text).value(schema, 0, "")


@dataclass(slots=True)
class _Making:
    root: Mapping[str, Any]
    draw: Random
    text: str
    made: int = field(default=0)
    followed: int = field(default=0)

    def value(self, schema: Any, depth: int, name: str) -> Any:
        self.made += 1
        if self.made > MOST_VALUES or depth > _DEEPEST:
            raise Unsatisfiable("The schema asks for a value without end.")
        schema = self._plain(schema)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self.draw.choice(schema["enum"])
        for word in ("anyOf", "oneOf"):
            if schema.get(word):
                return self._one_of(schema, word, depth, name)
        return self._typed(schema, depth, name)

    def _typed(self, schema: Mapping[str, Any], depth: int, name: str) -> Any:
        match _type_of(schema, deep=depth >= _DEEP):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._list(schema, depth, name)
            case "string":
                return self._string(schema, name)
            case "integer" | "number" as kind:
                return _number(schema, self.draw, whole=kind == "integer")
            case "boolean":
                return self.draw.random() < 0.5
            case "null":
                return None
            case other:
                raise Unsatisfiable(f'The schema has the type "{other}", which is none of JSON.')

    def _plain(self, schema: Any) -> Mapping[str, Any]:
        """With its references followed and its allOf joined."""
        for _ in range(_REFERENCES):
            self.followed += 1
            if self.followed > _MOST_FOLLOWED:
                raise Unsatisfiable("The schema's parts refer to each other too often.")
            if schema is True:
                return {"type": "string"}
            if not isinstance(schema, Mapping):
                raise Unsatisfiable("A part of the schema is no object.")
            if "$ref" in schema:
                schema = {
                    **self._referred(str(schema["$ref"])),
                    **{key: value for key, value in schema.items() if key != "$ref"},
                }
            elif schema.get("allOf"):
                schema = self._joined(schema)
            else:
                return schema
        raise Unsatisfiable("The schema's references go round in a circle.")

    def _referred(self, reference: str) -> Mapping[str, Any]:
        found: Any = self.root
        if reference != "#":
            for part in reference.removeprefix("#/").split("/"):
                key = part.replace("~1", "/").replace("~0", "~")
                found = found.get(key) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            raise Unsatisfiable(f'The schema refers to "{reference}", which is not there.')
        return found

    def _joined(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        whole = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            for key, value in self._plain(part).items():
                before = whole.get(key)
                if key == "properties" and isinstance(before, Mapping):
                    whole[key] = {**before, **value}
                elif key == "required" and isinstance(before, Sequence):
                    whole[key] = [*before, *value]
                else:
                    whole[key] = value
        return whole

    def _one_of(self, schema: Mapping[str, Any], word: str, depth: int, name: str) -> Any:
        beside = {key: value for key, value in schema.items() if key != word}
        choices = [{**beside, **self._plain(choice)} for choice in schema[word]]
        self.draw.shuffle(choices)
        if depth >= _DEEP:
            choices.sort(key=_weight)
        for last, choice in zip(range(len(choices) - 1, -1, -1), choices, strict=True):
            try:
                return self.value(choice, depth + 1, name)
            except Unsatisfiable:
                if not last:
                    raise
        raise Unsatisfiable(f"The schema has an empty {word}.")

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties") or {}
        required = [str(key) for key in schema.get("required") or ()]
        names = required if depth >= _DEEP else [*properties, *required]
        found = {
            key: self.value(properties.get(key, True), depth + 1, key)
            for key in dict.fromkeys(names)
        }
        rest = schema.get("additionalProperties", True)
        for number in range(int(schema.get("minProperties", 0)) - len(found)):
            if rest is False or number >= MOST_VALUES:
                break
            found[f"key{number + 1}"] = self.value(rest, depth + 1, "")
        return found

    def _list(self, schema: Mapping[str, Any], depth: int, name: str) -> list[Any]:
        least, most = int(schema.get("minItems", 0)), int(schema.get("maxItems", MOST_VALUES))
        first: Sequence[Any] = schema.get("prefixItems") or ()
        wanted = least if depth >= _DEEP else max(least, self.draw.randint(1, 3))
        wanted = min(max(wanted, min(len(first), most)), most, MOST_VALUES)
        parts = [*first[:wanted], *[schema.get("items", True)] * max(0, wanted - len(first))]
        found: list[Any] = []
        for part in parts:
            value = self.value(part, depth + 1, name.removesuffix("s"))
            if schema.get("uniqueItems") and value in found:
                value = self._another(part, depth, found)
                if value in found and len(found) >= least:
                    break
            found.append(value)
        return found

    def _another(self, schema: Any, depth: int, there: Sequence[Any]) -> Any:
        value: Any = None
        for _ in range(20):
            value = self.value(schema, depth + 1, "")
            if value not in there:
                break
        return value

    def _string(self, schema: Mapping[str, Any], name: str) -> str:
        if schema.get("pattern"):
            return _matching(schema)
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
        if "quote" in name.lower() and self.text.strip():
            text = excerpt(self.draw, self.text)
        else:
            text = phrase(self.draw)
        if least > _LONGEST_TEXT:
            raise Unsatisfiable(f"The schema asks for a text of {least} characters.")
        while len(text) < least:
            text += " " + phrase(self.draw)
        return text if most is None else text[: int(most)]


def _type_of(schema: Mapping[str, Any], *, deep: bool) -> str:
    kind = schema.get("type")
    if isinstance(kind, list) and kind:
        return "null" if deep and "null" in kind else str(kind[0])
    if isinstance(kind, str):
        return kind
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "string"


def _weight(schema: Mapping[str, Any]) -> int:
    """How much there may be behind a choice: the least is taken deep down."""
    order = ("null", "boolean", "integer", "number", "string", "array", "object")
    kind = _type_of(schema, deep=True)
    return order.index(kind) if kind in order else len(order)


def _number(schema: Mapping[str, Any], draw: Random, *, whole: bool) -> float | int:
    step = schema.get("multipleOf") or (1 if whole else 0.01)
    low, high = _bound(schema, "inimum", step), _bound(schema, "aximum", -step)
    if low is None and high is None:
        low, high = 0, 100
    elif low is None:
        low = high - 100 * step if high is not None else 0
    elif high is None:
        high = low + 100 * step
    first = -int(-low // step)
    last = int((high or 0) // step)
    if first > last:
        raise Unsatisfiable("The schema asks for a number between bounds that cross.")
    value = draw.randint(first, last) * step
    return int(value) if whole else min(max(round(value, 6), low), high or 0)


def _bound(schema: Mapping[str, Any], word: str, step: float) -> float | None:
    exclusive = schema.get(f"exclusiveM{word}")
    if isinstance(exclusive, int | float) and not isinstance(exclusive, bool):
        return exclusive + step
    plain = schema.get(f"m{word}")
    return plain if isinstance(plain, int | float) else None


def _matching(schema: Mapping[str, Any]) -> str:
    pattern = str(schema["pattern"])
    least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 10_000))
    try:
        compiled = re.compile(pattern[:_LONGEST_PATTERN])
    except re.error as error:
        raise Unsatisfiable(f'The pattern "{pattern}" is none: {error}.') from error
    if _MAY_EXPLODE.search(pattern):
        most = min(most, _SHORT)
    for sample in _SAMPLES:
        if least <= len(sample) <= most and compiled.search(sample):
            return sample
    raise Unsatisfiable(f'No sample fits the pattern "{pattern}"; script the answer instead.')
