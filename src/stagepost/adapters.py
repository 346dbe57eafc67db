"""Which adapter is meant by which setting; nothing else knows one from the other."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import Final, TypeVar

from stagepost.anchor import Anchor
from stagepost.anchors.file import FileAnchor
from stagepost.anchors.webhook import WebhookAnchor
from stagepost.blobs import Blobs
from stagepost.blobstores.folder import FolderBlobs
from stagepost.body_codec import BodyCodec, KeyRing
from stagepost.broker import Broker
from stagepost.brokers.direct import DirectBroker
from stagepost.bus import Bus, Committed
from stagepost.buses.memory import MemoryBus
from stagepost.buses.postgres import PostgresBus
from stagepost.clock import Clock
from stagepost.errors import StoreRefused
from stagepost.limiter import Limiter
from stagepost.limiters.memory import MemoryLimiter
from stagepost.limiters.postgres import PostgresLimiter
from stagepost.llm.asking import Asking
from stagepost.llm.budgeting import Budgeting
from stagepost.llm.catalogue import BadCatalogue, Catalogue, find_catalogue
from stagepost.llm.lending import Lending
from stagepost.loading import load_redact
from stagepost.masking import masked
from stagepost.part import Part
from stagepost.providers import provider_for
from stagepost.settings import Settings
from stagepost.store import Store
from stagepost.store.seals import SealReading
from stagepost.stores.postgres import PostgresStore
from stagepost.stores.postgres import seal_reading as postgres_seals
from stagepost.stores.sqlite import SqliteStore
from stagepost.stores.sqlite import seal_reading as sqlite_seals

Choice = TypeVar("Choice")

_KEY_FILE_MOST: Final = 1024 * 1024  # bytes

Ring = Callable[[Committed], None]
OpenStore = Callable[[Settings, Clock, Ring], Awaitable[Store]]
OpenBus = Callable[[Settings, Collection[Part]], Awaitable[Bus]]
OpenLimiter = Callable[[Settings, Clock], Awaitable[Limiter]]


async def _sqlite(settings: Settings, clock: Clock, ring: Ring) -> Store:
    return SqliteStore(settings.folder, clock, ring, max_queued=_max_queued(settings))


async def _postgres(settings: Settings, clock: Clock, ring: Ring) -> Store:
    return await PostgresStore.open(settings.store, clock, ring, max_queued=_max_queued(settings))


async def _memory(_settings: Settings, _parts: Collection[Part]) -> Bus:
    return MemoryBus()


def _max_queued(settings: Settings) -> int | None:
    return settings.limits.queued_a_tenant or None


async def _postgres_bus(settings: Settings, parts: Collection[Part]) -> Bus:
    # Text is for those who watch, and they are where the API is.
    return await PostgresBus.open(
        settings.bus_address, text=Part.API in parts, setting=settings.bus_setting
    )


async def _memory_limiter(_settings: Settings, clock: Clock) -> Limiter:
    return MemoryLimiter(clock)


async def _postgres_limiter(settings: Settings, clock: Clock) -> Limiter:
    return await PostgresLimiter.open(
        settings.limiter_address, clock, lease=settings.lease, setting=settings.limiter_setting
    )


STORES: Final[dict[str, OpenStore]] = {
    "sqlite": _sqlite,
    "postgresql": _postgres,
}
BROKERS: Final[dict[str, Callable[[], Broker]]] = {"direct": DirectBroker}
BUSES: Final[dict[str, OpenBus]] = {
    "memory": _memory,
    "postgresql": _postgres_bus,
}
LIMITERS: Final[dict[str, OpenLimiter]] = {
    "memory": _memory_limiter,
    "postgresql": _postgres_limiter,
}


def store(settings: Settings) -> OpenStore:
    """What opens the store. All of these raise StoreRefused for an unknown one."""
    return _chosen("STAGEPOST_STORE", STORES, settings.store_scheme)


def broker(settings: Settings) -> Broker:
    """The broker."""
    return _chosen("STAGEPOST_BROKER", BROKERS, settings.broker)()


def bus(settings: Settings) -> OpenBus:
    """What opens the bus."""
    return _chosen("STAGEPOST_BUS", BUSES, _scheme(settings.bus_address))


def limiter(settings: Settings) -> OpenLimiter:
    """What opens the limiter."""
    return _chosen("STAGEPOST_LIMITER", LIMITERS, _scheme(settings.limiter_address))


def blobs(settings: Settings) -> Blobs:
    """The blob store."""
    return FolderBlobs(settings.blob_folder)


SEALS: Final[dict[str, Callable[[Settings], AbstractAsyncContextManager[SealReading]]]] = {
    "sqlite": lambda settings: sqlite_seals.read_seals(settings.folder),
    "postgresql": lambda settings: postgres_seals.read_seals(settings.store),
}


def seal_reading(settings: Settings) -> AbstractAsyncContextManager[SealReading]:
    """The seals of the store, to be read beside whoever has it open."""
    return _chosen("STAGEPOST_STORE", SEALS, settings.store_scheme)(settings)


def anchor(settings: Settings) -> Anchor | None:
    """Where seals are copied to, if anywhere."""
    file = anchor_file(settings)
    if file is not None:
        return FileAnchor(file)
    return WebhookAnchor(settings.audit_anchor) if settings.audit_anchor else None


def anchor_file(settings: Settings) -> Path | None:
    """The file of an anchor that is one. Raises StoreRefused for one inside the data folder."""
    text = settings.audit_anchor
    if not text or text.startswith(("http://", "https://")):
        return None
    path = Path(text).resolve()
    if path.is_relative_to(settings.folder.resolve()):
        raise StoreRefused(
            "STAGEPOST_AUDIT_ANCHOR lies in the data folder, where whoever changes the ledger can "
            "change it as well; name a file outside, on another disk or machine."
        )
    return path


def _scheme(address: str) -> str:
    return address.partition(":")[0]


def _chosen(name: str, choices: Mapping[str, Choice], wanted: str) -> Choice:
    try:
        return choices[wanted]
    except KeyError:
        known = ", ".join(choices)
        raise StoreRefused(
            f'{name} is "{masked(wanted)}"; this version has {known}: unset {name}, or set it to '
            "one of these."
        ) from None


def body_codec(settings: Settings) -> BodyCodec:
    """What the ledger keeps of texts. Raises StoreRefused for keys that can't be read or used."""
    try:
        redact = load_redact(settings.redact) if settings.redact else None
        return BodyCodec(_ring(settings), redact)
    except (ValueError, TypeError, OSError) as error:
        raise StoreRefused(str(error)) from error


