"""Functions that split batches over contexts, clip gradients, and download files."""

from __future__ import annotations

import hashlib
import math
import os
import ssl
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core.files import replacing
from compatgrad.formats.downloads import fetch

from .. import autograd, numpy_extension
from .. import ndarray as nd
from .. import numpy as mx_np
from ..base import MXNetError
from ..ndarray import _late
from ..ndarray._params_file import NOT_NUMPY_SHAPES
from ..util import is_np_array, is_np_shape, np_array, np_shape

if TYPE_CHECKING:
    from ..context import Context
    from ..ndarray import NDArray

__all__ = ["split_data", "split_and_load", "clip_global_norm", "check_sha1", "download", "replace_file"]


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """Cuts a batch into parts.

    Args:
        data: any shape and dtype.
        num_slice: the number of parts.
        batch_axis: the axis that is cut; along axis 0 parts share the memory of `data`.
        even_split: parts must have one length; else the first ones may be longer by one.

    Returns:
        A list of NDArrays.

    Raises:
        ValueError: with `even_split`, the length of the axis is no multiple of `num_slice`.

    Example:
        >>> [part.asnumpy().tolist() for part in gluon.utils.split_data(nd.arange(5), 2, even_split=False)]
        [[0.0, 1.0, 2.0], [3.0, 4.0]]

    Source: `mxnet.gluon.utils.split_data` of MXNet 1.9.1.
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
        # MXNet's parts along axis 0 share the memory of the data
        parts.append(data[begin:end] if batch_axis == 0 else nd.slice_axis(data, axis=batch_axis, begin=begin, end=end))
    return parts


def split_and_load(
    data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Cuts a batch into parts, one on each context.

    Args:
        data: an NDArray, or what `nd.array` takes.
        ctx_list: the contexts.
        batch_axis: the axis that is cut.
        even_split: parts must have one length; else the first ones may be longer by one.

    Returns:
        A list of NDArrays.

    Raises:
        ValueError: with `even_split`, the length of the axis is no multiple of the number of contexts.

    Example:
        >>> parts = gluon.utils.split_and_load([1.0, 2.0], [mx.cpu(0), mx.cpu(1)])
        >>> [(part.asnumpy().tolist(), part.context) for part in parts]
        [([1.0], cpu(0)), ([2.0], cpu(1))]

    Source: `mxnet.gluon.utils.split_and_load` of MXNet 1.9.1.
    """
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
    """Scales arrays in place, so that the 2-norm of all their elements together is at most `max_norm`.

    Args:
        arrays: floating-point arrays, gradients for example; on several contexts perhaps.
        max_norm: the largest norm.
        check_isfinite: a norm that is infinite or NaN warns; without that nothing waits for a GPU.

    Returns:
        The norm before: a float, or with `check_isfinite=False` an NDArray of shape (1,).

    Raises:
        AssertionError: there are no arrays.
        ValueError: an array is not writable.

    Example:
        >>> x = nd.array([3.0, 4.0])
        >>> norm = gluon.utils.clip_global_norm([x], max_norm=1.0)
        >>> float(norm), x.asnumpy()
        (5.0, array([0.6, 0.8], dtype=float32))

    Source: `mxnet.gluon.utils.clip_global_norm` of MXNet 1.9.1.
    """
    assert len(arrays) > 0, "clip_global_norm: no arrays"
    dense = all(array.stype == "default" for array in arrays) and not autograd.is_recording()
    if dense:  # one reduction of all arrays is faster than one for each
        squared = _C.optim_sums(arrays, False).sum()
        if check_isfinite:
            return _clipped(arrays, max_norm, squared)
        total = nd.NDArray(squared.sqrt().float().reshape(1))
    else:
        ctx = arrays[0].context
        total = nd.sqrt(nd.add_n(*[_square_sum(array).as_in_context(ctx) for array in arrays]))
    norm = None
    if check_isfinite:
        norm = total.asscalar()
        _warn_unless_finite(norm, 3)
    scale = nd.minimum(max_norm / (total + 1e-8), 1.0)
    if not dense:
        for array in arrays:
            array *= scale.as_in_context(array.context).astype(array.dtype)
        return total if norm is None else norm
    for dtype, same in _by_dtype(arrays).items():
        _C.optim_scale(same, scale.astype(dtype).tensor.double())
    return total


def _warn_unless_finite(norm: Any, level: int) -> None:
    if not np.isfinite(norm):
        warnings.warn(UserWarning("nan or inf is detected. Clipping results will be undefined."), stacklevel=level)


def _clipped(arrays: Sequence[NDArray], max_norm: float, squared: torch.Tensor) -> Any:
    """Does what `clip_global_norm` does, with the same numbers, without making NDArrays; `squared` is the square of the
    norm."""
    if _late._kept:
        _late.meet()
    norm = np.float32(math.sqrt(squared.item()))
    _warn_unless_finite(norm, 4)
    limit = np.minimum(np.float32(max_norm) / (norm + np.float32(1e-8)), np.float32(1))
    for dtype, same in _by_dtype(arrays).items():
        if limit != 1:  # a product with 1 would change nothing
            _C.optim_scale(same, squared.new_full((1,), float(dtype(limit)), dtype=torch.float64))
    return norm


