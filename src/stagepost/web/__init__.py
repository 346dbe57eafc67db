"""The HTTP API: routes, live streams and who may use them, as one ASGI application.

`create_app(parts)` builds it; `server_config` serves it by uvicorn with the limits that the
application itself can't set. docs/http-api.md is the user's reference. `create_probe(parts)` is the
little of it that a process without the API answers.
"""

from stagepost.web.app import create_app
from stagepost.web.keyring import bootstrap
from stagepost.web.parts import Parts
from stagepost.web.probe import create_probe
from stagepost.web.server import bounded_config, server_config

__all__ = ["Parts", "bootstrap", "bounded_config", "create_app", "create_probe", "server_config"]
