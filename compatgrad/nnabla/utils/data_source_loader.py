"""Reading of files for data sources: from disk, the web and S3, by extension."""

import contextlib
import csv
import importlib.util
import io
import os
import urllib.request
from urllib.parse import urljoin

import numpy

from . import callback
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


def import_h5py():
    """The module h5py; ImportError naming the extra where it is missing."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError("cache files in .h5 format need h5py: pip install h5py") from error
    return h5py


class FileReader:
    """Opens files: `base_uri`, or files named relative to it.

    base_uri: a path, an http(s) address, or s3://bucket/key, which needs boto3 and its credentials.
    """

    def __init__(self, base_uri):
        self._base_uri = base_uri
        self.base_ext = os.path.splitext(base_uri)[1].lower()
        scheme = base_uri.partition("://")[0].lower()
        self._file_type = {"s3": "s3", "http": "http", "https": "http"}.get(scheme, "file")
        if self._file_type == "s3":
            try:
                import boto3
            except ImportError as error:
                raise ImportError(f"FileReader: {base_uri} needs boto3: pip install boto3") from error
            bucket, _, self._s3_base_key = base_uri.partition("://")[2].partition("/")
            self._s3_bucket = boto3.session.Session().resource("s3").Bucket(bucket)

    def _path(self, filename, folder):
        # `filename` as seen from the file `folder`
        filename = filename.replace("\\", "/")
        if self._file_type == "file":
            return os.path.abspath(os.path.join(os.path.dirname(folder.replace("\\", "/")), filename))
        scheme, _, rest = folder.partition("://")
        # urljoin knows http only
        return urljoin("http://" + rest, filename).replace("http://", scheme + "://", 1)

    def read_s3_object(self, key):
        """The bytes of the object `key` in the bucket."""
        return self._s3_bucket.Object(key).get()["Body"].read()

    def _open(self, path, textmode, encoding):
        if self._file_type == "file":
            return open(path, encoding=encoding) if textmode else open(path, "rb")
        if self._file_type == "s3":
            data = self.read_s3_object(path.partition("://")[2].partition("/")[2])
        else:
            with urllib.request.urlopen(path) as response:
                data = response.read()
        return io.StringIO(data.decode(encoding)) if textmode else io.BytesIO(data)

    @contextlib.contextmanager
    def open(self, filename=None, textmode=False, encoding="utf-8-sig"):
        """A context manager that gives the opened file; it has its extension as `ext`.

        filename: relative to base_uri; None for base_uri itself. textmode: str in `encoding` instead of
        bytes.
        """
        path = self._base_uri if filename is None else self._path(filename, self._base_uri)
        with _Named(self._open(path, textmode, encoding), os.path.splitext(path)[1].lower()) as file:
            yield file

    @contextlib.contextmanager
    def open_cache(self, cache_name):
        """A context manager that gives the .h5 file `cache_name` in the folder base_uri."""
        path = self._path(cache_name, self._base_uri + "/")
        if self._file_type == "file":
            with import_h5py().File(path, "r") as h5:
                yield h5
        else:
            with self._open(path, False, None) as file, import_h5py().File(file, "r") as h5:
                yield h5

    def listdir(self):
        """The sorted names of the .h5 files in the folder base_uri; None on the web."""
        if self._file_type == "http":
            return None
        if self._file_type == "s3":
            found = self._s3_bucket.objects.filter(Prefix=self._s3_base_key + "/", Delimiter="/")
            names = [os.path.basename(item.key) for item in found]
        else:
            names = os.listdir(self._base_uri)
        return sorted(name for name in names if name.lower().endswith(".h5"))


class _Named:
    # a file with the attribute `ext`: files themselves take no attributes
    def __init__(self, file, ext):
        self._file = file
        self.ext = ext

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __iter__(self):
        return iter(self._file)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()


_SIGNATURES = {
    ".bmp": (b"BM",),
    ".pgm": (b"P5\n",),
    ".jpg": (b"\xff\xd8\xff",),
    ".png": (b"\x89PNG\r\n\x1a\n",),
    ".tiff": (b"I I", b"II*\0", b"MM\0*"),
    ".eps": (b"\xc5\xd0\xd3\xc6",),
    ".gif": (b"GIF87a", b"GIF89a"),
    ".ico": (b"\0\0\1\0",),
    ".wav": (b"RIFF",),
}


def get_file_extension(source):
    """The extension, such as ".png", of a path or an opened file; "" where unknown.

    Files without a name are recognised by how they begin.
    """
    if isinstance(source, str):
        return os.path.splitext(source)[1].lower()
    if not hasattr(source, "read"):
        return ""
    if isinstance(getattr(source, "name", None), str):
        return os.path.splitext(source.name)[1].lower()
    source.seek(0)
    begin = source.read(132)
    source.seek(0)
    if begin[128:] == b"DICM":
        return ".dcm"
    return next((ext for ext, starts in _SIGNATURES.items() if begin.startswith(starts)), "")


class ResourceFileReader:
    """A file whose extension is known: a path or a seekable binary file. ValueError for another source."""

    def __init__(self, source):
        self._source = source
        if isinstance(source, str):
            self.handler = FileReader(source)
            self.ext = self.handler.base_ext
            if not self.ext:
                with self.handler.open() as file:
                    self.ext = get_file_extension(io.BytesIO(file.read(132)))
        elif self._is_binary_file(source):
            self.handler = source
            self.ext = get_file_extension(source)
        else:
            raise ValueError(
                f"ResourceFileReader: expected a path or a seekable binary file, got {type(source).__name__}"
            )

    @staticmethod
    def _is_binary_file(source):
        try:
            source.seek(0)
            first = source.read(1)
            source.seek(0)
        except (AttributeError, OSError, ValueError):
            return False
        return isinstance(first, bytes)

    @contextlib.contextmanager
    def open(self):
        """A context manager that gives the opened file; it has its extension as `ext`."""
        if isinstance(self.handler, FileReader):
            with self.handler.open() as file:
                file.ext = file.ext or self.ext
                yield file
        else:
            self.handler.seek(0)
            yield _Named(self.handler, self.ext)
            self.handler.seek(0)


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
    from .audio_utils import auread, auresize

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
