"""`count_tokens_from_str`: counts the tokens of a text."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["count_tokens_from_str"]


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    r"""Counts how often each token occurs in a text.

    Args:
        source_str: the text.
        token_delim: what is between tokens, a regular expression.
        seq_delim: what is between sequences, a regular expression.
        to_lower: tokens are counted in lower case.
        counter_to_update: a Counter to add to; None for a new one.

    Returns:
        The Counter.

    Raises:
        TypeError: `source_str` is no str.
        re.error: a delimiter is no regular expression.

    Example:
        >>> mx.contrib.text.utils.count_tokens_from_str("Life is great \n life is good", to_lower=True)
        Counter({'life': 2, 'is': 2, 'great': 1, 'good': 1})

    Source: `mxnet.contrib.text.utils.count_tokens_from_str` of MXNet 1.9.1.
    """
    tokens = [t for t in re.split(f"{token_delim}|{seq_delim}", source_str) if t]
    counter: Counter[str] = Counter() if counter_to_update is None else counter_to_update
    counter.update(t.lower() for t in tokens) if to_lower else counter.update(tokens)
    return counter
