"""Programs of the folder scripts, as modules."""

import importlib.util
from pathlib import Path
from types import ModuleType

_SCRIPTS = Path(__file__).parents[2] / "scripts"


def script_module(name: str) -> ModuleType:
    """The one of this name, imported and not run."""
    spec = importlib.util.spec_from_file_location(name, _SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
