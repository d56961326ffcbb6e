"""Splitting batches over contexts, clipping gradients, files to download."""

from __future__ import annotations

import hashlib
import os
import ssl
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad import _C
from compatgrad.core.files import replacing
from compatgrad.formats.downloads import fetch

from .. import autograd, numpy_extension
from .. import ndarray as nd
from .. import numpy as mx_np
from ..base import MXNetError
from ..ndarray._params_file import NOT_NUMPY_SHAPES
from ..util import is_np_array, is_np_shape, np_array, np_shape

if TYPE_CHECKING:
    from ..context import Context
    from ..ndarray import NDArray

__all__ = ["split_data", "split_and_load", "clip_global_norm", "check_sha1", "download", "replace_file"]


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """Cuts `data` (NDArray) into a list of `num_slice` parts along `batch_axis`.

    ValueError where the parts would differ in size, unless `even_split` is False: then the first ones are
    larger by one.
    """
    size = data.shape[batch_axis]
    if even_split and size % num_slice:
        raise ValueError(
            f"data with shape {data.shape} cannot be evenly split into {num_slice} slices along axis {batch_axis}. "
            f"Use a batch size that's multiple of {num_slice} or set even_split=False to allow uneven partitioning "
            "of data."
        )
    each, extra = divmod(size, num_slice)
    parts = []
    end = 0
    for i in range(num_slice):
        begin, end = end, end + each + (i < extra)
        # along the first axis a part is a view of the data
        parts.append(data[begin:end] if batch_axis == 0 else nd.slice_axis(data, axis=batch_axis, begin=begin, end=end))
    return parts


