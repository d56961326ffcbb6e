"""Loads files for data sources from disk, the web and S3, by extension."""

from __future__ import annotations

import csv
import importlib.util
import io
from typing import TYPE_CHECKING

import numpy as np

from compatgrad.core.files import naming
from compatgrad.core.kept_memory import empty
from compatgrad.formats import decimals

from . import _npy_files, callback
from ._file_readers import FileReader, ResourceFileReader, get_file_extension
from .download import download, get_data_home
from .image_utils import imread, imresize

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

__all__ = [
    "FileReader",
    "ResourceFileReader",
    "download",
    "get_data_home",
    "get_file_extension",
    "load",
    "load_audio",
    "load_audio_pydub",
    "load_csv",
    "load_image",
    "load_image_imread",
    "load_npy",
    "load_wav",
]


def load_image_imread(
    file: str | BinaryIO,
    shape: tuple[int, int, int] | None = None,
    max_range: float = 1.0,
) -> np.ndarray:
    """The image in a file as an array (channels, height, width).

    Args:
        file: the file's path, or the file opened for reading bytes.
        shape: (channels, height, width) to which the image is resized; the number of channels must be the image's.
        max_range: the value of white; a negative number keeps the image's integers.

    Returns:
        Array of floats from 0 to `max_range`, or of uint8 or uint16.

    Raises:
        AssertionError: the image has another number of channels than `shape`.
        FileNotFoundError: there is no such file.

    Example:
        >>> from compatgrad.nnabla.utils.data_source_loader import load_image_imread
        >>> from compatgrad.nnabla.utils.image_utils import imsave
        >>> imsave("white.png", np.full((2, 3), 255, np.uint8))
        >>> load_image_imread("white.png", max_range=2.0)
        array([[[2., 2., 2.],
                [2., 2., 2.]]])

    Source: `nnabla.utils.data_source_loader.load_image_imread` of nnabla 1.39.0.
    """
    image = imread(file)
    if image.ndim == 2:
        image = image[..., np.newaxis]
    if shape is not None:
        channels, height, width = shape
        assert channels == image.shape[2], f"load_image: expected {channels} channels, the image has {image.shape[2]}"
        if (height, width) != image.shape[:2]:
            image = imresize(image, (width, height))
    image = image.transpose(2, 0, 1)
    white = 65535.0 if image.dtype == np.uint16 else 255.0
    if max_range < 0 or max_range == white:
        return image
    scaled = empty(image.shape, np.float64)
    return np.multiply(image, max_range / white, out=scaled)


def load_image(file: str | BinaryIO, shape: tuple[int, int, int] | None = None, normalize: bool = False) -> np.ndarray:
    """The image in a file as an array (channels, height, width).

    Args:
        file: the file's path, or the file opened for reading bytes.
        shape: (channels, height, width) to which the image is resized; the number of channels must be the image's.
        normalize: whether to map black and white to 0.0 and 1.0.

    Returns:
        Array of uint8 or uint16, or with `normalize` of floats.

    Raises:
        AssertionError: the image has another number of channels than `shape`.
        FileNotFoundError: there is no such file.

    Example:
        >>> from compatgrad.nnabla.utils.data_source_loader import load_image
        >>> from compatgrad.nnabla.utils.image_utils import imsave
        >>> imsave("red.png", np.full((2, 2, 3), (255, 0, 0), np.uint8))
        >>> load_image("red.png").shape, load_image("red.png", normalize=True)[:, 0, 0].tolist()
        ((3, 2, 2), [1.0, 0.0, 0.0])

    Source: `nnabla.utils.data_source_loader.load_image` of nnabla 1.39.0.
    """
    return load_image_imread(file, shape, 1.0 if normalize else -1)


def load_csv(file: BinaryIO, shape: tuple[int, ...] | None = None, normalize: bool = False) -> np.ndarray:
    r"""The numbers in a CSV file, which has no header.

    Args:
        file: the file, opened for reading bytes.
        shape: the result's shape; None for one row per line.
        normalize: kept for compatibility.

    Returns:
        Array of float64.

    Raises:
        ValueError: a cell is not a number, or the numbers do not fill `shape`.

    Example:
        >>> import io
        >>> from compatgrad.nnabla.utils.data_source_loader import load_csv
        >>> load_csv(io.BytesIO(b"1,2\n3,4\n"), shape=(4,))
        array([1., 2., 3., 4.])

    Source: `nnabla.utils.data_source_loader.load_csv` of nnabla 1.39.0.
    """
    with naming(file, csv.Error):
        text = file.read()
        array = decimals.table(text, np.float64)
        if array is None:
            rows = csv.reader(line.decode("utf-8") for line in io.BytesIO(text))
            array = np.array([[float(word) for word in row] for row in rows if row])
        return array if shape is None else array.reshape(shape)


