"""Whether a clause speaks to the software that reads it, in the open or hidden.

Nothing depends on finding every such text: what a model answers is screened all the same. But where
one is found, a model's "no issue" about that clause is not relied on.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_ADDRESSED: Final = (
    (
        r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}"
        r"\b(?:instruction|prompt|guideline|(?:previous|prior|above|all) (?:rule|command|direction))"
    ),
    r"\byou are (?:now )?(?:an? |the )?.{0,30}\b(?:assistant|language model|ai|reviewer|chatbot)\b",
    (
        r"\b(?:attention|dear|note to|instructions? (?:to|for)|message (?:to|for)) (?:the |any |all )?.{0,20}"
        r"\b(?:ai|llms?|language models?|assistants?|chatbots?|automated reviewers?|gpt)\b"
    ),
    (
        r"(?:^|\n)\W{0,12}(?:system|assistant|user|developer)\W{0,3}[:>] {0,3}\S"
        r"|#{2,6} ?(?:system|instruction|assistant)"
    ),
    (
        r"\b(?:report|answer|respond|output|return|reply|say|state)\b.{0,40}"
        r"(?:\bno (?:risk|issue|finding|problem)|no-issue|\bverdict\b)"
    ),
    r"\"(?:verdict|findings|lawreference|role)\" ?: ?",
    (
        r"\b(?:reveal|print|repeat|show|send|post|fetch|output)\b.{0,60}"
        r"(?:system prompt|api[ _-]?key|your instructions|environment variable|https?://)"
    ),
    r"<\|?(?:im_start|im_end|system|end)|\[/?inst\]|<<sys>>|\b(?:begin|end) (?:of )?data\b",
    r"(?:忽略|无视|忘记|不要理会|不必遵守).{0,20}(?:指令|指示|提示|系统|要求|说明|规则)",
    r"(?:你是|你现在是|作为)一?[个名]?.{0,12}(?:人工智能|语言模型|助手|审查机器人|审查系统|ai)",
    r"(?:系统提示|系统消息|系统指令)[:：]|(?:输出|打印|透露|发送).{0,12}(?:提示词|系统提示|密钥)",
    r"(?:回答|输出|报告|返回|回复|判定|标记).{0,20}(?:无风险|没有风险|不存在风险|没有问题|no-issue)",
)
_PATTERNS: Final = tuple(re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in _ADDRESSED)
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{24,4000}+={0,2}")
_ENCODED_MOST = 20  # stretches that are looked into
_HIDDEN_MOST = 8  # invisible characters that typing and typesetting leave
_USUAL = "\u00ad\ufeff\n\t\r"  # soft hyphens and marks of the byte order; white space


def addresses_software(text: str) -> bool:
    """Whether a text addresses a program that reads it, or hides characters from its readers."""
    hidden = sum(
        unicodedata.category(letter) in {"Cf", "Co", "Cc"}
        for letter in text
        if letter not in _USUAL
    )
    return hidden > _HIDDEN_MOST or any(_speaks(told) for told in _readings(text))


def _speaks(text: str) -> bool:
    return any(pattern.search(text) for pattern in _PATTERNS)


def _readings(text: str) -> Iterator[str]:
    """The text as a reader sees it, and what base 64 in it stands for."""
    shown = "".join(
        letter for letter in text if letter == "\n" or unicodedata.category(letter)[0] != "C"
    )
    yield shown
    for number, found in enumerate(_ENCODED.finditer(shown)):
        if number == _ENCODED_MOST:
            return
        yield _decoded(found[0])


def _decoded(word: str) -> str:
    digits = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(digits[: len(digits) // 4 * 4], validate=True)
    except binascii.Error:
        return ""
    return data.decode("utf-8", "ignore")
