"""Vocabulary: numbers for tokens."""

from __future__ import annotations

from collections import Counter
from typing import Any

__all__ = ["Vocabulary"]

UNKNOWN_IDX = 0


class Vocabulary:
    """Numbers for tokens: 0 for the unknown ones, then the reserved ones, then others by frequency.

    Tokens of equal frequency are in alphabetical order.

    Args:
        counter: how often each token occurs; None for no tokens.
        most_freq_count: how many tokens of the counter there are at most; None or a negative number for all.
        min_freq: how often they occur at least, 1 or more.
        unknown_token: the token that replaces unknown ones.
        reserved_tokens: tokens that are there in any case.

    Raises:
        AssertionError: `min_freq` is not positive, a reserved token is the unknown one or there twice, or `counter` is
            no Counter.

    Example:
        >>> from collections import Counter
        >>> vocabulary = mx.contrib.text.vocab.Vocabulary(Counter("abbccc"), min_freq=2, reserved_tokens=["<pad>"])
        >>> vocabulary.idx_to_token, vocabulary.to_indices(["b", "a"])
        (['<unk>', '<pad>', 'c', 'b'], [3, 0])

    Source: `mxnet.contrib.text.vocab.Vocabulary` of MXNet 1.9.1.
    """

    def __init__(
        self,
        counter: Counter[str] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: str = "<unk>",
        reserved_tokens: list[str] | None = None,
    ) -> None:
        assert min_freq > 0, "`min_freq` must be set to a positive value."
        special = list(reserved_tokens or ())
        assert unknown_token not in special, "`reserved_token` cannot contain `unknown_token`."
        assert len(set(special)) == len(special), "`reserved_tokens` cannot contain duplicate reserved tokens."
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else special
        self._idx_to_token = [unknown_token, *special]
        if counter is not None:
            assert isinstance(counter, Counter), "`counter` must be an instance of collections.Counter."
            known = set(self._idx_to_token)
            frequent = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
            chosen = [token for token, count in frequent if count >= min_freq and token not in known]
            at_most = None if most_freq_count is not None and most_freq_count < 0 else most_freq_count
            self._idx_to_token += chosen[:at_most]
        self._token_to_idx = {token: i for i, token in enumerate(self._idx_to_token)}

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[str, int]:
        """The number of each token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[str]:
        """The tokens in the order of their numbers."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> str:
        """The token that replaces unknown tokens."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[str] | None:
        """Tokens that the vocabulary always contains."""
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """The number of a token, or of each of a list; 0 for unknown ones."""
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, UNKNOWN_IDX) for token in tokens]
        return self._token_to_idx.get(tokens, UNKNOWN_IDX)

    def to_tokens(self, indices: Any) -> Any:
        """The token of a number, or of each of a list; ValueError for a number that there is not."""
        tokens = []
        for i in indices if isinstance(indices, list) else [indices]:
            if not isinstance(i, int) or i >= len(self._idx_to_token):
                raise ValueError(f"Token index {i} in the provided `indices` is invalid.")
            tokens.append(self._idx_to_token[i])
        return tokens if isinstance(indices, list) else tokens[0]
