"""The models that may be called: `models.toml`, read and checked as a whole.

    [providers.main]
    kind = "openai"                 # openai | anthropic
    base_url = "https://..."        # optional
    api_key_env = "OPENAI_API_KEY"  # the name of the variable, never the key
    [models.best]
    chain = ["main/gpt-large", "backup/claude-large"]
    [limits."main/gpt-large"]
    requests_per_minute = 500
    [budgets]
    tenant = "100/month"            # US dollars; see `llm/budgets.py`

A model is named `provider/model`; an alias stands for a chain of them, the first of which is asked
first.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from stagepost.errors import StagepostError
from stagepost.llm.budgets import NO_BUDGETS, Budgets
from stagepost.llm.dialect import Dialect, Structured, dialect_of, structured_by
from stagepost.llm.places import place_of

LONGEST_CHAIN: Final = 8

SHORTEST_MINUTE: Final = 0.6
"""Seconds, of which the limiter can keep a sixth."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,62}$")]
ModelName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,62}/\S{1,200}$")]
PerMinute = Annotated[int, Field(ge=1, le=1_000_000_000)]


class BadCatalogue(StagepostError):
    """models.toml can't be used; names the file, the line and the remedy."""


class UnknownModel(StagepostError):
    """A model was asked for that models.toml does not name."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Provider(_Table):
    """Who is asked, and where; `api_key_env` names the variable with the key, if there is one."""

    kind: Literal["openai", "anthropic"]
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://\S+$")] | None = None
    api_key_env: Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")] | None = None
    dialect: Dialect | None = None
    """Whose words it uses, where its address does not tell."""
    structured: Structured | None = None
    """How it is asked for an answer in a form, where that is not as its dialect does it."""
    minute: Annotated[float, Field(ge=SHORTEST_MINUTE, le=60.0)] = 60.0
    """Seconds in which it lends what its limits say; a simulated one's may be shorter."""

    @property
    def asked_for_forms(self) -> Structured:
        """How it is asked for an answer in a form."""
        return self.structured or structured_by(self.speaks)

    @property
    def speaks(self) -> Dialect:
        """Whose words it uses."""
        own = Dialect.ANTHROPIC if self.kind == "anthropic" else Dialect.OPENAI
        return self.dialect or dialect_of(self.base_url, default=own)


class Alias(_Table):
    """The models that are tried, in this order."""

    chain: Annotated[tuple[ModelName, ...], Field(min_length=1, max_length=LONGEST_CHAIN)]


class Price(_Table):
    """US dollars for a million tokens."""

    input: Annotated[float, Field(ge=0, le=1_000_000)]
    output: Annotated[float, Field(ge=0, le=1_000_000)]


class ModelLimits(_Table):
    """What a provider lends of one model for one key.

    `charge` says whether it counts what a call might use ("reserved", with max_tokens) or what it
    has used ("actual"); left out, it is as the provider's kind does it. `context` is in tokens.
    `tenant_share` is the part of the tokens, or else of the requests, that one tenant may use.
    """

    requests_per_minute: PerMinute | None = None
    tokens_per_minute: PerMinute | None = None
    input_tokens_per_minute: PerMinute | None = None
    output_tokens_per_minute: PerMinute | None = None
    concurrency: Annotated[int, Field(ge=1, le=100_000)] | None = None
    charge: Literal["reserved", "actual"] | None = None
    context: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    price: Price | None = None
    tenant_share: Annotated[float, Field(gt=0, le=1)] | None = None

    @model_validator(mode="after")
    def _share_of_something(self) -> Self:
        per_minute = (
            self.tokens_per_minute, self.input_tokens_per_minute, self.requests_per_minute,
        )  # fmt: skip
        if self.tenant_share is not None and not any(per_minute):
            raise ValueError("tenant_share needs tokens_per_minute or requests_per_minute")
        return self


DEFAULT_LIMITS: Final = ModelLimits(requests_per_minute=60, concurrency=10)
"""For a model of which nothing is said, until its provider's headers tell more."""


class Model(_Table):
    """One model of one provider, with all that is known of it."""

    name: str
    provider: Provider
    limits: ModelLimits

    @property
    def asked_as(self) -> str:
        """What the provider calls it."""
        return self.name.partition("/")[2]

    @property
    def charge(self) -> Literal["reserved", "actual"]:
        """What counts against its limits."""
        own: Literal["reserved", "actual"] = (
            "actual" if self.provider.kind == "anthropic" else "reserved"
        )
        return self.limits.charge or own