def split_and_load(
    data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """The parts of `data` (NDArray, or what nd.array takes), one on each context of `ctx_list`."""
    if not isinstance(data, nd.NDArray):
        if is_np_array():
            data = mx_np.array(data, ctx=ctx_list[0])
        else:
            data = nd.array(data, ctx=ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    parts = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


def clip_global_norm(arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True) -> float | NDArray:
    """Scales `arrays`, in place, so that the 2-norm of all together is at most `max_norm`.

    Returns the norm before, a float; with `check_isfinite=False` an NDArray, and no warning of a norm that is
    infinite or NaN.
    """
    assert len(arrays) > 0, "clip_global_norm: no arrays"
    dense = all(array.stype == "default" for array in arrays) and not autograd.is_recording()
    if dense:  # one reduction
        total = nd.NDArray(_C.optim_sums(arrays, False).sum().sqrt().float().reshape(1))
    else:
        ctx = arrays[0].context
        total = nd.sqrt(nd.add_n(*[_square_sum(array).as_in_context(ctx) for array in arrays]))
    norm = None
    if check_isfinite:
        norm = total.asscalar()
        if not np.isfinite(norm):
            warnings.warn(UserWarning("nan or inf is detected. Clipping results will be undefined."), stacklevel=2)
    scale = nd.minimum(max_norm / (total + 1e-8), 1.0)
    if not dense:
        for array in arrays:
            array *= scale.as_in_context(array.context).astype(array.dtype)
        return total if norm is None else norm
    for dtype in {array.dtype for array in arrays}:  # one launch for each, by the factor as a number of that type
        same = [array for array in arrays if array.dtype == dtype]
        for array in same:
            array._check_writable()
        _C.optim_scale(same, scale.astype(dtype).tensor.double())
    return total if norm is None else norm


def _square_sum(array):
    if array.stype != "default":
        return nd.square(array.norm())
    flat = array.astype("float32", copy=False).reshape((-1,))
    return nd.dot(flat, flat)


def check_sha1(filename: str, sha1_hash: str) -> bool:
    """Whether the SHA-1 of the file is `sha1_hash`, hexadecimal digits in lower case."""
    digest = hashlib.sha1()
    with open(filename, "rb") as source:
        while block := source.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == sha1_hash


def replace_file(src: str, dst: str) -> None:
    """Moves `src` to `dst`, over what is there; where that fails, `src` is removed and OSError raised."""
    try:
        os.replace(src, dst)
    except OSError as error:
        try:
            os.remove(src)
        except OSError:
            pass
        raise OSError(f"Moving downloaded temp file - {src}, to {dst} failed. Please retry the download.") from error


def download(
    url: str,
    path: str | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Fetches `url` to the file or into the directory `path` (default: here) and returns the file's name.

    A file that exists and agrees with `sha1_hash` is kept, unless `overwrite`. After `retries` (int) failed
    attempts the last error is raised.
    """
    name = url.split("/")[-1]
    if path is None:
        assert name, "Can't construct file-name from this URL. Please set the `path` option manually."
        target = name
    else:
        target = os.path.expanduser(path)
        if os.path.isdir(target):
            target = os.path.join(target, name)
    assert retries >= 0, f"Number of retries should be at least 0, currently it's {retries}"
    if not overwrite and os.path.exists(target) and (not sha1_hash or check_sha1(target, sha1_hash)):
        return target
    if not verify_ssl:
        warnings.warn(
            "Unverified HTTPS request is being made (verify_ssl=False). "
            "Adding certificate verification is strongly advised.",
            stacklevel=2,
        )
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    while True:
        try:
            print(f"Downloading {target} from {url}...")
            _fetch(url, target, verify_ssl)
            if sha1_hash and not check_sha1(target, sha1_hash):
                raise UserWarning(f"File {target} is downloaded but the content hash does not match.")
            return target
        except Exception as error:
            retries -= 1
            if retries <= 0:
                raise
            print(f"download failed due to {error!r}, retrying, {retries} attempt{'s' * (retries > 1)} left")


def _fetch(url, target, verify_ssl):
    """Writes what is at `url`: by `requests`, as programs configure it, where that is installed; else by urllib."""
    try:
        import requests
    except ImportError:
        requests = None
    if requests is None:
        fetch(url, target, context=None if verify_ssl else ssl._create_unverified_context())
        return
    response = requests.get(url, stream=True, verify=verify_ssl)
    if response.status_code != 200:
        raise RuntimeError(f"Failed downloading url {url}")
    with replacing(target) as out:
        out.writelines(response.iter_content(chunk_size=65536))


def _save(filename, arrays):
    """Writes a dict of arrays, those of mxnet.nd or, under NumPy semantics, those of mxnet.np."""
    if is_np_array():
        numpy_extension.save(filename, arrays)
    else:
        nd.save(filename, arrays)


def _load(filename):
    """The dict that `_save` wrote, as arrays of the current semantics."""
    if is_np_array():
        found = numpy_extension.load(filename)
        return {name: array.as_np_ndarray() for name, array in found.items()} if isinstance(found, dict) else found
    return nd.load(filename)


def _load_any(filename):
    """What `_load` gives, of a file too that was saved without NumPy's semantics, as those of pretrained models are."""
    try:
        return _load(filename)
    except MXNetError as e:
        if not is_np_array() or NOT_NUMPY_SHAPES not in str(e):
            raise
    with np_array(False), np_shape(False):
        found = nd.load(filename)
    return {name: array.as_np_ndarray() for name, array in found.items()}


def _get_repo_url():
    """The address of the server of models and data sets; the environment's MXNET_GLUON_REPO overrides it."""
    url = os.environ.get("MXNET_GLUON_REPO", "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/")
    return url if url.endswith("/") else url + "/"


def _get_repo_file_url(namespace, filename):
    return f"{_get_repo_url()}{namespace}/{filename}"


def _brief_print_list(lst, limit=7):
    """The items in quotes; of a longer list the first and the last few."""
    items = [f"'{item}'" for item in lst]
    if len(items) > limit:
        items = [*items[: limit // 2], "...", *items[-limit // 2 :]]
    return ", ".join(items)


def _indent(text, spaces):
    """`text` with all lines but the first moved right."""
    return text.replace("\n", "\n" + " " * spaces)


class HookHandle:
    """Removes a hook: by `detach`, or at the end of a `with` block."""

    def __init__(self) -> None:
        self._hooks_dict_ref = None
        self._id = None

    def attach(self, hooks_dict: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        """Adds `hook` to the ordered dict `hooks_dict`. Once per handle."""
        assert not self._hooks_dict_ref, "The same handle cannot be attached twice."
        self._id = id(hook)
        hooks_dict[self._id] = hook
        self._hooks_dict_ref = weakref.ref(hooks_dict)

    def detach(self) -> None:
        """Removes the hook; a second call does nothing."""
        hooks = self._hooks_dict_ref()
        if hooks is not None:
            hooks.pop(self._id, None)

    def __getstate__(self):
        return self._hooks_dict_ref(), self._id

    def __setstate__(self, state):
        hooks, self._id = state
        self._hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)

    def __enter__(self):
        return self

    def __exit__(self, ptype, value, trace):
        self.detach()


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Whether no dimension of `shape` is left open: those are 0 or -1, and only -1 under np_shape.

    AssertionError for other negative dimensions.
    """
    if shape is None:
        return False
    np_shape = is_np_shape()
    if len(shape) == 0:
        return np_shape
    for size in shape:
        assert size >= -1, f"shape dimension size cannot be less than 0, while received {size}"
        if size == -1 or (size == 0 and not np_shape):
            return False
    return True


def _check_all_np_ndarrays(out):
    """TypeError where an array or symbol of a block's result, however nested, is none of `mx.np`."""
    if isinstance(out, (list, tuple)):
        for x in out:
            _check_all_np_ndarrays(x)
    elif (isinstance(out, nd.NDArray) and not out._zero_dim) or not getattr(out, "_numpy", True):
        raise TypeError(f"Block's output ndarrays/symbols must be of type `mxnet.numpy.ndarray` or "
                        f"`mxnet.symbol.numpy._Symbol`, while got output type {type(out)}")  # fmt: skip
