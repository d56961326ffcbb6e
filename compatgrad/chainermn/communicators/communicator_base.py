"""What every communicator can do."""

from __future__ import annotations

import contextlib
import warnings
from abc import ABCMeta, abstractmethod


class CommunicatorBase(metaclass=ABCMeta):
    """A group of processes, each with its rank: what they exchange, and its configuration.

    Attributes that are set within `config_scope` are configuration, which `get_config` shows.
    """

    _configs: dict = {}

    def __init__(self):
        self._configs = {}

    @property
    @abstractmethod
    def rank(self):
        """This process's number in the group."""

    @property
    @abstractmethod
    def size(self):
        """The number of processes."""

    @property
    @abstractmethod
    def intra_rank(self):
        """This process's number among those of its machine."""

    @property
    @abstractmethod
    def intra_size(self):
        """The number of processes of this machine."""

    @property
    @abstractmethod
    def inter_rank(self):
        """This machine's number."""

    @property
    @abstractmethod
    def inter_size(self):
        """The number of machines."""

    def set_config(self, name, **kwargs):
        """Sets what `name` configures. ValueError for an unknown name."""
        raise ValueError(f"Unknown config: {name}")

    def get_config(self, name=None):
        """The value of `name`, or a dict of all. KeyError for an unknown name."""
        return self._configs if name is None else self._configs[name]

    @abstractmethod
    def split(self, color, key):
        """A communicator of the processes that give the same `color`, ranked by `key`."""

    @abstractmethod
    def alltoall(self, xs):
        """Sends the i-th of `xs` to the i-th process; what they sent to this one."""

    @abstractmethod
    def send(self, data, dest, tag):
        """Sends an array, or a tuple of them."""

    @abstractmethod
    def recv(self, source, tag):
        """What `source` sent with this tag."""

    @abstractmethod
    def bcast(self, data, max_buf_len=None, root=0):
        """The array of `root`."""

    @abstractmethod
    def gather(self, data, root=0):
        """At `root` all processes' arrays, else None."""

    @abstractmethod
    def allgather(self, x):
        """All processes' arrays."""

    @abstractmethod
    def allreduce(self, data):
        """The sum of all processes' arrays."""

    @abstractmethod
    def scatter(self, xs, root=0):
        """This process's of the arrays of `root`."""

    def finalize(self):  # noqa: B027  (most have nothing to end)
        """Ends communication."""

    @abstractmethod
    def send_obj(self, obj, dest, tag):
        """As `send`, for what can be pickled."""

    @abstractmethod
    def recv_obj(self, source, tag):
        """As `recv`, for objects."""

    @abstractmethod
    def bcast_obj(self, obj, max_buf_len=None, root=0):
        """As `bcast`, for objects."""

    @abstractmethod
    def gather_obj(self, obj, root=0):
        """As `gather`, for objects."""

    @abstractmethod
    def allreduce_obj(self, obj):
        """The sum of all processes' objects."""

    @abstractmethod
    def bcast_data(self, model):
        """Gives all processes the parameters of the first."""

    def broadcast_data(self, model):
        """The old name of `bcast_data`."""
        self.bcast_data(model)

    @abstractmethod
    def multi_node_mean_grad(self, model, zero_fill=False):
        """Makes the gradients of the model's parameters the mean of all processes'. `zero_fill`: a parameter without
        a gradient gets zeros; else it is passed over.
        """

    def allreduce_grad(self, model, zero_fill=False):
        """The old name of `multi_node_mean_grad`."""
        warnings.warn("allreduce_grad() is deprecated.", DeprecationWarning, stacklevel=2)
        self.multi_node_mean_grad(model, zero_fill)

    @property
    def within_config_scope(self) -> bool:
        """Whether attributes that are set now are configuration."""
        return getattr(self, "_within_config_scope", False)

    @contextlib.contextmanager
    def config_scope(self):
        """Attributes that are set within are configuration."""
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
