"""The blob store's adapters."""