def load_npy(
    path: str | BinaryIO,
    shape: tuple[int, ...] | None = None,
    normalize: bool = False,
    *,
    allow_pickle: bool | None = None,
) -> np.ndarray:
    """The array in a .npy file.

    Args:
        path: the file's path, or the file opened for reading bytes.
        shape: the result's shape; None for the array's own.
        normalize: kept for compatibility.
        allow_pickle: whether to unpickle objects, which can run code from the file; None for `allow_pickle` in the
            section DATA_ITERATOR of the configuration, whose default is False.

    Returns:
        Array of the file's dtype.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the array does not fill `shape`, the file is damaged, or contains a pickle, which is not allowed.

    Example:
        >>> from compatgrad.nnabla.utils.data_source_loader import load_npy
        >>> np.save("x.npy", np.arange(4))
        >>> load_npy("x.npy", shape=(2, 2))
        array([[0, 1],
               [2, 3]])

    Source: `nnabla.utils.data_source_loader.load_npy` of nnabla 1.39.0.
    """
    array = _npy_files.read_one(path, allow_pickle)
    return array if shape is None else array.reshape(shape)


def load_wav(path: str | BinaryIO, shape: tuple[int, ...] | None = None, normalize: bool = False) -> np.ndarray:
    """The samples of a .wav file, read by scipy.

    Args:
        path: the file's path, or the file opened for reading bytes.
        shape: the result's shape; None for (samples, channels).
        normalize: kept for compatibility.

    Returns:
        Array of the file's dtype: integers, or float32.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: scipy is not installed.
        ValueError: the samples do not fill `shape`.

    Example:
        >>> from scipy.io import wavfile  # doctest: +SKIP
        >>> from compatgrad.nnabla.utils.data_source_loader import load_wav
        >>> wavfile.write("tone.wav", 8000, np.zeros(16, np.int16))  # doctest: +SKIP
        >>> load_wav("tone.wav").shape  # doctest: +SKIP
        (16, 1)

    Source: `nnabla.utils.data_source_loader.load_wav` of nnabla 1.39.0.
    """
    try:
        from scipy.io import wavfile
    except ImportError as error:
        raise ImportError("load_wav needs scipy: pip install scipy") from error
    with naming(path, Exception):  # scipy allocates memory by the header without checking it
        samples = wavfile.read(path)[1]
    if shape is not None:
        return samples.reshape(shape)
    return samples[:, np.newaxis] if samples.ndim == 1 else samples


#: Whether pydub reads sounds.
pydub_available = importlib.util.find_spec("pydub") is not None


def load_audio_pydub(path: str, shape: tuple[int, int] | None = None, normalize: bool = False) -> np.ndarray:
    """The samples of a sound file, read by `audio_utils.auread`.

    Args:
        path: the file's path.
        shape: (samples, channels) to which `audio_utils.auresize` resizes the sound; None for its own.
        normalize: kept for compatibility.

    Returns:
        Array (samples, channels) of integers.

    Raises:
        FileNotFoundError: there is no such file.

    Example:
        >>> from compatgrad.nnabla.utils.audio_utils import ausave
        >>> from compatgrad.nnabla.utils.data_source_loader import load_audio_pydub
        >>> ausave("tone.wav", np.zeros((16, 1), np.int16), frame_rate=8000)
        >>> load_audio_pydub("tone.wav").shape
        (16, 1)

    Source: `nnabla.utils.data_source_loader.load_audio_pydub` of nnabla 1.39.0.
    """
    from .audio_utils import auread, auresize  # imported here because it imports pydub

    samples = auread(path)
    return auresize(samples, shape) if shape else samples


def load_audio(file: str | BinaryIO, shape: tuple[int, int] | None = None, normalize: bool = False) -> np.ndarray:
    """The samples of a sound file, read by pydub where that is installed, else by scipy.

    Args:
        file: the file's path; scipy also takes a file opened for reading bytes.
        shape: (samples, channels) of the result; None for the sound's own.
        normalize: kept for compatibility.

    Returns:
        Array (samples, channels) of integers; with scipy, of the file's dtype.

    Raises:
        FileNotFoundError: there is no such file.

    Example:
        >>> from compatgrad.nnabla.utils.audio_utils import ausave
        >>> from compatgrad.nnabla.utils.data_source_loader import load_audio
        >>> ausave("tone.wav", np.zeros((16, 2), np.int16), frame_rate=8000)
        >>> load_audio("tone.wav").shape
        (16, 2)

    Source: `nnabla.utils.data_source_loader.load_audio` of nnabla 1.39.0.
    """
    return (load_audio_pydub if pydub_available else load_wav)(file, shape, normalize)


_load_functions = {
    **dict.fromkeys((".bmp", ".jpg", ".jpeg", ".png", ".gif", ".tif", ".tiff", ".dcm"), load_image),
    ".csv": load_csv,
    ".npy": load_npy,
    ".wav": load_audio,
}


def load(ext: str) -> Callable[..., np.ndarray]:
    """The function that loads files with an extension.

    Args:
        ext: the files' extension in lower case, with its dot.

    Returns:
        A function of a file, a shape and whether to normalize.

    Raises:
        ValueError: there is no function for the extension.

    Example:
        >>> from compatgrad.nnabla.utils.data_source_loader import load
        >>> load(".csv").__name__, load(".jpg").__name__
        ('load_csv', 'load_image')

    Source: `nnabla.utils.data_source_loader.load` of nnabla 1.39.0.
    """
    found = callback.get_load_image_func(ext) or _load_functions.get(ext)
    if found is None:
        known = ", ".join(_load_functions)
        raise ValueError(f"load: there is no loader for {ext!r}, only for {known}")
    return found
