"""What interop needs to know of each frontend: its Variables, its modes, its gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from compatgrad import _C, core
from compatgrad.core.configuration import using_modes


class Native:
    """Variables of `compatgrad` itself, and what frontends have in common."""

    name = "compatgrad"

    def variable_class(self) -> Any:
        return core.Variable

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        """A leaf on the tensor's memory."""
        return core.Variable(t, requires_grad=requires_grad)

    def modes(self, training: bool) -> using_modes:
        """Recording, with layers that train or predict."""
        return using_modes(enable_backprop=True)

    def grad(self, ys: Sequence[Any], xs: Sequence[Any], gys: Sequence[Any], create_graph: bool) -> list[Any]:
        """Gradients of xs, None where they are not reached."""
        return _C.grad(ys[0]._frontend, ys, xs, gys, enable_double_backprop=create_graph)

    def parameters(self, target: Any) -> Iterable[tuple[str, Any]]:
        """Names with dots, and Variables."""
        return ()

    def buffers(self, target: Any) -> Iterable[tuple[str, torch.Tensor]]:
        """Names with dots, and tensors on the memory of what is kept beside parameters."""
        return ()


class Chainer(Native):
    name = "chainer"

    def variable_class(self) -> Any:
        from compatgrad import chainer

        return chainer.Variable

    def variable(self, t: torch.Tensor, requires_grad: bool) -> Any:
        from compatgrad import chainer

        v = chainer.Variable(None, requires_grad=requires_grad)
        v.tensor = t
        return v

    def modes(self, training: bool) -> using_modes:
        return using_modes(enable_backprop=True, train=training)

    def parameters(self, target: Any) -> Iterable[tuple[str, Any]]:
        for path, parameter in sorted(target.namedparams()) if hasattr(target, "namedparams") else ():
            yield path.strip("/").replace("/", "."), parameter

    def buffers(self, target: Any) -> Iterable[tuple[str, torch.Tensor]]:
        import numpy as np

        for path, link in sorted(target.namedlinks()) if hasattr(target, "namedlinks") else ():
            for name in sorted(link._persistent):
                value = getattr(link, name)
                if isinstance(value, np.ndarray):
                    yield f"{path}/{name}".strip("/").replace("/", "."), torch.from_numpy(value)


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

    def modes(self, training: bool) -> using_modes:
        return using_modes(recording=True, training=training)

    def parameters(self, target: Any) -> Iterable[tuple[str, Any]]:
        for name, parameter in _gluon_parameters(target):
            if parameter.grad_req != "null":
                yield name, parameter.data()

    def buffers(self, target: Any) -> Iterable[tuple[str, torch.Tensor]]:
        for name, parameter in _gluon_parameters(target):
            if parameter.grad_req == "null":
                yield name, parameter.data().tensor


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

    def modes(self, training: bool) -> using_modes:
        return using_modes(auto_forward=True)

    def grad(self, ys: Sequence[Any], xs: Sequence[Any], gys: Sequence[Any], create_graph: bool) -> list[Any]:
        from compatgrad import nnabla

        with self.modes(True):
            return nnabla.grad(list(ys), list(xs), list(gys))


def frontend_of(target: Any) -> Native:
    """The frontend whose link, block or Variable `target` is; that of native Variables for anything else."""
    for cls in type(target).__mro__:
        root = cls.__module__.removeprefix("compatgrad.").partition(".")[0]
        if root in FRONTENDS:
            return FRONTENDS[root]
    return FRONTENDS["compatgrad"]


FRONTENDS: dict[str, Native] = {f.name: f for f in (Native(), Chainer(), MXNet(), NNabla())}
