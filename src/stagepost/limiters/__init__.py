"""The adapters of the limiter port."""
