"""Page numbers in a sentence."""

from itertools import groupby

_MOST_RANGES = 12


def pages_as_words(numbers: list[int]) -> str:
    """Rising page numbers with their verb: "Page 3 has", "Pages 1, 4-9 and 12 have"."""
    if len(numbers) == 1:
        return f"Page {numbers[0]} has"
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ]
    words = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    if len(words) > _MOST_RANGES:
        rest = sum(map(len, runs[_MOST_RANGES:]))
        words = [*words[:_MOST_RANGES], f"{rest} more"]
    if len(words) == 1:
        return f"Pages {words[0]} have"
    return f"Pages {', '.join(words[:-1])} and {words[-1]} have"
