"""Entry of the sandboxed child: `python -I -S child.py REQUEST`, the document on stdin.

It only finds its own modules; `serving.py` does the work.
"""

import json
import sys
from pathlib import Path
from types import ModuleType

PACKAGE = "stagepost.tasks.documents.parsers"


def skip_the_framework(folder: Path) -> None:
    """Registers the packages above `folder` without running their `__init__`.

    Those import the whole framework, which a parser has no use for and which would take longer
    than reading most documents.
    """
    names = PACKAGE.split(".")
    for depth in range(len(names), 0, -1):
        package = ModuleType(".".join(names[:depth]))
        package.__path__ = [str(folder)]
        sys.modules[package.__name__] = package
        folder = folder.parent


def main() -> int:
    """The exit code of `serving.serve`."""
    request = json.loads(sys.argv[1])
    sys.path[:] = request["path"]
    skip_the_framework(Path(__file__).resolve().parent)
    from stagepost.tasks.documents.parsers.serving import serve  # noqa: PLC0415 - findable only now

    return serve(request)


if __name__ == "__main__":
    sys.exit(main())
