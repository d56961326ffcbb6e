"""Trainer: applies an optimizer to a set of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compatgrad import _C
from compatgrad.core import foreign
from compatgrad.core.changes import Changes
from compatgrad.core.files import replacing

from .. import optimizer as opt
from ..kvstore import KVStore, _create_kvstore, _create_sparse_kvstore
from .parameter import Parameter, ParameterDict

if TYPE_CHECKING:
    from ..optimizer import Optimizer

__all__ = ["Trainer"]

_fresh = _C.fresh  # a marked array's flag that backward has written its gradient since the last step


class Trainer:
    """Updates parameters from their gradients by an optimizer.

    Args:
        params: the parameters: a ParameterDict, a dict or a list of Parameters.
        optimizer: an Optimizer, or the name of one.
        optimizer_params: keyword arguments of a named optimizer, such as "learning_rate".
        kvstore: the store that adds up gradients of several contexts: "local", "device", a KVStore, or None for none.
        compression_params: options of the store's compression of gradients.
        update_on_kvstore: whether the store runs the optimizer; None means if possible.

    Raises:
        ValueError: `params` are no Parameters; the store or the optimizer cannot do what is asked for.
        AssertionError: the parameters are not all on the same contexts; `optimizer_params` beside an Optimizer.
        UserWarning: in `step`, a gradient was not computed since the last one.

    Example:
        >>> net = gluon.nn.Dense(1, in_units=2, use_bias=False)
        >>> net.initialize(mx.init.One())
        >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        >>> with autograd.record():
        ...     loss = net(nd.array([[1, 2]])).sum()
        >>> loss.backward()
        >>> trainer.step(batch_size=1)
        >>> net.weight.data().asnumpy()
        array([[0.5, 0. ]], dtype=float32)

    Source: `mxnet.gluon.Trainer` of MXNet 1.9.1.
    """

    def __init__(
        self,
        params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
        optimizer: str | Optimizer,
        optimizer_params: dict[str, Any] | None = None,
        kvstore: str | KVStore | None = "device",
        compression_params: dict[str, Any] | None = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        if isinstance(params, (dict, ParameterDict)):
            params = [params[key] for key in sorted(params.keys())]
        expected = "First argument must be a list or dict of Parameters, got"
        if not isinstance(params, (list, tuple)):
            raise ValueError(f"{expected} {type(params)}{foreign.advice(params, 'mxnet')}.")
        for param in params:
            if not isinstance(param, Parameter):
                raise ValueError(f"{expected} list of {type(param)}{foreign.advice(param, 'mxnet')}.")
        self._params = list(params)
        self._param2idx = {param.name: i for i, param in enumerate(params)}
        for param in params:
            param._set_trainer(self)
        self._contains_sparse_weight = any(param._stype != "default" for param in params)
        self._contains_sparse_grad = any(param._grad_stype != "default" for param in params)
        self._compression_params = compression_params
        self._contexts = self._check_contexts()
        self._init_optimizer(optimizer, optimizer_params or {})
        self._scale = self._optimizer.rescale_grad
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._plan = None  # (`Changes.arrays`, [(updater, indices, gradients, arrays)])
        self._kvstore = None
        self._reset_kvstore()

    def _check_contexts(self):
        contexts = None
        for param in self._params:
            ctx = param.list_ctx()
            assert contexts is None or contexts == ctx, (
                f"All Parameters must be initialized on the same set of contexts, but Parameter {param.name} is "
                f"initialized on {ctx} while previous Parameters are initialized on {contexts}."
            )
            contexts = ctx
        if contexts is None:
            raise TypeError("'NoneType' object is not iterable: params holds no Parameter")
        return contexts

    def _init_optimizer(self, optimizer, optimizer_params):
        param_dict = dict(enumerate(self._params))
        if isinstance(optimizer, opt.Optimizer):
            assert not optimizer_params, (
                "optimizer_params must be None if optimizer is an instance of Optimizer instead of str"
            )
            optimizer.param_dict = param_dict
        else:
            optimizer = opt.create(optimizer, param_dict=param_dict, **optimizer_params)
        self._optimizer = optimizer
        self._updaters = [opt.get_updater(optimizer) for _ in self._contexts]

    # ---- the store ----

    def _reset_kvstore(self):
        if self._kvstore is not None and "dist" in self._kvstore.type:
            raise RuntimeError("Cannot reset distributed KVStore.")
        self._kv_initialized = False
        self._kvstore = None
        self._distributed = False
        self._update_on_kvstore = None
        self._params_to_init = list(self._params)  # parameters that the store does not have yet

    def _data_was_set(self, param):
        """Called when a program set a parameter's values: a store that keeps a copy must take the new ones."""
        if self._kv_initialized and self._update_on_kvstore and param not in self._params_to_init:
            self._reset_kvstore()

    def _init_kvstore(self):
        wanted, update_here = self._kvstore_params["kvstore"], self._kvstore_params["update_on_kvstore"]
        if self._contains_sparse_weight:
            store, on_store = _create_sparse_kvstore(wanted)
            if update_here is False:
                raise ValueError("Cannot set update_on_kvstore=False when sparse weights are present.")
        else:
            arrays = {param.name: param.data(self._contexts[0]) for param in self._params}
            store, on_store = _create_kvstore(wanted, len(self._contexts), arrays)
            distributed = store is not None and "dist" in store.type
            if self._contains_sparse_grad:
                if store is not None and not isinstance(store, KVStore):
                    raise ValueError(f"Cannot use {type(store)} for multi-device training with sparse gradients")
                if distributed and update_here is False:
                    raise ValueError(
                        "Cannot set update_on_kvstore=False on dist kvstore when sparse gradients are present."
                    )
                on_store = distributed
            if store is not None and update_here is not None:
                on_store = update_here
            if on_store and not store.is_capable("optimizer"):
                if update_here:
                    raise ValueError(f"Please set update_on_kvstore=False when training with {type(store)}")
                on_store = False
        if store is not None:
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if on_store:
                store.set_optimizer(self._optimizer)
        self._kvstore = store
        self._distributed = store is not None and "dist" in store.type
        self._update_on_kvstore = on_store if store is not None else None
        self._kv_initialized = True

    def _init_params(self):
        """Puts those parameters into the store that have been initialized since the last call."""
        waiting = []
        for param in self._params_to_init if self._kvstore is not None else ():
            if param._deferred_init:
                waiting.append(param)
                continue
            arrays = param._pick(param._data, list)
            index = self._param2idx[param.name]
            if param._stype != "default":
                self._kvstore.init(index, arrays[0])
            else:
                self._kvstore.broadcast(index, arrays[0], arrays)
        self._params_to_init = waiting

    def _prepare(self):
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    def _row_sparse_pull(self, parameter, out, row_id, full_idx=False):
        """Copies the rows `row_id` of a row_sparse parameter from the store to `out`."""
        self._prepare()
        index = self._param2idx[parameter.name]
        if full_idx and not self._distributed:
            self._kvstore.pull(index, out=out, priority=-index, ignore_sparse=False)
        else:
            self._kvstore.row_sparse_pull(index, out=out, row_ids=row_id, priority=-index)

    # ---- the optimizer ----

    @property
    def optimizer(self) -> Optimizer:
        """The Optimizer."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The optimizer's current learning rate, a float."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Sets the learning rate (float); UserWarning is raised if the optimizer has a scheduler."""
        self._optimizer.set_learning_rate(lr)

    # ---- training ----

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Updates all parameters from their gradients, divided by `batch_size`.

        UserWarning is raised if the gradient of a parameter was not computed since the last step; with
        `ignore_stale_grad` such parameters are left out. It is raised, too, if `batch_size` changes and a store of
        several processes runs a copy of the optimizer.
        """
        self._rescale(batch_size)
        if not self._kv_initialized or self._params_to_init:
            self._prepare()
        if self._kvstore is not None:
            self._allreduce_grads()
        self._update(ignore_stale_grad)

    def _rescale(self, batch_size):
        scale = self._scale / batch_size
        if self._distributed and self._update_on_kvstore and self._optimizer.rescale_grad != scale:
            raise UserWarning(
                "Possible change in the `batch_size` from previous `step` detected. The store of several processes "
                "has a copy of the optimizer, which still divides gradients by the earlier number. Pass "
                "update_on_kvstore=False to the Trainer."
            )
        self._optimizer.rescale_grad = scale

    def allreduce_grads(self) -> None:
        """Adds up the gradients of all contexts. A program may then change the gradients, and call `update`.

        AssertionError if the store runs the optimizer.
        """
        self._prepare()
        self._check_not_on_store("allreduce_grads")
        self._allreduce_grads()

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """`step` without adding up the gradients of the contexts."""
        self._prepare()
        self._check_not_on_store("update")
        self._rescale(batch_size)
        self._update(ignore_stale_grad)

    def _check_not_on_store(self, name):
        assert not (self._kvstore is not None and self._update_on_kvstore), (
            f"{name}() when parameters are updated on kvstore is not supported. Try setting `update_on_kvstore` to "
            "False when creating trainer."
        )

    def _allreduce_grads(self):
        store = self._kvstore
        if store is None:
            return
        together: list[tuple[int, Any, Any]] = []
        for i, param in enumerate(self._params):
            if param.grad_req == "null":
                continue
            gradients = param.list_grad()
            if not self._update_on_kvstore:
                out = None
            elif param._stype == "default":
                out = param.list_data()
            else:
                store.push(i, gradients, priority=-i)
                continue
            if self._distributed and gradients[0].stype != "default":
                store.push(i, gradients, priority=-i)
                store.pull(i, out or gradients, priority=-i)
            elif self._distributed and isinstance(store, KVStore):
                together.append((i, gradients, out or gradients))
            else:
                store.pushpull(i, gradients, out=out, priority=-i)
        if together:  # in few messages
            keys, values, outs = (list(column) for column in zip(*together, strict=True))
            store.pushpull(keys, values, out=outs)

    def _update(self, ignore_stale_grad=False):
        scaler = getattr(self, "_amp_loss_scaler", None)
        if scaler is not None and scaler.has_overflow(self._params):
            return
        plan = self._plan
        if plan is None or plan[0] is not Changes.arrays:
            plan = self._plan = Changes.arrays, self._make_plan()
        on_store = self._kvstore is not None and self._update_on_kvstore
        for updater, indices, gradients, arrays in plan[1]:
            live = [i for i, array in enumerate(arrays) if _fresh(array)]
            if len(live) < len(arrays) and not ignore_stale_grad:
                stale = min(set(range(len(arrays))).difference(live))
                self._raise_stale(indices[stale], arrays[stale])
            if on_store:
                continue
            if len(live) < len(arrays):
                indices, gradients, arrays = ([values[i] for i in live] for values in (indices, gradients, arrays))
            if live:
                updater(indices, gradients, arrays)
            for array in arrays:
                _fresh(array, False)

    def _make_plan(self):
        """For each context (updater, indices, gradients, arrays), with tuples over the parameters that have gradients.

        Each step passes the same tuples, so that the updater can recognize them and reuse what it has prepared.
        """
        for param in self._params:
            if param.grad_req != "null":
                param._pick(param._data, list)  # raises if it is not initialized
        trained = [(i, param) for i, param in enumerate(self._params) if param.grad_req != "null"]
        return [
            (
                updater,
                tuple([i for i, _ in trained]),
                tuple([param._grad[c] for _, param in trained]),
                tuple([param._data[c] for _, param in trained]),
            )
            for c, updater in enumerate(self._updaters)
        ]

    def _raise_stale(self, index, array):
        raise UserWarning(
            f"Gradient of Parameter `{self._params[index].name}` on context {array.context} has not been updated by "
            "backward since last `step`. This could mean a bug in your model that made it only use a subset of the "
            "Parameters (Blocks) for this iteration. If you are intentionally only using a subset, call step with "
            "ignore_stale_grad=True to suppress this warning and skip updating of Parameters with stale gradient"
        )

    # ---- states ----

    def save_states(self, fname: str) -> None:
        """Writes the optimizer and its states, such as momenta, to the file `fname`."""
        self._prepare()
        if self._update_on_kvstore:
            assert not self._params_to_init, (
                "Cannot save trainer states when some parameters are not yet initialized in kvstore."
            )
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
        else:
            with replacing(fname) as out:
                out.write(self._updaters[0].get_states(dump_optimizer=True))

    def load_states(self, fname: str) -> None:
        """Reads what `save_states` wrote."""
        self._prepare()
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            self._optimizer = self._kvstore._updater.optimizer
        else:
            for updater in self._updaters:
                updater.load(fname)
                updater.optimizer = self._updaters[0].optimizer
            self._optimizer = self._updaters[0].optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))
