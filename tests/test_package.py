"""The package as users see it."""

import re
from importlib.metadata import version

import stagepost


def test_the_package_is_installed_with_a_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", version("stagepost"))
    assert stagepost.__doc__
