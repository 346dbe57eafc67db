"""A listener that notes what it hears, and what it may be told."""

import threading

from stagepost.bus import Committed, Token


class Ear:
    """Notes what it hears, and in which thread."""

    def __init__(self) -> None:
        self.bells: list[Committed] = []
        self.tokens: list[tuple[str, Token]] = []
        self.looks = 0
        self.threads: set[int] = set()

    def committed(self, news: Committed) -> None:
        self.threads.add(threading.get_ident())
        self.bells.append(news)

    def token(self, task_id: str, token: Token) -> None:
        self.threads.add(threading.get_ident())
        self.tokens.append((task_id, token))

    def missed(self) -> None:
        self.looks += 1

    @property
    def events(self) -> list[str]:
        """The ids of all bells, in order."""
        return [task_id for news in self.bells for task_id in news.events]

    @property
    def text(self) -> str:
        """All text, in order."""
        return "".join(token.text for _, token in self.tokens)


def bell(number: int) -> Committed:
    return Committed([f"task {number}"], [f"cancel {number}"])


def token(text: str, offset: int = 0, step: str = "write", attempt: int = 1) -> Token:
    return Token(step, attempt, offset, text)