class Catalogue(_Table):
    """All of a models.toml."""

    providers: dict[Name, Provider] = {}
    models: dict[Name, Alias] = {}
    limits: dict[ModelName, ModelLimits] = {}
    budgets: Budgets = NO_BUDGETS

    @classmethod
    def read(cls, file: Path) -> Self:
        """A file's. Raises BadCatalogue."""
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise BadCatalogue(f"{file} can't be read: {error}.") from error
        return cls.parse(text, str(file))

    @classmethod
    def parse(cls, text: str, file: str = "models.toml") -> Self:
        """A text's; `file` is how errors call it. Raises BadCatalogue."""
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise BadCatalogue(f"{file} is no TOML: {error}.") from error
        try:
            found = cls.model_validate(tables)
        except ValidationError as error:
            raise BadCatalogue(_told(error, text, file)) from error
        _check_providers(found, text, file)
        return found

    def chain(self, name: str) -> Sequence[Model]:
        """The models that an alias, or a model's own name, stands for. Raises UnknownModel."""
        alias = self.models.get(name)
        if alias is not None:
            return [self.model(each) for each in alias.chain]
        if "/" in name:
            return [self.model(name)]
        there = ", ".join(self.models) or "none"
        raise UnknownModel(f'models.toml has no alias "{name}"; there are: {there}.')

    def named(self) -> Sequence[Model]:
        """Every model that a chain or a table of limits names, by name."""
        names = {name for alias in self.models.values() for name in alias.chain}
        return [self.model(name) for name in sorted(names | set(self.limits))]

    def model(self, name: str) -> Model:
        """A model by its own name. Raises UnknownModel."""
        provider = self.providers.get(name.partition("/")[0])
        if provider is None:
            there = ", ".join(self.providers) or "none"
            raise UnknownModel(f'models.toml has no provider for "{name}"; there are: {there}.')
        return Model(name=name, provider=provider, limits=self.limits.get(name, DEFAULT_LIMITS))


def find_catalogue(named: str | None, folders: Sequence[Path]) -> Path | None:
    """The file that `STAGEPOST_MODELS` names, or the first that is there; None if there is none.

    Raises BadCatalogue where the one that was named is not there.
    """
    if named:
        if not Path(named).is_file():
            raise BadCatalogue(f"STAGEPOST_MODELS names {named}, which is no file.")
        return Path(named)
    files = (folder / "models.toml" for folder in folders)
    return next((file for file in files if file.is_file()), None)


def _check_providers(found: Catalogue, text: str, file: str) -> None:
    named: list[tuple[tuple[str, ...], str]] = [
        (("models", alias, "chain"), name)
        for alias, chain in found.models.items()
        for name in chain.chain
    ]
    named += [(("limits", name), name) for name in found.limits]
    for place, name in named:
        provider = name.partition("/")[0]
        if provider not in found.providers:
            raise BadCatalogue(
                f'{file}, line {place_of(text, place)}: "{name}" is of the provider '
                f'"{provider}", which has no table [providers.{provider}].'
            )


_HINTS: Final[Mapping[str, str]] = {
    "extra_forbidden": "is not a key that is known here; there are: {keys}",
    "missing": "is missing",
}


def _told(error: ValidationError, text: str, file: str) -> str:
    found = error.errors(include_url=False)[0]
    place = tuple(str(each) for each in found["loc"] if each != "[key]")
    what = found["msg"].lower()
    if found["type"] in _HINTS:
        what = _HINTS[found["type"]].format(keys=", ".join(_keys(place)))
    return f"{file}, line {place_of(text, place)}: {'.'.join(place)} {_joined(what)}."


def _joined(what: str) -> str:
    return what if what.startswith("is ") else f"is not valid: {what}"


def _keys(place: Sequence[str]) -> list[str]:
    tables: dict[str, type[BaseModel]] = {
        "providers": Provider, "models": Alias, "limits": ModelLimits, "budgets": Budgets,
    }  # fmt: skip
    if len(place) == 1:
        return list(Catalogue.model_fields)
    inner: Any = Price if "price" in place[:-1] else tables[place[0]]
    return list(inner.model_fields)
