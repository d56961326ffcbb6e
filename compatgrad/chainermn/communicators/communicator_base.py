"""The interface of all communicators."""

from __future__ import annotations

import contextlib
import warnings
from abc import ABCMeta, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatgrad.chainer._array_typing import Array
    from compatgrad.chainer.link import Link


class CommunicatorBase(metaclass=ABCMeta):
    """A group of processes, each with its rank: methods for the exchange of arrays and objects, and the configuration.

    Attributes that are set within `config_scope` are the configuration, which `get_config` returns. The class is
    abstract: `create_communicator` makes communicators.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> isinstance(comm, chainermn.CommunicatorBase), comm.get_config()
        (True, {'batched_copy': True})
        >>> model = L.Linear(1, 1)
        >>> model.W.grad, model.b.grad = np.array([[2.0]], np.float32), None
        >>> comm.multi_node_mean_grad(model, zero_fill=True)
        >>> model.W.grad.tolist(), model.b.grad.tolist()
        ([[2.0]], [0.0])

    Source: `chainermn.CommunicatorBase` of Chainer 7.8.1.
    """

    _configs: dict = {}

    def __init__(self) -> None:
        self._configs = {}

    @property
    @abstractmethod
    def rank(self) -> int:
        """This process's number in the group."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of processes."""

    @property
    @abstractmethod
    def intra_rank(self) -> int:
        """This process's number among those of its machine."""

    @property
    @abstractmethod
    def intra_size(self) -> int:
        """The number of processes of this machine."""

    @property
    @abstractmethod
    def inter_rank(self) -> int:
        """This machine's number."""

    @property
    @abstractmethod
    def inter_size(self) -> int:
        """The number of machines."""

    def set_config(self, name: str, **kwargs: Any) -> None:
        """Sets the configuration entry `name`. Raises ValueError for an unknown name."""
        raise ValueError(f"Unknown config: {name}")

    def get_config(self, name: str | None = None) -> Any:
        """The configuration entry `name`, or a dict of all entries. Raises KeyError for an unknown name."""
        return self._configs if name is None else self._configs[name]

    @abstractmethod
    def split(self, color: int, key: int) -> CommunicatorBase:
        """A communicator of the processes that pass the same `color`, ranked by `key`."""

    @abstractmethod
    def alltoall(self, xs: tuple[Array, ...]) -> tuple[Array, ...]:
        """Sends the i-th of `xs` to the i-th process; returns the arrays that all processes sent to this one."""

    @abstractmethod
    def send(self, data: Array | tuple[Array, ...], dest: int, tag: int) -> None:
        """Sends an array, or a tuple of arrays, to the process `dest`."""

    @abstractmethod
    def recv(self, source: int, tag: int) -> Any:
        """The array, or tuple of arrays, that `source` sent with this tag."""

    @abstractmethod
    def bcast(self, data: Array, max_buf_len: int | None = None, root: int = 0) -> Array:
        """The array of the process `root`, in all processes."""

    @abstractmethod
    def gather(self, data: Array, root: int = 0) -> tuple[Array, ...] | None:
        """The arrays of all processes in the process `root`, None in the others."""

    @abstractmethod
    def allgather(self, x: Array) -> tuple[Array, ...]:
        """The arrays of all processes, in all processes."""

    @abstractmethod
    def allreduce(self, data: Array) -> Array:
        """The sum of the arrays of all processes."""

    @abstractmethod
    def scatter(self, xs: Array | tuple[Array, ...], root: int = 0) -> Array:
        """The element for this process of the arrays of `root`."""

    def finalize(self) -> None:  # noqa: B027  (most have nothing to end)
        """Ends communication."""

    @abstractmethod
    def send_obj(self, obj: Any, dest: int, tag: int) -> None:
        """As `send`, for objects that can be pickled."""

    @abstractmethod
    def recv_obj(self, source: int, tag: int) -> Any:
        """As `recv`, for objects."""

    @abstractmethod
    def bcast_obj(self, obj: Any, max_buf_len: int | None = None, root: int = 0) -> Any:
        """As `bcast`, for objects."""

    @abstractmethod
    def gather_obj(self, obj: Any, root: int = 0) -> list[Any] | None:
        """As `gather`, for objects."""

    @abstractmethod
    def allreduce_obj(self, obj: Any) -> Any:
        """The sum of the objects of all processes."""

    @abstractmethod
    def bcast_data(self, model: Link) -> None:
        """Copies the parameters of the first process to all processes."""

    def broadcast_data(self, model: Link) -> None:
        """The old name of `bcast_data`."""
        self.bcast_data(model)

    @abstractmethod
    def multi_node_mean_grad(self, model: Link, zero_fill: bool = False) -> None:
        """Replaces the gradients of the model's parameters by their mean over all processes. `zero_fill`: a parameter
        without a gradient counts as zeros; otherwise it is skipped.
        """

    def allreduce_grad(self, model: Link, zero_fill: bool = False) -> None:
        """The old name of `multi_node_mean_grad`."""
        warnings.warn("allreduce_grad() is deprecated.", DeprecationWarning, stacklevel=2)
        self.multi_node_mean_grad(model, zero_fill)

    @property
    def within_config_scope(self) -> bool:
        """True within `config_scope`: attributes that are set belong to the configuration."""
        return getattr(self, "_within_config_scope", False)

    @contextlib.contextmanager
    def config_scope(self) -> Iterator[None]:
        """A context manager: attributes that are set within it belong to the configuration."""
        before = self.within_config_scope
        self._within_config_scope = True
        try:
            yield
        finally:
            self._within_config_scope = before

    def __setattr__(self, name, value):
        if self.within_config_scope and name != "_within_config_scope":
            self._configs[name] = value
        super().__setattr__(name, value)
