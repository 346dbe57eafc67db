"""Stagepost runs long AI tasks behind a product: submit, 202 at once, live progress, result."""

from stagepost.errors import InvalidInput

__all__ = ["InvalidInput"]
