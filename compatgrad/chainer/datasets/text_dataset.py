"""Datasets of the lines of text files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from compatgrad.chainer.dataset import dataset_mixin
from compatgrad.core.files import naming


def _line(fp):
    with naming(fp.name):
        return fp.readline()


class TextDataset(dataset_mixin.DatasetMixin):
    """The lines of a text file, or tuples of the lines of several, read at each access. Lines keep their ends.

    Args:
        paths: a path or several.
        encoding, errors, newline: as for `open`; one value for all files, or one for each.
        filter_func: keeps the lines for which `filter_func(*lines)` is true; None keeps all.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no path is given, the length of an option is not the number of files, or files differ in their
            number of lines.

    Example:
        >>> with open("words.txt", "w") as f:
        ...     count = f.write("one\\ntwo\\nthree\\n")
        >>> data = chainer.datasets.TextDataset("words.txt", filter_func=lambda line: line.startswith("t"))
        >>> len(data), data[1]
        (2, 'three\\n')

    Source: `chainer.datasets.TextDataset` of Chainer 7.8.1.
    """

    def __init__(
        self,
        paths: str | Sequence[str],
        encoding: str | Sequence[str | None] | None = None,
        errors: str | Sequence[str | None] | None = None,
        newline: str | Sequence[str | None] | None = None,
        filter_func: Callable[..., Any] | None = None,
    ) -> None:
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
        self._bounds = tuple([[0] for _ in self._fps])  # for each file, the position of each line
        kept = []
        number = 0
        while True:
            lines = [_line(fp) for fp in self._fps]
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

    def close(self) -> None:
        """Close all files, even where closing one fails."""
        error = None
        for fp in self._fps:
            try:
                fp.close()
            except Exception as e:
                error = e
        if error is not None:
            try:
                raise error
            finally:
                del error  # the traceback refers to this frame; a frame that refers to the error makes a cycle

    def get_example(self, idx: int) -> Any:
        """A line, or a tuple of the lines of all files. Raises IndexError for an index out of range."""
        if not 0 <= idx < len(self._lines):
            raise IndexError(f"dataset index out of range: {idx} of {len(self._lines)}")
        number = self._lines[idx]
        with self._lock:
            for fp, bounds in zip(self._fps, self._bounds, strict=True):
                fp.seek(bounds[number])
            lines = tuple([_line(fp) for fp in self._fps])
        return lines[0] if len(lines) == 1 else lines
