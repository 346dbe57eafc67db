"""Passwords in addresses, kept out of messages and logs. Pure."""

import re
from typing import Final

_MASK: Final = "***"
# To the last "@" and over slashes: a password that was not percent-encoded is one all the same.
# What looks like a port and a path is none.
_IN_USERINFO: Final = re.compile(r"(://[^:/?#@\s]{0,256}):(?!\d{1,5}(?:[/?#]|$))[^\s\"']{0,256}@")
_IN_PARAMETER: Final = re.compile(
    r"((?:password|passwd|pwd)\s?=\s?)(?:'[^']*'|[^\s&;\"']+)", re.IGNORECASE
)


def masked(text: str) -> str:
    """A text in which `***` stands for the password of every address.

    It knows `scheme://user:password@host`, and `password=...` of queries and connection strings.
    """
    if "://" in text:
        text = _IN_USERINFO.sub(rf"\1:{_MASK}@", text)
    return _IN_PARAMETER.sub(rf"\1{_MASK}", text)
