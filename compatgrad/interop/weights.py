"""Parameter files of the frontends under torch's names and layouts, and back."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from compatgrad.core.adapters import FRONTENDS
from compatgrad.core.files import replacing
from compatgrad.core.torch_weights import Weights, put, take
from compatgrad.formats import hdf5, params
from compatgrad.interop import files

__all__ = ["framework_of", "to_torch", "write_like"]

_Path = str | os.PathLike[str]


def framework_of(path: _Path) -> str:
    """The framework that wrote a parameter file.

    Args:
        path: path of the file.

    Returns:
        "chainer", "nnabla" or "mxnet".

    Raises:
        OSError: the file cannot be opened.
        ValueError: the format is unknown or that of no framework.

    Example:
        framework_of("model.npz")  # "chainer"

    Source: `compatgrad/interop/weights.py`.
    """
    found = files._format_of(os.fspath(path)).name
    if "HDF5" in found:
        with hdf5.h5py().File(path, "r") as file:
            nnabla = any("need_grad" in dataset.attrs for _, dataset in hdf5.datasets(file))
        return "nnabla" if nnabla else "chainer"
    for word, name in (("Chainer", "chainer"), ("nnabla", "nnabla"), ("MXNet", "mxnet")):
        if word in found:
            return name
    raise ValueError(f"{os.fspath(path)}: expected a file of Chainer, nnabla or MXNet, found {found}")


def _known(tensors: Mapping[str, torch.Tensor], framework: str) -> Weights:
    if framework not in FRONTENDS or framework == "compatgrad":
        raise ValueError(f"framework: expected chainer, nnabla or mxnet, got {framework!r}")
    return FRONTENDS[framework].torch_weights({name: tuple(t.shape) for name, t in tensors.items()})


def to_torch(tensors: Mapping[str, torch.Tensor], framework: str) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Gives the parameters of a file torch's names (`weight`, `bias`, `running_mean`) and layouts, as far as their
    names and shapes say what they are. Others keep their values and names, with dots.

    Args:
        tensors: the parameters by name, from `read_parameters`.
        framework: "chainer", "nnabla" or "mxnet".

    Returns:
        The tensors under torch's names, and for each legacy name that was kept the reason.

    Raises:
        ValueError: `framework` is unknown, or two parameters would have one name.

    Example:
        >>> import torch
        >>> from compatgrad.interop import weights
        >>> found, kept = weights.to_torch({"l1/W": torch.ones(2, 3), "l1/b": torch.ones(2)}, "chainer")
        >>> sorted(found), kept
        (['l1.bias', 'l1.weight'], {})

    Source: `compatgrad/interop/weights.py`.
    """
    known = _known(tensors, framework)
    made = {name: put(place, tensors).contiguous() for name, place in known.places.items()}
    first = next(iter(tensors.values()), torch.zeros(()))
    made |= {name: torch.zeros(shape, dtype=first.dtype) for name, shape in known.zeros.items()}
    for legacy in known.kept:
        name = legacy.replace("/", ".")
        if name in made:
            raise ValueError(f"parameter {legacy!r} keeps its name {name!r}, which another one has got")
        made[name] = tensors[legacy]
    return made, known.kept


