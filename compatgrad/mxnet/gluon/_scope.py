"""Prefixes of blocks, which are numbered within `with block.name_scope()`, and the state of the call that runs."""

import threading

from compatgrad import _C
from compatgrad.core.configuration import Settings

from .. import name as _name
from .parameter import ParameterDict


class _State(threading.local):
    """The state of the call that runs in this thread."""

    hybridized = False  # inside a hybridized block, which has checked the inputs: its children need not
    probing = False  # inside infer_shape: only shapes are computed, and no parameter is initialized
    # the context of the innermost call that is not on cpu(0), because results of operators do not store their context
    ctx = None


_state = _State()


class _BlockScope(_C.Scope):
    """The scope of one block: counts its children by hint, and puts its prefix before names."""

    _current = threading.local()  # `value`: the innermost scope of a thread

    def __init__(self, block):
        self._block = block
        self._counter: dict[str, int] = {}

    @staticmethod
    def create(prefix, params, hint):
        """(prefix, ParameterDict) of a new block: the given ones, completed by the scope it is made in.

        params: the dict of another block, whose parameters the new one shares.
        """
        outer = getattr(_BlockScope._current, "value", None)
        if prefix is None:
            if outer is None:
                prefix = _name.NameManager._current.value.get(None, hint) + "_"
            else:
                number = outer._counter.get(hint, 0)
                outer._counter[hint] = number + 1
                prefix = f"{hint}{number}_"
        if params is not None:
            params = ParameterDict(params.prefix, params)
        elif outer is None:
            params = ParameterDict(prefix)
        else:
            around = outer._block.params
            params = ParameterDict(around.prefix + prefix, around._shared)
        return prefix if outer is None else outer._block.prefix + prefix, params

    def _settings(self) -> Settings:
        if self._block._empty_prefix:
            return {}, (), self
        manager = _name.Prefix(self._block.prefix)
        return {}, ((_BlockScope._current, "value", self), (_name.NameManager._current, "value", manager)), self

    def __getstate__(self):
        return self.__dict__
