"""The HTTP client of our own API, used by the command line."""

from stagepost.remote.client import Remote
from stagepost.remote.errors import Refused, Unreachable
from stagepost.remote.files import FilePart, local_name, named, placed
from stagepost.remote.following import END_EVENTS, Following, News
from stagepost.remote.queries import SubmitOptions, Where
from stagepost.remote.spending import UsageWhere

__all__ = [
    "END_EVENTS",
    "FilePart",
    "Following",
    "News",
    "Refused",
    "Remote",
    "SubmitOptions",
    "Unreachable",
    "UsageWhere",
    "Where",
    "local_name",
    "named",
    "placed",
]
