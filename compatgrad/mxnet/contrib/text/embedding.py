"""Embeddings: vocabularies whose tokens have vectors, which are read from files."""

from __future__ import annotations

import logging
import os
import warnings
import zipfile
from typing import Any

from compatgrad.core.files import naming

from ... import base, registry
from ... import ndarray as nd
from ... import numpy as mx_np
from ...util import is_np_array
from . import _files
from .vocab import UNKNOWN_IDX, Vocabulary

__all__ = ["CompositeEmbedding", "CustomEmbedding", "FastText", "GloVe", "create", "get_pretrained_file_names",
           "register"]  # fmt: skip


def _array(values: Any) -> Any:
    if is_np_array():
        return mx_np.array(values)
    return nd.array(values)


class _TokenEmbedding(Vocabulary):
    """Base class: a vocabulary with a vector for each token."""

    pretrained_file_name_sha1: dict[str, str] = {}
    _vec_len = 0
    _idx_to_vec: Any = None

    # ---- files ----

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        """The archive that has the file."""
        return pretrained_file_name

    @classmethod
    def _get_pretrained_file_url(cls, pretrained_file_name: str) -> str:
        repository = os.environ.get("MXNET_GLUON_REPO", _files.REPOSITORY)
        archive = cls._get_download_file_name(pretrained_file_name)
        return f"{repository}gluon/embeddings/{cls.__name__.lower()}/{archive}"

    @classmethod
    def _get_pretrained_file(cls, embedding_root: str, pretrained_file_name: str) -> str:
        """The path of a file, which is downloaded if it is missing or damaged."""
        from ...gluon.utils import check_sha1, download

        folder = os.path.join(os.path.expanduser(embedding_root), cls.__name__.lower())
        path = os.path.join(folder, pretrained_file_name)
        if not os.path.exists(path) or not check_sha1(path, cls.pretrained_file_name_sha1[pretrained_file_name]):
            url = cls._get_pretrained_file_url(pretrained_file_name)
            archive = download(url, os.path.join(folder, os.path.basename(url)))
            if archive.endswith(".zip"):
                with zipfile.ZipFile(archive) as content:
                    content.extractall(folder)
        return path

    @classmethod
    def _check_pretrained_file_names(cls, pretrained_file_name: str) -> None:
        if pretrained_file_name not in cls.pretrained_file_name_sha1:
            kind = cls.__name__.lower()
            raise KeyError(
                f"Cannot find pretrained file {pretrained_file_name} for token embedding {kind}. Valid pretrained "
                f"files for embedding {kind}: {', '.join(cls.pretrained_file_name_sha1)}"
            )

    def _load_embedding(
        self, pretrained_file_path: str, elem_delim: str, init_unknown_vec: Any, encoding: str = "utf8"
    ) -> None:
        """Reads lines of a token and its vector."""
        path = os.path.expanduser(pretrained_file_path)
        if not os.path.isfile(path):
            raise ValueError("`pretrained_file_path` must be a valid path to the pre-trained token embedding file.")
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        vectors: list[list[float]] = []
        unknown: list[float] | None = None
        seen: set[str] = set()
        with open(path, encoding=encoding) as lines, naming(path), naming(path, to=AssertionError):
            for number, line in enumerate(lines, 1):
                token, *texts = line.rstrip().split(elem_delim)
                where = f"At line {number} of the pre-trained text embedding file"
                assert texts, f"{where}: the data format of {path} is unexpected."
                vector = [float(text) for text in texts]
                if token == self.unknown_token and unknown is None:
                    unknown = vector
                    seen.add(token)
                elif token in seen:
                    warnings.warn(
                        f"{where}: the embedding vector for token {token} has been loaded and a duplicate embedding "
                        "for the same token is seen and skipped.",
                        stacklevel=3,
                    )
                elif len(vector) == 1:
                    warnings.warn(
                        f"{where}: token {token} with 1-dimensional vector {vector} is likely a header and is skipped.",
                        stacklevel=3,
                    )
                else:
                    assert not vectors or len(vector) == len(vectors[0]), (
                        f"{where}: the dimension of token {token} is {len(vector)} but the dimension of previous "
                        f"tokens is {len(vectors[0])}. Dimensions of all the tokens must be the same."
                    )
                    vectors.append(vector)
                    seen.add(token)
                    self._token_to_idx[token] = len(self._idx_to_token)
                    self._idx_to_token.append(token)
        if not vectors:
            raise TypeError(f"the pre-trained text embedding file {path} has no vectors")
        self._vec_len = len(vectors[0])
        special = len(self._idx_to_token) - len(vectors)
        self._idx_to_vec = _array([[0.0] * self._vec_len] * special + vectors)
        if unknown is None:
            first = init_unknown_vec(shape=self._vec_len)
            self._idx_to_vec[UNKNOWN_IDX] = first.as_np_ndarray() if is_np_array() else first
        else:
            self._idx_to_vec[UNKNOWN_IDX] = _array(unknown)

    # ---- other vocabularies ----

    def _index_tokens_from_vocabulary(self, vocabulary: Vocabulary) -> None:
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = None if vocabulary.reserved_tokens is None else list(vocabulary.reserved_tokens)

    def _set_idx_to_vec_by_embeddings(self, token_embeddings: Any, vocab_len: int, vocab_idx_to_token: Any) -> None:
        """The vectors of all embeddings side by side, for the tokens of a vocabulary."""
        width = sum(e.vec_len for e in token_embeddings)
        vectors = _array([[0.0] * width] * vocab_len)
        end = 0
        for e in token_embeddings:
            begin, end = end, end + e.vec_len
            vectors[0, begin:end] = e.idx_to_vec[0]
            if vocab_len > 1:
                vectors[1:, begin:end] = e.get_vecs_by_tokens(vocab_idx_to_token[1:])
        self._vec_len, self._idx_to_vec = width, vectors

    def _build_embedding_for_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        if vocabulary is not None:
            assert isinstance(vocabulary, Vocabulary), (
                "The argument `vocabulary` must be an instance of mxnet.contrib.text.vocab.Vocabulary."
            )
            self._set_idx_to_vec_by_embeddings([self], len(vocabulary), vocabulary.idx_to_token)
            self._index_tokens_from_vocabulary(vocabulary)

    # ---- vectors ----

    @property
    def vec_len(self) -> int:
        """The length of the vectors."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> Any:
        """The vectors in the order of the tokens' numbers, an array."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: Any, lower_case_backup: bool = False) -> Any:
        """The vector of a token, or of each of a list; unknown tokens have the vector with index 0.

        lower_case_backup: unknown tokens are searched in lower case.
        """
        numbers = []
        for token in tokens if isinstance(tokens, list) else [tokens]:
            if lower_case_backup and token not in self._token_to_idx:
                token = token.lower()
            numbers.append(self._token_to_idx.get(token, UNKNOWN_IDX))
        vectors = self._idx_to_vec[_array(numbers).astype("int64")]
        return vectors if isinstance(tokens, list) else vectors[0]

    def update_token_vectors(self, tokens: Any, new_vectors: Any) -> None:
        """Sets the vectors of a token or a list of tokens; ValueError for unknown tokens."""
        assert self._idx_to_vec is not None, "The property `idx_to_vec` has not been properly set."
        single = not isinstance(tokens, list) or len(tokens) == 1
        assert isinstance(new_vectors, nd.NDArray) and new_vectors.ndim in ((1, 2) if single else (2,)), (
            "`new_vectors` must be a 2-D NDArray, or 1-D if `tokens` is a singleton."
        )
        tokens = tokens if isinstance(tokens, list) else [tokens]
        if new_vectors.ndim == 1:
            new_vectors = new_vectors.expand_dims(axis=0)
        assert new_vectors.shape == (len(tokens), self._vec_len), (
            "The length of new_vectors must be equal to the number of tokens and the width of new_vectors must be "
            "equal to the dimension of embeddings of the glossary."
        )
        for token in tokens:
            if token not in self._token_to_idx:
                raise ValueError(
                    f"Token {token} is unknown. To update the embedding vector for an unknown token, please specify it "
                    f"explicitly as the `unknown_token` {self._idx_to_token[UNKNOWN_IDX]} in `tokens`. This is to "
                    "avoid unintended updates."
                )
        self._idx_to_vec[_array([self._token_to_idx[token] for token in tokens]).astype("int64")] = new_vectors


