"""Model calls: what providers say, and what follows from it."""
