"""The built-in task types, each on the public API only."""
