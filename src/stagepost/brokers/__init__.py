"""The broker's adapters."""
