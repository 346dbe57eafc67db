"""A sentence of ours in both languages of the report."""

from dataclasses import dataclass

from stagepost.tasks.documents.document import Language


@dataclass(frozen=True, slots=True)
class Wording:
    """One text in English and in Chinese; which one is shown follows the report's language."""

    en: str
    zh: str

    def __call__(self, language: Language) -> str:
        """The text in one language."""
        return self.zh if language == "zh" else self.en


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its English noun: "1 finding", "2 findings", "3 entries"."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
