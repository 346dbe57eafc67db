"""The table of services."""

from collections.abc import Mapping, Sequence

from stagepost.devservices.postgres import Postgres
from stagepost.devservices.redis import Redis
from stagepost.devservices.service import Service

# Where two give the same setting, the later one wins: it is the one made for that work.
SERVICES: tuple[Service, ...] = (Postgres(), Redis())


def chosen(names: Sequence[str], services: Sequence[Service] = SERVICES) -> list[Service]:
    """The named services in the order of the table; all of them when none is named.

    Raises:
        KeyError: a name is not in the table.
    """
    known: Mapping[str, Service] = {service.name: service for service in services}
    wanted = {known[name].name for name in names} or set(known)
    return [service for service in services if service.name in wanted]
