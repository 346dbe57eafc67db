"""Where the database is: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`."""

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from stagepost.errors import StoreRefused

SCHEMA: Final = "stagepost"
"""The schema when the address names none."""

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,50}")


@dataclass(frozen=True, slots=True)
class Address:
    """`url` holds the password and is never shown; `shown` names the same place without it."""

    url: str = field(repr=False)
    schema: str
    shown: str


def address_of(url: str) -> Address:
    """The parts of a store's URL; whatever else its query holds goes to the driver as it is.

    Raises StoreRefused for one that no server could be found by.
    """
    try:
        parts = urlsplit(url)
        place = f"{parts.hostname or 'localhost'}:{parts.port or 5432}{parts.path}"
    except ValueError:
        raise StoreRefused(
            "STAGEPOST_STORE is no address; write it as postgresql://USER:PASSWORD@HOST/DATABASE."
        ) from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    schema = options.pop("schema", SCHEMA)
    if not _NAME.fullmatch(schema):
        raise StoreRefused(
            f'The schema "{schema}" can\'t be used; its name is up to 51 of a-z, 0-9 and "_".'
        )
    bare = urlunsplit(parts._replace(query=urlencode(options)))
    return Address(bare, schema, f"postgresql://{place}")
