"""Runs only in the sandboxed child: bytes of one untrusted file in, text or a refusal out.

`child.py` is its entry. No module here may import Stagepost's core or Pydantic: the child's
start-up is paid for every document.
"""
