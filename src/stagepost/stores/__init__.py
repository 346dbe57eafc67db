"""The store's adapters."""