def _ring(settings: Settings) -> KeyRing | None:
    if not (settings.body_keys or settings.body_keys_file):
        return None
    if settings.body_keys and settings.body_keys_file:
        raise ValueError("Set STAGEPOST_BODY_KEYS or STAGEPOST_BODY_KEYS_FILE, not both.")
    # Where there are no keys nothing of the library is needed, and a start takes less time.
    body_keys = import_module("stagepost.body_keys")
    text = settings.body_keys or _key_file(Path(settings.body_keys_file))
    ring: KeyRing = body_keys.BodyKeys(body_keys.keys_of(text))
    return ring


def _key_file(path: Path) -> str:
    try:
        if path.stat().st_size > _KEY_FILE_MOST:
            raise ValueError(f"The file {path} of STAGEPOST_BODY_KEYS_FILE is no file of keys.")
        return path.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise ValueError(
            f"The file {path} of STAGEPOST_BODY_KEYS_FILE can't be read; give this user the right "
            "to read it, or correct the variable."
        ) from error


def models(settings: Settings) -> Catalogue | None:
    """Which models there are; None where there is no models.toml. Raises for a bad one, too."""
    try:
        file = find_catalogue(settings.models, [settings.folder, Path()])
        return None if file is None else Catalogue.read(file)
    except BadCatalogue as error:
        raise StoreRefused(str(error)) from error


def asking(
    catalogue: Catalogue | None, limiter: Limiter, store: Store, clock: Clock
) -> Asking | None:
    """Who asks these models, within the limits and budgets that the store's ledger bears out."""
    if catalogue is None:
        return None
    budgeting = Budgeting(limiter, store, catalogue.budgets, clock)
    return Asking(catalogue, provider_for, Lending(limiter), clock, budgeting)
