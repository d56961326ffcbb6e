"""Datasets of the lines of text files."""

import threading

from compatgrad.chainer.dataset import dataset_mixin


class TextDataset(dataset_mixin.DatasetMixin):
    """Dataset of the lines of a text file, or of tuples of the lines of several, read at each access.

    `paths`: a path or a list of them. `encoding`, `errors`, `newline`: as of `open`, one for all files or a
    list. `filter_func`: keeps the lines for which ``filter_func(*lines)`` is true. Raises ValueError where
    no file is given, lists differ in length or files in their number of lines.
    """

    def __init__(self, paths, encoding=None, errors=None, newline=None, filter_func=None):
        if isinstance(paths, str):
            paths = [paths]
        elif not paths:
            raise ValueError("at least one text file must be specified")
        self._paths = paths
        self._encoding, self._errors, self._newline = options = [
            [option] * len(paths) if option is None or isinstance(option, str) else option
            for option in (encoding, errors, newline)
        ]
        if any(len(option) != len(paths) for option in options):
            raise ValueError("length of each option must match with the number of text files to read")
        self._open()
        self._find_lines(filter_func)

    def _find_lines(self, filter_func):
        self._bounds = tuple([[0] for _ in self._fps])  # start of each line in each file
        kept = []
        number = 0
        while True:
            lines = [fp.readline() for fp in self._fps]
            if not all(lines):
                if any(lines):
                    raise ValueError("number of lines in files does not match")
                break
            for bounds, fp in zip(self._bounds, self._fps, strict=True):
                bounds.append(fp.tell())
            if filter_func is not None and filter_func(*lines):
                kept.append(number)
            number += 1
        self._lines = range(number) if filter_func is None else kept

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["_fps"], state["_lock"]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._open()

    def __len__(self):
        return len(self._lines)

    def _open(self):
        self._lock = threading.Lock()
        self._fps = [
            open(path, encoding=encoding, errors=errors, newline=newline)
            for path, encoding, errors, newline in zip(
                self._paths, self._encoding, self._errors, self._newline, strict=True
            )
        ]

    def close(self):
        """Close the files, all of them also where one fails."""
        error = None
        for fp in self._fps:
            try:
                fp.close()
            except Exception as e:
                error = e
        if error is not None:
            raise error

    def get_example(self, idx):
        if not 0 <= idx < len(self._lines):
            raise IndexError(f"dataset index out of range: {idx} of {len(self._lines)}")
        number = self._lines[idx]
        with self._lock:
            for fp, bounds in zip(self._fps, self._bounds, strict=True):
                fp.seek(bounds[number])
            lines = tuple([fp.readline() for fp in self._fps])
        return lines[0] if len(lines) == 1 else lines
