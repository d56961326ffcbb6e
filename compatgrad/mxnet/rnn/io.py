"""Encodes sentences as numbers, and iterates over batches of sentences of similar length."""

from __future__ import annotations

import bisect
import random
from typing import Any

import numpy as np

from .. import ndarray
from ..io import DataBatch, DataDesc, DataIter

__all__ = ["BucketSentenceIter", "encode_sentences"]


def encode_sentences(
    sentences: Any,
    vocab: dict[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Any = "\n",
    start_label: int = 0,
    unknown_token: Any = None,
) -> tuple[list[list[int]], dict[Any, int]]:
    r"""Sentences of words as lists of numbers.

    Args:
        sentences: the sentences, lists of words.
        vocab: the number of each word, a dict to which new words are added; None makes one.
        invalid_label: the number of `invalid_key`, which new words do not get.
        invalid_key: what stands for the end of sentences in a new vocabulary.
        start_label: the first new number.
        unknown_token: the word that replaces words that are not in `vocab`; None gives them numbers in a new
            vocabulary.

    Returns:
        The lists of numbers, and the vocabulary.

    Raises:
        AssertionError: `vocab` lacks a word, and there is no `unknown_token`.

    Example:
        >>> mx.rnn.encode_sentences([["to", "be"], ["be", "or"]], start_label=1)
        ([[1, 2], [2, 3]], {'\n': -1, 'to': 1, 'be': 2, 'or': 3})

    Source: `mxnet.rnn.encode_sentences` of MXNet 1.9.1.
    """
    is_new = vocab is None
    words: dict[Any, int] = {invalid_key: invalid_label} if vocab is None else vocab
    number = start_label
    result = []
    for sentence in sentences:
        coded = []
        for word in sentence:
            if word not in words:
                assert is_new or unknown_token, f"Unknown token {word}"
                if number == invalid_label:
                    number += 1
                if unknown_token:
                    word = unknown_token
                words[word] = number
                number += 1
            coded.append(words[word])
        result.append(coded)
    return result, words


class BucketSentenceIter(DataIter):
    """Batches of sentences, filled up to the smallest of some lengths that holds them.

    The label of a word is the next word. Sentences longer than all lengths are left out, and their number is printed.

    Args:
        sentences: the sentences, lists of numbers.
        batch_size: sentences in a batch; those that do not fill one are left out.
        buckets: the lengths; None for all that `batch_size` sentences or more have.
        invalid_label: the number that fills up sentences, and the label of the last word.
        data_name, label_name: names of data and labels.
        dtype: dtype of both.
        layout: "NT" or "TN", whether sentences are rows or columns.

    Raises:
        ValueError: `layout` has another value, or no sentence fits a length.

    Example:
        >>> batches = mx.rnn.BucketSentenceIter([[1, 2], [3, 4], [5]], batch_size=2, buckets=[2, 3], invalid_label=0)
        WARNING: discarded 0 sentences longer than the largest bucket.
        >>> batch = next(batches)
        >>> batch.bucket_key, batch.data[0].shape
        (2, (2, 2))

    Source: `mxnet.rnn.BucketSentenceIter` of MXNet 1.9.1.
    """

    def __init__(
        self,
        sentences: Any,
        batch_size: int,
        buckets: list[int] | None = None,
        invalid_label: float = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__()
        if not buckets:
            counts = np.bincount([len(s) for s in sentences])
            buckets = [length for length, count in enumerate(counts) if count >= batch_size]
        buckets.sort()
        filled: list[list[np.ndarray]] = [[] for _ in buckets]
        discarded = 0
        for sentence in sentences:
            i = bisect.bisect_left(buckets, len(sentence))
            if i == len(buckets):
                discarded += 1
                continue
            row = np.full((buckets[i],), invalid_label, dtype=dtype)
            row[: len(sentence)] = sentence
            filled[i].append(row)
        print(f"WARNING: discarded {discarded} sentences longer than the largest bucket.")
        self.buckets = [length for length, rows in zip(buckets, filled, strict=True) if rows]
        self.data = [np.asarray(rows, dtype=dtype) for rows in filled if rows]
        self.batch_size = batch_size
        self.data_name, self.label_name = data_name, label_name
        self.dtype, self.invalid_label = dtype, invalid_label
        self.layout = layout
        self.major_axis = layout.find("N")
        if self.major_axis not in (0, 1):
            raise ValueError(f"Invalid layout {layout}: Must by NT (batch major) or TN (time major)")
        self.default_bucket_key = max(self.buckets)
        shape = (batch_size, self.default_bucket_key)
        self.provide_data, self.provide_label = self._described(shape if self.major_axis == 0 else shape[::-1])
        self.idx = [
            (i, j) for i, rows in enumerate(self.data) for j in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self.reset()

    def _described(self, shape: tuple[int, ...]) -> tuple[list[DataDesc], list[DataDesc]]:
        return (
            [DataDesc(name=self.data_name, shape=shape, layout=self.layout)],
            [DataDesc(name=self.label_name, shape=shape, layout=self.layout)],
        )

    def reset(self) -> None:
        """Begins again, in another order of sentences and batches."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata: list[Any] = []
        self.ndlabel: list[Any] = []
        for rows in self.data:
            np.random.shuffle(rows)
            label = np.full_like(rows, self.invalid_label)
            label[:, :-1] = rows[:, 1:]
            self.nddata.append(ndarray.array(rows, dtype=self.dtype))
            self.ndlabel.append(ndarray.array(label, dtype=self.dtype))

    def next(self) -> DataBatch:
        """The next batch, whose `bucket_key` is its length; StopIteration at the end."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        i, j = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (x[i][j : j + self.batch_size] for x in (self.nddata, self.ndlabel))
        if self.major_axis == 1:
            data, label = data.T, label.T
        provide_data, provide_label = self._described(data.shape)
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=self.buckets[i],
            provide_data=provide_data,
            provide_label=provide_label,
        )