def _by_dtype(arrays: Sequence[NDArray]) -> dict[type, list[NDArray]]:
    """The arrays by dtype: one kernel scales all arrays of a dtype, with the factor in that dtype. ValueError if one is
    not writable."""
    found: dict[type, list[NDArray]] = {}
    for array in arrays:
        array._check_writable()
        dtype = array.dtype
        if dtype in found:
            found[dtype].append(array)
        else:
            found[dtype] = [array]
    return found


def _square_sum(array):
    if array.stype != "default":
        return nd.square(array.norm())
    flat = array.astype("float32", copy=False).reshape((-1,))
    return nd.dot(flat, flat)


def check_sha1(filename: str, sha1_hash: str) -> bool:
    """Whether a file has a certain SHA-1.

    Args:
        filename: the path of the file.
        sha1_hash: the expected one, 40 hexadecimal digits in lower case.

    Returns:
        True or False.

    Raises:
        OSError: the file cannot be read.

    Example:
        >>> with open("empty.txt", "wb"):
        ...     pass
        >>> gluon.utils.check_sha1("empty.txt", "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        True

    Source: `mxnet.gluon.utils.check_sha1` of MXNet 1.9.1.
    """
    digest = hashlib.sha1()
    with open(filename, "rb") as source:
        while block := source.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == sha1_hash


def replace_file(src: str, dst: str) -> None:
    """Moves a file, and replaces an existing one.

    Args:
        src: the path of the file, which is removed where it cannot be moved.
        dst: the new path.

    Raises:
        OSError: it cannot be moved.

    Example:
        >>> with open("new.txt", "w") as f:
        ...     _ = f.write("text")
        >>> gluon.utils.replace_file("new.txt", "old.txt")
        >>> open("old.txt").read()
        'text'

    Source: `mxnet.gluon.utils.replace_file` of MXNet 1.9.1.
    """
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
    """Fetches a file.

    Args:
        url: its address.
        path: the file or directory to write to; None is the current directory.
        overwrite: fetches it although it exists.
        sha1_hash: the SHA-1 that it must have, 40 hexadecimal digits; a file that exists with another one is fetched
            again.
        retries: how many attempts there are.
        verify_ssl: checks the server's certificate; else a warning says that it does not.

    Returns:
        The path of the file.

    Raises:
        AssertionError: `retries` is negative, or `url` has no name of a file and `path` is None.
        Exception: the error of the last attempt; UserWarning if what came has another SHA-1.

    Example:
        >>> with open("here.txt", "w"):
        ...     pass
        >>> gluon.utils.download("https://example.com/here.txt")  # it is there already
        'here.txt'

    Source: `mxnet.gluon.utils.download` of MXNet 1.9.1.
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
    """Downloads `url` with `requests` if it is installed, because programs configure that package; else urllib.

    `requests` knows http and https only.
    """
    try:
        import requests
    except ImportError:
        requests = None
    if requests is None or not url.startswith(("http://", "https://")):
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
    """Like `_load`, but also reads files saved without NumPy semantics, such as those of pretrained models."""
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
    """`text` with all lines but the first indented."""
    return text.replace("\n", "\n" + " " * spaces)


class HookHandle:
    """Removes a hook: by `detach`, or at the end of a `with` block.

    Raises:
        AssertionError: `attach` is called twice.

    Example:
        >>> layer = gluon.nn.Dense(1, in_units=1)
        >>> layer.initialize()
        >>> with layer.register_forward_hook(lambda block, args, out: print(out.shape)):
        ...     _ = layer(nd.zeros((4, 1)))
        (4, 1)
        >>> _ = layer(nd.zeros((4, 1)))

    Source: `mxnet.gluon.utils.HookHandle` of MXNet 1.9.1.
    """

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
    """Whether no length of a shape is left open: -1, or outside of `mx.util.np_shape()` also 0.

    Args:
        shape: the lengths of the axes; None is unknown, and () outside of `mx.util.np_shape()`.

    Returns:
        True or False.

    Raises:
        AssertionError: a length is below -1.

    Example:
        >>> gluon.utils.shape_is_known((2, 3)), gluon.utils.shape_is_known((2, 0))
        (True, False)

    Source: `mxnet.gluon.utils.shape_is_known` of MXNet 1.9.1.
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
    """Raises TypeError if an array or symbol of a block's result, which may be nested, is not one of `mx.np`."""
    if isinstance(out, (list, tuple)):
        for x in out:
            _check_all_np_ndarrays(x)
    elif (isinstance(out, nd.NDArray) and not out._zero_dim) or not getattr(out, "_numpy", True):
        raise TypeError(f"Block's output ndarrays/symbols must be of type `mxnet.numpy.ndarray` or "
                        f"`mxnet.symbol.numpy._Symbol`, while got output type {type(out)}")  # fmt: skip
