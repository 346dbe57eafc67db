"""The answer to a request for embeddings, in OpenAI's language."""

from collections.abc import Mapping
from typing import Any, Final

from stagepost.simulated.answers import Answer, embedding
from stagepost.simulated.asked import Asked
from stagepost.simulated.openai_shapes import OpenAIShapes, embeddings
from stagepost.simulated.shapes import Told

_DIMENSIONS: Final = 256


class EmbeddingShapes(OpenAIShapes):
    """Shapes of OpenAI, where the answer is a vector for each text."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def whole(self, told: Told, answer: Answer, *, usage: bool) -> Mapping[str, Any]:  # noqa: ARG002
        """The vectors."""
        dimensions = self._asked.dimensions or _DIMENSIONS
        vectors = (embedding(text, dimensions) for text in self._asked.inputs)
        body: dict[str, Any] = embeddings(told, vectors, packed=self._asked.base64)
        if not usage:
            del body["usage"]
        return body
