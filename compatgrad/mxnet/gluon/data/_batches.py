"""Batches whose samples are read, or changed at last, all at once instead of one after the other.

A batch of images takes a fraction of the time of as many calls of `ToTensor` and `Normalize`. The values are those of
the calls; what draws random numbers, and the program's own functions, are called for each sample, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ... import ndarray as nd
from ..._image_codec import array_of
from ...autograd import is_recording
from ...base import MXNetError
from ...ndarray.image import _centre_and_width
from ...util import is_np_array
from .batchify import _stacked
from .dataset import ArrayDataset, _DownloadedDataset, _LazyTransformDataset, _TransformFirstClosure
from .vision.transforms import Compose, HybridCompose, Normalize, ToTensor

# Numbers that are changed at once: they stay in a core's cache until all changes are made.
_AT_ONCE = 1 << 16


def load(dataset: Any, samples: Sequence[int], batchify_fn: Callable[[list[Any]], Any]) -> Any:
    """`batchify_fn([dataset[i] for i in samples])`."""
    if getattr(batchify_fn, "stacks", False) and not is_recording() and not is_np_array():
        source, head, tail = _parts(dataset)
        if not head:
            columns = _columns(source, samples)
            if columns is not None and tail:
                columns[0] = _changed(columns[0], tail)
            if columns is not None and columns[0] is not None:
                return columns if len(columns) > 1 else columns[0]
        if tail:
            return _of_samples(source, samples, head, tail)
    return batchify_fn([dataset[i] for i in samples])


def _unobserved(block: Any) -> bool:
    return not (block._forward_pre_hooks or block._forward_hooks)


def _parts(dataset: Any) -> tuple[Any, list[Any], list[Any]]:
    """The dataset whose images are changed, and the changes: those of each sample, and those of a whole batch."""
    if type(dataset) is not _LazyTransformDataset or type(dataset._fn) is not _TransformFirstClosure:
        return dataset, [], []
    change = dataset._fn._fn
    changes = [change]
    if type(change) in (Compose, HybridCompose) and _unobserved(change):
        changes = list(change._children.values())
    at = len(changes)
    for kind in (Normalize, ToTensor):
        if at and type(changes[at - 1]) is kind and _unobserved(changes[at - 1]):
            at -= 1
    return dataset._data, changes[:at], changes[at:]


def _columns(dataset: Any, samples: Sequence[int]) -> list[Any] | None:
    """The stacked elements of samples of a dataset of arrays; None if it is something else."""
    if type(dataset) is ArrayDataset:
        arrays = dataset._data
    elif (
        isinstance(dataset, _DownloadedDataset)
        and type(dataset).__getitem__ is _DownloadedDataset.__getitem__
        and dataset._transform is None
    ):
        arrays = [dataset._data, dataset._label]
    else:
        return None
    count = len(dataset)
    if not samples or not all(isinstance(i, (int, np.integer)) and 0 <= i < count for i in samples):
        return None
    for x in arrays:
        if type(x) is nd.NDArray:
            if x.stype != "default" or x.tensor.device.type != "cpu" or x.tensor.dim() < 2:
                return None
        elif type(x) is not list and (type(x) is not np.ndarray or x.dtype.kind not in "biuf"):
            return None
    return [_rows(x, samples) for x in arrays]


def _rows(x: Any, samples: Sequence[int]) -> Any:
    if type(x) is nd.NDArray:
        return nd.NDArray(x.tensor.detach().index_select(0, torch.tensor(samples)))
    return array_of(x[samples]) if isinstance(x, np.ndarray) else _stacked([x[i] for i in samples])


def _of_samples(dataset: Any, samples: Sequence[int], head: list[Any], tail: list[Any]) -> Any:
    """The batch of samples that are read, and changed by `head`, one after the other."""
    images, others = [], []
    for i in samples:
        sample = dataset[i]
        image, *rest = sample if isinstance(sample, tuple) else (sample,)
        for change in head:
            image = change(image)
        images.append(image)
        others.append(rest)
    data = _changed(images, tail)
    if data is None:
        for change in tail:
            images = [change(image) for image in images]
        data = _stacked(images)
    return [data, *map(_stacked, zip(*others, strict=False))] if others[0] else data


def _changed(images: Any, tail: list[Any]) -> nd.NDArray | None:
    """A batch of images, an NDArray or a list of NDArrays, after ToTensor, Normalize or both; None if they need to be
    called for each image.
    """
    if not all(type(x) is nd.NDArray for x in (images if isinstance(images, list) else [images])):
        return None
    tensors = [x.tensor.detach() for x in images] if isinstance(images, list) else images.tensor.detach()
    to_tensor = type(tail[0]) is ToTensor
    wanted = torch.uint8 if to_tensor else torch.float32
    first = tensors[0]
    for x in tensors if isinstance(tensors, list) else (first,):
        if x.dtype != wanted or x.dim() != 3 or x.shape != first.shape or x.device.type != "cpu" or not x.numel():
            return None
    channels, height, width = (first.shape[2], *first.shape[:2]) if to_tensor else first.shape
    centre = spread = None
    if type(tail[-1]) is Normalize:
        if channels not in (1, 3):
            return None
        try:
            mean, std = _centre_and_width(*tail[-1]._args, channels, torch.float32, first.device)
        except MXNetError:
            return None
        centre, spread = mean.tensor.numpy(), std.tensor.numpy()
    batch = torch.empty((len(tensors), channels, height, width), dtype=torch.float32)
    step = max(1, _AT_ONCE // first.numel())
    for i in range(0, len(tensors), step):
        part = tensors[i : i + step]
        x = torch.stack(part) if isinstance(part, list) else part
        out = batch[i : i + step].numpy()
        if to_tensor:
            np.divide(x.permute(0, 3, 1, 2).numpy(), np.float32(255), out=out, dtype=np.float32)
            x = out
        else:
            x = x.numpy()
        if centre is not None:
            np.subtract(x, centre, out=out)
            out /= spread
    return nd.NDArray(batch)