_register = registry.get_register_func(_TokenEmbedding, "token embedding")
_create = registry.get_create_func(_TokenEmbedding, "token embedding")


def register(embedding_cls: Any) -> Any:
    """Makes a class of embeddings known to `create` by its name in lower case; a class decorator.

    Args:
        embedding_cls: the class, derived from one of this module.

    Returns:
        The class.

    Raises:
        AssertionError: it is no class of embeddings.

    Example:
        >>> @mx.contrib.text.embedding.register
        ... class DocEmbedding(mx.contrib.text.embedding.CustomEmbedding): pass
        >>> mx.contrib.text.embedding.get_pretrained_file_names("docembedding")
        []

    Source: `mxnet.contrib.text.embedding.register` of MXNet 1.9.1.
    """
    return _register(embedding_cls)


def create(embedding_name: str, **kwargs: Any) -> Any:
    """An embedding by the name of its class.

    Args:
        embedding_name: the name, such as "glove" or "fasttext", in any case.
        **kwargs: arguments of the class.

    Returns:
        The embedding.

    Raises:
        AssertionError: there is no class of that name.

    Example:
        With network access, or with the file in the folder::

            mx.contrib.text.embedding.create("glove", pretrained_file_name="glove.6B.50d.txt")

    Source: `mxnet.contrib.text.embedding.create` of MXNet 1.9.1.
    """
    return _create(embedding_name, **kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """The names of the files of pretrained embeddings.

    Args:
        embedding_name: name of the embedding's class in lower case; None for all.

    Returns:
        A list of names; for None, a dict of such lists by names of classes.

    Raises:
        KeyError: there is no class of that name.

    Example:
        >>> mx.contrib.text.embedding.get_pretrained_file_names("glove")[:2]
        ['glove.42B.300d.txt', 'glove.6B.50d.txt']

    Source: `mxnet.contrib.text.embedding.get_pretrained_file_names` of MXNet 1.9.1.
    """
    known = registry.get_registry(_TokenEmbedding)
    if embedding_name is None:
        return {name: list(cls.pretrained_file_name_sha1) for name, cls in known.items()}
    if embedding_name not in known:
        raise KeyError(
            f"Cannot find `embedding_name` {embedding_name}. Use "
            "`get_pretrained_file_names(embedding_name=None).keys()` to get all the valid embedding names."
        )
    return list(known[embedding_name].pretrained_file_name_sha1)


class _FileEmbedding(_TokenEmbedding):
    """An embedding of a file that is known by name."""

    _default_file = ""

    def __init__(
        self,
        pretrained_file_name: str | None = None,
        embedding_root: str | None = None,
        init_unknown_vec: Any = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        name = self._default_file if pretrained_file_name is None else pretrained_file_name
        self._check_pretrained_file_names(name)
        super().__init__(**kwargs)
        root = os.path.join(base.data_dir(), "embeddings") if embedding_root is None else embedding_root
        self._load_embedding(self._get_pretrained_file(root, name), " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


@register
class GloVe(_FileEmbedding):
    """GloVe's vectors of words, from one of its files.

    Args:
        pretrained_file_name: name of the file, which is downloaded if it is missing; None is
            "glove.840B.300d.txt".
        embedding_root: the folder that has, or gets, it in `glove`; None is `embeddings` in `mx.base.data_dir()`.
        init_unknown_vec: makes the vector of unknown tokens, called with `shape`.
        vocabulary: the tokens that are kept; None for all of the file.
        **kwargs: arguments of Vocabulary, if `vocabulary` is None.

    Raises:
        KeyError: the name of the file is not known.
        OSError: the file cannot be downloaded.

    Example:
        With network access, or with the file in the folder::

            glove = mx.contrib.text.embedding.GloVe("glove.6B.50d.txt")
            glove.get_vecs_by_tokens(["hello", "world"])

    Source: `mxnet.contrib.text.embedding.GloVe` of MXNet 1.9.1; Pennington, Socher and Manning, GloVe: Global Vectors
        for Word Representation, 2014.
    """

    pretrained_file_name_sha1 = _files.GLOVE_SHA1
    _default_file = "glove.840B.300d.txt"

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        """The archive of a file: one archive has the files of all vector lengths."""
        parts = pretrained_file_name.split(".")
        keep = 2 if parts[1] == "6B" else 3
        return ".".join(parts[:keep]) + ".zip"


@register
class FastText(_FileEmbedding):
    """fastText's vectors of words, from one of its files.

    Args:
        pretrained_file_name: name of the file, which is downloaded if it is missing; None is "wiki.simple.vec".
        embedding_root: the folder that has, or gets, it in `fasttext`; None is `embeddings` in `mx.base.data_dir()`.
        init_unknown_vec: makes the vector of unknown tokens, called with `shape`.
        vocabulary: the tokens that are kept; None for all of the file.
        **kwargs: arguments of Vocabulary, if `vocabulary` is None.

    Raises:
        KeyError: the name of the file is not known.
        OSError: the file cannot be downloaded.

    Example:
        With network access, or with the file in the folder::

            words = mx.contrib.text.embedding.FastText("wiki.simple.vec")
            words.get_vecs_by_tokens(["hello", "world"])

    Source: `mxnet.contrib.text.embedding.FastText` of MXNet 1.9.1; Bojanowski et al., Enriching Word Vectors with
        Subword Information, 2017.
    """

    pretrained_file_name_sha1 = _files.FAST_TEXT_SHA1
    _default_file = "wiki.simple.vec"

    @classmethod
    def _get_download_file_name(cls, pretrained_file_name: str) -> str:
        """The archive of a file: each file has its own."""
        return pretrained_file_name.rpartition(".")[0] + ".zip"


class CustomEmbedding(_TokenEmbedding):
    r"""The vectors of words of a file of one's own: lines of a token and its numbers.

    Args:
        pretrained_file_path: the file.
        elem_delim: what is between token and numbers.
        encoding: encoding of the file.
        init_unknown_vec: makes the vector of unknown tokens, called with `shape`, where the file has none.
        vocabulary: the tokens that are kept; None for all of the file.
        **kwargs: arguments of Vocabulary, if `vocabulary` is None.

    Raises:
        ValueError: there is no such file, or an element of a vector is not a number.
        AssertionError: a line has no numbers, or not as many as those before.
        TypeError: the file has no vectors.

    Example:
        >>> import pathlib
        >>> written = pathlib.Path("vectors.txt").write_text("hello 1 2\nworld 3 4\n")
        >>> words = mx.contrib.text.embedding.CustomEmbedding("vectors.txt")
        >>> words.get_vecs_by_tokens(["world", "peace"]).asnumpy()
        array([[3., 4.],
               [0., 0.]], dtype=float32)

    Source: `mxnet.contrib.text.embedding.CustomEmbedding` of MXNet 1.9.1.
    """

    def __init__(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Any = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    r"""The vectors of several embeddings side by side.

    Args:
        vocabulary: the tokens that have vectors.
        token_embeddings: an embedding, or a list of them.

    Raises:
        AssertionError: an argument is of another class.

    Example:
        >>> import pathlib
        >>> written = pathlib.Path("vectors.txt").write_text("hello 1 2\nworld 3 4\n")
        >>> words = mx.contrib.text.embedding.CustomEmbedding("vectors.txt")
        >>> both = mx.contrib.text.embedding.CompositeEmbedding(words, [words, words])
        >>> both.get_vecs_by_tokens("world").asnumpy()
        array([3., 4., 3., 4.], dtype=float32)

    Source: `mxnet.contrib.text.embedding.CompositeEmbedding` of MXNet 1.9.1.
    """

    def __init__(self, vocabulary: Vocabulary, token_embeddings: Any) -> None:
        assert isinstance(vocabulary, Vocabulary), (
            "The argument `vocabulary` must be an instance of mxnet.contrib.text.vocab.Vocabulary."
        )
        embeddings = base._as_list(token_embeddings)
        for e in embeddings:
            assert isinstance(e, _TokenEmbedding), (
                "The argument `token_embeddings` must be an instance or a list of instances of TokenEmbedding"
            )
        self._index_tokens_from_vocabulary(vocabulary)
        self._set_idx_to_vec_by_embeddings(embeddings, len(self), self.idx_to_token)
