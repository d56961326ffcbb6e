"""Reading of files for data sources: from disk, the web and S3, by extension."""

import csv
import importlib.util

import numpy

from . import callback
from ._file_readers import FileReader, ResourceFileReader, get_file_extension
from .download import download, get_data_home
from .image_utils import imread, imresize

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


def load_image_imread(file, shape=None, max_range=1.0):
    """The image in `file` as an array (channels, height, width).

    shape: to what it is resized; the number of channels must be the image's. max_range: what white becomes; a
    negative one keeps the image's integers.
    """
    image = imread(file)
    if image.ndim == 2:
        image = image[..., numpy.newaxis]
    if shape is not None:
        channels, height, width = shape
        assert channels == image.shape[2], f"load_image: expected {channels} channels, the image has {image.shape[2]}"
        if (height, width) != image.shape[:2]:
            image = imresize(image, (width, height))
    image = image.transpose(2, 0, 1)
    white = 65535.0 if image.dtype == numpy.uint16 else 255.0
    return image if max_range < 0 or max_range == white else image * (max_range / white)


def load_image(file, shape=None, normalize=False):
    """The image in `file` as an array (channels, height, width): integers, or with normalize in [0, 1]."""
    return load_image_imread(file, shape, 1.0 if normalize else -1)


def load_csv(file, shape=None, normalize=False):
    """The numbers in the CSV file `file` (binary) as an array of `shape`. ValueError for other text."""
    rows = csv.reader(line.decode("utf-8") for line in file.readlines())
    array = numpy.array([[float(text) for text in row] for row in rows if row])
    return array if shape is None else array.reshape(shape)


def load_npy(path, shape=None, normalize=False):
    """The array in a .npy file, `path` being its path or the opened file; shape: its shape."""
    array = numpy.load(path, allow_pickle=True)
    return array if shape is None else array.reshape(shape)


def load_wav(path, shape=None, normalize=False):
    """The samples of a .wav file as an array (samples, channels), or of the given shape. Needs scipy."""
    try:
        from scipy.io import wavfile
    except ImportError as error:
        raise ImportError("load_wav needs scipy: pip install scipy") from error
    samples = wavfile.read(path)[1]
    if shape is not None:
        return samples.reshape(shape)
    return samples[:, numpy.newaxis] if samples.ndim == 1 else samples


#: Whether sounds are read by pydub.
pydub_available = importlib.util.find_spec("pydub") is not None


def load_audio_pydub(path, shape=None, normalize=False):
    """The samples of a file as `audio_utils.auread` gives them, or `shape` of them by `auresize`."""
    from .audio_utils import auread, auresize  # which imports pydub

    samples = auread(path)
    return auresize(samples, shape) if shape else samples


def load_audio(file, shape=None, normalize=False):
    """The samples of a file by pydub where it is installed, else by scipy."""
    return (load_audio_pydub if pydub_available else load_wav)(file, shape, normalize)


_load_functions = {
    **dict.fromkeys((".bmp", ".jpg", ".jpeg", ".png", ".gif", ".tif", ".tiff", ".dcm"), load_image),
    ".csv": load_csv,
    ".npy": load_npy,
    ".wav": load_audio,
}


def load(ext):
    """The function that loads files with the extension `ext`; ValueError for an unknown one."""
    found = callback.get_load_image_func(ext) or _load_functions.get(ext)
    if found is None:
        known = ", ".join(_load_functions)
        raise ValueError(f"load: there is no loader for {ext!r}; there are some for {known}")
    return found