def write_like(path: _Path, like: _Path, tensors: Mapping[str, torch.Tensor], legacy_names: bool = False) -> list[str]:
    """Writes a file that the framework of the file `like` loads: the same parameters with the values in `tensors`.

    Args:
        path: the file to write, with the extension of the format of `like`: .npz, .h5, .hdf5, .protobuf, .nnp or
            .params; any other name if `like` has one, too.
        like: a file with the same parameters.
        tensors: tensors under the names and in the layouts of `to_torch`.
        legacy_names: True: `tensors` are in the legacy layouts under their legacy names.

    Returns:
        The names in `tensors` that no parameter of `like` needed, except those that torch's layers have in addition.

    Raises:
        OSError: a file cannot be opened or written.
        ValueError: a tensor is missing or has another shape than the parameter, or the format cannot be written.

    Example:
        write_like("new.npz", "old.npz", module.state_dict())

    Source: `compatgrad/interop/weights.py`.
    """
    contents = files.load(like)
    values: dict[str, torch.Tensor] = {}
    used: set[str] = set()
    if legacy_names:
        places: dict[str, Any] = {}
        wanted = list(contents.tensors)
    else:
        known = _known(contents.tensors, framework_of(like))
        places, wanted = known.places, list(known.kept)
    shapes = {name: tuple(t.shape) for name, t in contents.tensors.items()}
    for name, place in places.items():
        if name not in tensors:
            raise ValueError(f"{name} is missing: {', '.join(place.names)} of {os.fspath(like)} come from it")
        used.add(name)
        try:
            values.update(take(place, tensors[name].detach().cpu(), shapes))
        except (ValueError, RuntimeError) as e:
            raise ValueError(f"{name}: {e} ({', '.join(place.names)} of {os.fspath(like)})") from None
    for legacy in wanted:
        name = legacy if legacy_names else legacy.replace("/", ".")
        if name in tensors:
            used.add(name)
            values[legacy] = tensors[name].detach().cpu()
            if tuple(values[legacy].shape) != shapes[legacy]:
                raise ValueError(f"{name}: expected shape {shapes[legacy]}, found {tuple(values[legacy].shape)}")
        elif legacy_names:
            raise ValueError(f"{legacy} is missing")
    for name, t in values.items():
        values[name] = t.to(contents.tensors[name].dtype).contiguous()
    _write(os.fspath(path), os.fspath(like), values, bool(contents.empty or contents.refused))
    extra = {"num_batches_tracked"}
    zeros = set() if legacy_names else set(known.zeros)
    for name in sorted(zeros & set(tensors)):
        if bool((tensors[name] != 0).any()):
            raise ValueError(f"{name}: expected zeros, because the original's layer has no such parameter")
    return sorted(n for n in tensors if n not in used and n.rpartition(".")[2] not in extra and n not in zeros)


def _write(path: str, like: str, values: Mapping[str, torch.Tensor], incomplete: bool) -> None:
    ending, expected = files._extension(path), files._extension(like)
    if not expected:  # Chainer's snapshots have any name, such as snapshot_iter_1000; so may the copy
        expected = files._extension(like, by_content=True)
        ending = ending or expected
    if ending != expected:
        raise ValueError(f"{path}: expected a name that ends in {expected}, the format of {like}")
    if ending == ".npz":
        if incomplete:
            raise ValueError(f"{like}: expected values for all parameters")
        with np.load(like, allow_pickle=False) as old:
            arrays = {name: old[name] for name in old.files}
        arrays |= {name: t.numpy() for name, t in values.items()}
        with replacing(path) as file:
            np.savez_compressed(file, **arrays)
    elif ending == ".params":
        stored, names = params.read(like)
        for k, (name, a) in enumerate(zip(names or map(str, range(len(stored))), stored, strict=True)):
            if name in values:
                stored[k] = params.Stored(shape=tuple(values[name].shape), data=values[name])
            elif a.data is None:
                raise ValueError(f"{like}: {name} has no value")
        params.write(path, stored, names)
    elif ending in (".h5", ".hdf5", ".protobuf"):
        with open(like, "rb") as old_file:
            content = _changed(old_file.read(), ending, values)
        with replacing(path) as file:
            file.write(content)
    elif ending == ".nnp":
        made = io.BytesIO()
        with zipfile.ZipFile(like) as members, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
            for member in members.infolist():
                content = members.read(member)
                kind = os.path.splitext(member.filename)[1].lower()
                new.writestr(member, _changed(content, kind, values) if kind in (".h5", ".protobuf") else content)
        with replacing(path) as file:
            file.write(made.getvalue())
    else:
        expected = ".npz, .h5, .hdf5, .protobuf, .nnp or .params"
        raise ValueError(f"{path}: expected a name that ends in {expected}, found {ending!r}")


def _changed(content: bytes, kind: str, values: Mapping[str, torch.Tensor]) -> bytes:
    """The content of a file of parameters, with other values."""
    if kind == ".protobuf":
        from compatgrad.nnabla.utils import nnabla_pb2

        message = nnabla_pb2.NNablaProtoBuf()
        message.ParseFromString(content)
        for parameter in message.parameter:
            if parameter.variable_name in values:
                del parameter.data[:]
                parameter.data.frombytes(values[parameter.variable_name].float().contiguous().numpy().tobytes())
        return bytes(message.SerializeToString())
    file = io.BytesIO(content)
    with hdf5.h5py().File(file, "r+") as new:
        for name, dataset in hdf5.datasets(new):
            if name in values:
                dataset[...] = values[name].numpy()
    return file.getvalue()
