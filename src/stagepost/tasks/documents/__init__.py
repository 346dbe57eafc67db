"""Files in, text with pages, offsets and clauses out; every parse in a sandboxed process."""

from stagepost.tasks.documents.answer import SandboxCapabilities
from stagepost.tasks.documents.document import Clause, ClauseKind, Document, Language, Page
from stagepost.tasks.documents.limits import Limits
from stagepost.tasks.documents.reading import read_document
from stagepost.tasks.documents.sandbox import SandboxFailed, sandbox_capabilities

__all__ = [
    "Clause",
    "ClauseKind",
    "Document",
    "Language",
    "Limits",
    "Page",
    "SandboxCapabilities",
    "SandboxFailed",
    "read_document",
    "sandbox_capabilities",
]
