"""The built-in task types, each on the public API only."""

from typing import Final

from stagepost import App

app: Final = App()
"""All of them; every server has these beside those of its own App."""
