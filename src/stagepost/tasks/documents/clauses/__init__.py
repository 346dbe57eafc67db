"""A document's clauses, found by their numbers where it has any."""

from stagepost.tasks.documents.clauses.splitting import split_clauses

__all__ = ["split_clauses"]
