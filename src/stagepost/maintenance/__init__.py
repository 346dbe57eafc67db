"""The engine's own loops; each has one owner, and two of a kind at once do no harm."""
