"""Texts for language models."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import numpy as np

from compatgrad.core.files import replacing

from .... import base
from .... import ndarray as nd
from ...._docs import sharing
from ....contrib.text import utils, vocab
from ...data import dataset
from ...utils import _get_repo_file_url, check_sha1, download

__all__ = ["WikiText103", "WikiText2"]

_END = "<eos>"


class _LanguageModelDataset(dataset._DownloadedDataset):
    """Base class of texts with a vocabulary."""

    def __init__(self, root: str, namespace: str, vocabulary: Any) -> None:
        self._vocab = vocabulary
        self._counter: Any = None
        self._namespace = namespace
        super().__init__(root, None)

    @property
    def vocabulary(self) -> Any:
        """The Vocabulary, of this text unless one was given."""
        return self._vocab

    @property
    def frequencies(self) -> Any:
        """The number of occurrences of each token in the text."""
        return self._counter

    def _build_vocab(self, content: str) -> None:
        if not self._counter:
            self._counter = utils.count_tokens_from_str(content)
        if not self._vocab:
            self._vocab = vocab.Vocabulary(counter=self._counter, reserved_tokens=[_END])


class _WikiText(_LanguageModelDataset):
    """Sample i is `seq_len` tokens, and those that follow each of them; lines end with <eos>."""

    _archive: tuple[str, str]
    _files: dict[str, tuple[str, str]]
    _name = ""

    def __init__(self, root: str | None = None, segment: str = "train", vocab: Any = None, seq_len: int = 35) -> None:
        self._segment = segment
        self._seq_len = seq_len
        folder = os.path.join(base.data_dir(), "datasets", self._name)
        super().__init__(folder if root is None else root, self._name, vocab)

    def _get_data(self) -> None:
        name, sha1 = self._files[self._segment]
        path = os.path.join(self._root, name)
        if not os.path.exists(path) or not check_sha1(path, sha1):
            url = _get_repo_file_url("gluon/dataset/" + self._namespace, self._archive[0])
            archive = download(url, path=self._root, sha1_hash=self._archive[1])
            with zipfile.ZipFile(archive) as content:
                for member in content.namelist():
                    if os.path.basename(member):
                        with replacing(os.path.join(self._root, os.path.basename(member))) as out:
                            out.write(content.read(member))
        with open(path, encoding="utf8") as text:
            content_text = text.read()
        self._build_vocab(content_text)
        lines = [line.split() for line in content_text.splitlines()]
        tokens = [token for line in lines if line for token in (*line, _END)]
        numbers = np.array(self._vocab.to_indices(tokens), dtype=np.int32)
        count = (len(numbers) - 1) // self._seq_len * self._seq_len
        self._data = nd.array(numbers[:count], dtype=np.int32).reshape((-1, self._seq_len))
        self._label = nd.array(numbers[1 : count + 1], dtype=np.int32).reshape((-1, self._seq_len))

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx], self._label[idx]


_TEXT = """
    Lines end with the token <eos>. Files that are missing are downloaded.

    Args:
        root: the folder of the files; None is `datasets/{folder}` in the environment's MXNET_HOME, or in ~/.mxnet.
        segment: "train", "validation" or "test".
        vocab: the Vocabulary that gives tokens their numbers; None makes one of the text.
        seq_len: how many tokens a sample has.

    Raises:
        KeyError: `segment` has another value.
        Exception: a file is missing and cannot be downloaded.

    Example:
        train = gluon.contrib.data.text.{name}(segment="train", seq_len=35)
        batches = gluon.data.DataLoader(train, batch_size=20)

    Source: `mxnet.gluon.contrib.data.text.{name}` of MXNet 1.9.1.
"""


@sharing(_TEXT, folder="wikitext-2")
class WikiText2(_WikiText):
    """Texts of Wikipedia (Merity and others, 2016): sample i is `seq_len` tokens, int32, and those that follow each of
    them.
    """

    _name = "wikitext-2"
    _archive = ("wikitext-2-v1.zip", "3c914d17d80b1459be871a5039ac23e752a53cbe")
    _files = {
        "train": ("wiki.train.tokens", "863f29c46ef9d167fff4940ec821195882fe29d1"),
        "validation": ("wiki.valid.tokens", "0418625c8b4da6e4b5c7a0b9e78d4ae8f7ee5422"),
        "test": ("wiki.test.tokens", "c7b8ce0aa086fb34dab808c5c49224211eb2b172"),
    }


@sharing(_TEXT, folder="wikitext-103")
class WikiText103(_WikiText):
    """Texts of Wikipedia (Merity and others, 2016): sample i is `seq_len` tokens, int32, and those that follow each of
    them.
    """

    _name = "wikitext-103"
    _archive = ("wikitext-103-v1.zip", "0aec09a7537b58d4bb65362fee27650eeaba625a")
    _files = {
        "train": ("wiki.train.tokens", "b7497e2dfe77e72cfef5e3dbc61b7b53712ac211"),
        "validation": ("wiki.valid.tokens", "c326ac59dc587676d58c422eb8a03e119582f92b"),
        "test": ("wiki.test.tokens", "8a5befc548865cec54ed4273cf87dbbad60d1e47"),
    }
