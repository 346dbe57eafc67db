"""Which models handlers may call, and whether their providers can be asked."""

from stagepost import adapters
from stagepost.diagnosis.finding import Finding, fail, ok, warn
from stagepost.errors import StoreRefused
from stagepost.llm.catalogue import Catalogue
from stagepost.llm.provider import NotReady
from stagepost.providers import provider_for
from stagepost.settings import Settings


async def models(settings: Settings) -> list[Finding]:
    """Of models.toml: its faults, and keys and SDKs that are missing here; nobody is called."""
    try:
        catalogue = adapters.models(settings)
    except StoreRefused as error:
        return [fail("models", str(error), "Correct it as docs/models.md says.")]
    if catalogue is None:
        return [ok("models", "there is no models.toml, so handlers can call no model")]
    names = ", ".join(catalogue.models) or "none"
    return [ok("models", f"aliases: {names}"), *await _providers(catalogue)]


async def _providers(catalogue: Catalogue) -> list[Finding]:
    lacking = []
    for name, spec in catalogue.providers.items():
        try:
            provider = provider_for(spec)
        except NotReady as error:
            # Only a warning: the key may be set where the workers run, and not here.
            detail, _, remedy = str(error).partition(": ")
            lacking.append(warn(f"provider {name}", detail, remedy[:1].upper() + remedy[1:]))
        else:
            await provider.close()
    return lacking
