"""Addresses as people write them: of servers, folders, and where to listen."""

import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from stagepost.errors import StoreRefused
from stagepost.masking import masked

_LOOPBACK: Final = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")


def is_loopback(host: str) -> bool:
    """Whether a name or address is one of this machine alone."""
    return _LOOPBACK.fullmatch(host) is not None


def server_url(text: str) -> str:
    """A server's address without a slash at its end. Raises ValueError for what is none."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ValueError(f'"{masked(text)}" is no server\'s address; write http://host:port.')
    return text.rstrip("/")


def host_of(url: str) -> str:
    """What may be shown of a URL whose path or query may be a secret. Raises ValueError."""
    parts = urlsplit(server_url(url))
    return f"{parts.scheme}://{parts.hostname}"


def host_and_port(text: str) -> tuple[str, int]:
    """Where to listen, from `HOST:PORT`; port 0 is any free one. Raises ValueError."""
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not (bare and port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise ValueError(
            f'"{text}" is no address to listen on; write HOST:PORT, such as 127.0.0.1:9090.'
        )
    return bare, int(port)


def folder_of(name: str, url: str, scheme: str) -> Path:
    """The folder of `scheme:///folder`, which a variable names. Raises StoreRefused."""
    parts = urlsplit(url)
    if parts.scheme != scheme or parts.netloc or not parts.path:
        raise StoreRefused(
            f'{name} is "{masked(url)}"; this version takes {scheme}:///absolute/folder: '
            f"unset {name}, or write that."
        )
    return Path(parts.path)
