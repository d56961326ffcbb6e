"""What interop needs to know of each frontend: its Variables, its modes, its gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from compatgrad import _C, core
from compatgrad.core.configuration import using_modes


class Buffer(NamedTuple):
    """A value beside parameters: its name with dots, the tensor on its memory, the way to give it another, and where
    its memory is, which a tensor made while torch traces would not say.
    """

    name: str
    read: Callable[[], torch.Tensor]
    give: Callable[[torch.Tensor], object]
    address: Callable[[], int]


def _array(link: Any, name: str) -> torch.Tensor:
    return torch.from_numpy(getattr(link, name))


def _set_array(link: Any, name: str, t: torch.Tensor) -> None:
    setattr(link, name, t.numpy())


def _array_address(link: Any, name: str) -> int:
    return getattr(link, name).__array_interface__["data"][0]


class Native:
    """Variables of `compatgrad` itself, and what frontends have in common."""

    name = "compatgrad"

    def variable_class(self) -> Any:
        return core.Variable

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        """A leaf on the tensor's memory."""
        return core.Variable(t, requires_grad=requires_grad)

    def modes(self, training: bool, record: bool = True) -> using_modes:
        """With layers that train or predict, and with a graph or without."""
        return using_modes(enable_backprop=record)

    # grad(ys, xs, gradients as tensors, create_graph) -> (gradients, the latter as Variables), where the engine's own
    # does not do
    grad_of_tensors: Callable[..., tuple[list[Any], list[Any]]] | None = None

    def parameters(self, target: Any) -> Iterable[tuple[str, Any]]:
        """Names with dots, and Variables."""
        return ()

    def trains(self, parameter: Any) -> bool:
        """Whether a parameter is one that optimizers move."""
        return bool(parameter.requires_grad)

    def buffers(self, target: Any) -> Iterable[Buffer]:
        """What is kept beside parameters."""
        return ()


class Chainer(Native):
    name = "chainer"

    def variable_class(self) -> Any:
        from compatgrad import chainer

        return chainer.Variable

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        from compatgrad import chainer

        v = chainer.Variable.__new__(chainer.Variable)
        v.tensor = t
        v._set_requires_grad(requires_grad)
        return v

    def modes(self, training: bool, record: bool = True) -> using_modes:
        return using_modes(enable_backprop=record, train=training)

    def parameters(self, target: Any) -> Iterable[tuple[str, Any]]:
        for path, parameter in sorted(target.namedparams()) if hasattr(target, "namedparams") else ():
            yield path.strip("/").replace("/", "."), parameter

    def buffers(self, target: Any) -> Iterable[Buffer]:
        import numpy as np

        for path, link in sorted(target.namedlinks()) if hasattr(target, "namedlinks") else ():
            for name in sorted(link._persistent):
                if isinstance(getattr(link, name), np.ndarray):
                    dotted = f"{path}/{name}".strip("/").replace("/", ".")
                    own = (link, name)
                    yield Buffer(dotted, *(partial(f, *own) for f in (_array, _set_array, _array_address)))


class MXNet(Native):
    name = "mxnet"

    def variable_class(self) -> Any:
        from compatgrad.mxnet import nd

        return nd.NDArray

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        from compatgrad.mxnet import nd

        x = nd.NDArray(t)
        x._set_requires_grad(requires_grad)
        return x

    def modes(self, training: bool, record: bool = True) -> using_modes:
        return using_modes(recording=record, training=training)

    def parameters(self, target: Any) -> Iterable[tuple[str, Any]]:
        for name, parameter in _gluon_parameters(target):
            if parameter.grad_req != "null":
                yield name, parameter.data()

    def buffers(self, target: Any) -> Iterable[Buffer]:
        for name, parameter in _gluon_parameters(target):
            if parameter.grad_req == "null":
                data = parameter.data()
                give = partial(_C.replace_leaf, data)
                yield Buffer(name, partial(getattr, data, "tensor"), give, partial(_address, data))


def _address(v: Any) -> int:
    return v.tensor.data_ptr()


def _gluon_parameters(target: Any) -> Iterable[tuple[str, Any]]:
    return target._collect_params_with_prefix().items() if hasattr(target, "_collect_params_with_prefix") else ()


class NNabla(Native):
    name = "nnabla"

    def variable_class(self) -> Any:
        from compatgrad import nnabla

        return nnabla.Variable

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        from compatgrad import nnabla

        v = nnabla.Variable(tuple(t.shape), need_grad=requires_grad)
        v.data.tensor = t
        return v

    def modes(self, training: bool, record: bool = True) -> using_modes:
        return using_modes(auto_forward=True)

    def trains(self, parameter: Any) -> bool:
        return bool(parameter.need_grad) if isinstance(parameter, _C.DeferredVariable) else super().trains(parameter)

    def grad_of_tensors(
        self, ys: Sequence[Any], xs: Sequence[Any], gradients: Sequence[torch.Tensor], create_graph: bool
    ) -> tuple[list[Any], list[Any]]:
        from compatgrad import nnabla

        gys = [self.variable(g, create_graph) for g in gradients]
        with using_modes(auto_forward=True):
            return nnabla.grad(list(ys), list(xs), gys), gys


def frontend_of(target: Any) -> Native:
    """The frontend whose link, block or Variable `target` is; that of native Variables for anything else."""
    for cls in type(target).__mro__:
        root = cls.__module__.removeprefix("compatgrad.").partition(".")[0]
        if root in FRONTENDS:
            return FRONTENDS[root]
    return FRONTENDS["compatgrad"]


FRONTENDS: dict[str, Native] = {f.name: f for f in (Native(), Chainer(), MXNet(), NNabla())}
