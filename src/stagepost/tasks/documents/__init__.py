"""Files in, text with pages, offsets and clauses out; every parse in a sandboxed process."""

from stagepost.tasks.documents.answer import SandboxCapabilities
from stagepost.tasks.documents.clauses import split_clauses
from stagepost.tasks.documents.crossreferences import Reference, ReferenceKind, references
from stagepost.tasks.documents.document import Clause, ClauseKind, Document, Language, Page
from stagepost.tasks.documents.limits import Limits
from stagepost.tasks.documents.reading import read_document
from stagepost.tasks.documents.sandbox import SandboxFailed, sandbox_capabilities
from stagepost.tasks.documents.terms import Definition, definitions

__all__ = [
    "Clause",
    "ClauseKind",
    "Definition",
    "Document",
    "Language",
    "Limits",
    "Page",
    "Reference",
    "ReferenceKind",
    "SandboxCapabilities",
    "SandboxFailed",
    "definitions",
    "read_document",
    "references",
    "sandbox_capabilities",
    "split_clauses",
]
