"""How one variable of the environment is read. All raise ValueError, which names it."""

from collections.abc import Mapping, Sequence


def one_of(name: str, env: Mapping[str, str], default: str, known: Sequence[str]) -> str:
    """One of the words that are known, in any case."""
    text = env.get(name, default).lower()
    if text not in known:
        raise ValueError(f"{name} is {text!r}; it takes one of {', '.join(known)}.")
    return text


def whole(
    name: str, env: Mapping[str, str], default: int, *, least: int = 1, most: int = 2**40
) -> int:
    """A whole number."""
    text = env.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
        raise ValueError(f"{name} is {text!r}; it takes a whole number from {least} to {most}.")
    return int(text)


def days(name: str, env: Mapping[str, str], default: float) -> float:
    """Up to a hundred years."""
    return _number(name, env, default, 36_500, "days, more than 0 and at most 36500")


def seconds(name: str, env: Mapping[str, str], default: float) -> float:
    """Up to a day."""
    return _number(name, env, default, 86_400, "seconds, more than 0 and at most a day")


def _number(name: str, env: Mapping[str, str], default: float, most: int, taken: str) -> float:
    text = env.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= most:
        raise ValueError(f"{name} is {text!r}; it takes {taken}.")
    return value
