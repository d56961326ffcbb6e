"""Optimizer, the base class, and RuleOptimizer, the base class of those that run one of the engine's compiled rules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from .. import ndarray
from ..ndarray import NDArray
from ..ndarray._update_rules import goes_by_rows, on_rows, run_rule
from ..util import is_np_array

__all__ = ["Optimizer", "create", "register"]


class Optimizer:
    """Base class of optimizers, which change weights from their gradients.

    Subclasses define `create_state(index, weight)` and `update(index, weight, grad, state)`, and are known to
    `create` by their name in lower case once they are decorated with `register`.

    Args:
        rescale_grad: factor on all gradients.
        param_idx2name: names of weights by index; weights whose name ends in neither "_weight" nor "_gamma" have no
            decay then.
        wd: weight decay.
        clip_gradient: bound of the gradients' elements; None for none.
        learning_rate: the rate; None for that of the scheduler, or 0.01 without one. It is written into the scheduler's
            `base_lr`.
        lr_scheduler: a function of the number of updates that gives the rate, such as one of `mx.lr_scheduler`.
        sym: a symbol whose attributes `__lr_mult__` and `__wd_mult__` are factors on rate and decay.
        begin_num_update: the number of updates so far.
        multi_precision: weights of float16 have a copy in float32, which is updated.
        param_dict: gluon's Parameters by index, whose `lr_mult` and `wd_mult` are factors on rate and decay.

    Raises:
        AssertionError: `param_idx2name` is no dict.
        NotImplementedError: in `update`, the subclass does not define it.

    Example:
        >>> class Sign(mx.optimizer.Optimizer):
        ...     def update(self, index, weight, grad, state):
        ...         self._update_count(index)
        ...         weight -= self._get_lr(index) * nd.sign(grad)
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(Sign(learning_rate=0.25))(0, nd.array([3.0]), w)
        >>> w.asnumpy()
        array([0.75], dtype=float32)

    Source: `mxnet.optimizer.Optimizer` of MXNet 1.9.1.
    """

    opt_registry: dict[str, type[Optimizer]] = {}

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: dict[Any, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: Any = None,
        sym: Any = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: dict[Any, Any] | None = None,
    ) -> None:
        names = {} if param_idx2name is None else param_idx2name
        assert isinstance(names, dict), "param_idx2name should be a dict of param indexes to names."
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        self.lr = 0.01 if learning_rate is None and lr_scheduler is None else learning_rate
        if lr_scheduler is not None and learning_rate is not None and lr_scheduler.base_lr != learning_rate:
            print(f"base_lr of the lr_scheduler, {lr_scheduler.base_lr}, gives way to learning_rate={learning_rate}")
            lr_scheduler.base_lr = learning_rate
        self.wd = wd
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        # updates of each index, per device
        self._all_index_update_counts: dict[int, dict[Any, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.idx2name = names.copy()
        self.sym_info = (sym.attr_dict(), sym.list_arguments()) if sym is not None else ()
        self.param_dict = param_dict or {}
        self.allow_np_array = is_np_array()
        self.set_lr_mult({})
        self.set_wd_mult({})

    # ---- by name --------------------------------------------------------------------------------------------------

    @staticmethod
    def register(klass: type[Any]) -> type[Any]:
        """Makes an optimizer known to `create` by its name in lower case; a class decorator.

        Args:
            klass: the class. Where its name is taken, it replaces the other one, with a warning.

        Returns:
            `klass`.

        Raises:
            AssertionError: it is no class.

        Example:
            >>> @mx.optimizer.register
            ... class DocDescent(mx.optimizer.SGD): pass
            >>> type(mx.optimizer.create("docdescent")).__name__
            'DocDescent'

        Source: `mxnet.optimizer.register` of MXNet 1.9.1.
        """
        assert isinstance(klass, type), f"register: expected a class, got {type(klass).__name__}"
        name = klass.__name__.lower()
        old = Optimizer.opt_registry.get(name)
        if old is not None:
            warnings.warn(
                f"WARNING: New optimizer {klass.__module__}.{klass.__name__} is overriding "
                f"existing optimizer {old.__module__}.{old.__name__}",
                stacklevel=2,
            )
        Optimizer.opt_registry[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """An optimizer by its name.

        Args:
            name: name of the class, in any case.
            **kwargs: arguments of the class.

        Returns:
            The optimizer.

        Raises:
            ValueError: there is no optimizer of that name.
            TypeError: the class has no such argument.

        Example:
            >>> mx.optimizer.create("sgd", learning_rate=0.5).learning_rate
            0.5

        Source: `mxnet.optimizer.create` of MXNet 1.9.1.
        """
        klass = Optimizer.opt_registry.get(name.lower())
        if klass is None:
            known = ", ".join(sorted(n for n in Optimizer.opt_registry if n[0] != "_"))
            raise ValueError(f"Cannot find optimizer {name}. There are: {known}")
        return klass(**kwargs)

    # ---- learning rates and decays --------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> float:
        """The present learning rate, without multipliers."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Sets the learning rate; raises UserWarning if a scheduler sets it."""
        if self.lr_scheduler is not None:
            raise UserWarning(
                "set_learning_rate has no effect beside an lr_scheduler: LRScheduler of the optimizer "
                "has already been defined."
            )
        self.lr = lr

    def set_lr_scale(self, args_lrscale: Any) -> NoReturn:
        """Raises DeprecationWarning: `set_lr_mult` took its place."""
        raise DeprecationWarning("set_lr_scale: use set_lr_mult instead")

    def set_lr_mult(self, args_lr_mult: dict[Any, float]) -> None:
        """Sets factors on the learning rate: dict of a weight's name or index to float. Others have 1."""
        self.lr_mult = {**self._of_symbol("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult: dict[Any, float]) -> None:
        """Sets factors on the weight decay: dict of a weight's name or index to float; see the class for others."""
        undecayed = {name: 0.0 for name in self.idx2name.values() if not name.endswith(self._decayed_names)}
        self.wd_mult = {**undecayed, **self._of_symbol("__wd_mult__"), **args_wd_mult}

    _decayed_names = ("_weight", "_gamma")

    def _of_symbol(self, key):
        if not self.sym_info:
            return {}
        attributes, names = self.sym_info
        return {name: float(attributes[name][key]) for name in names if key in attributes.get(name, {})}

    def _set_current_context(self, device_id):
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index):
        counts, begin, most = self._index_update_count, self.begin_num_update, self.num_update
        for i in index if isinstance(index, (list, tuple)) else (index,):
            counts[i] = count = counts.get(i, begin) + 1
            if count > most:
                most = count
        self.num_update = most

    def _factors(self, base, indices, attribute, table):
        if not (self.param_dict or table):
            return [base] * len(indices)
        params, names, found = self.param_dict, self.idx2name, []
        for i in indices:
            if i in params:
                found.append(base * getattr(params[i], attribute))
            elif i in table:
                found.append(base * table[i])
            elif i in names:
                found.append(base * table.get(names[i], 1.0))
            else:
                found.append(base)
        return found

    def _get_lrs(self, indices):
        return self._factors(self.learning_rate, indices, "lr_mult", self.lr_mult)

    def _get_lr(self, index):
        return self._get_lrs([index])[0]

    def _get_wds(self, indices):
        return self._factors(self.wd, indices, "wd_mult", self.wd_mult)

    def _get_wd(self, index):
        return self._get_wds([index])[0]

    # ---- updates --------------------------------------------------------------------------------------------------

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The initial state of a weight (NDArray), in any form that `update` takes; None for no state."""

    def _is_half(self, weight):
        if weight.dtype != np.float16:
            return False
        if not self.multi_precision:
            warnings.warn(
                f"{type(self).__name__} accumulates in float16, which can lead to poor accuracy or slow "
                "convergence. Consider multi_precision=True.",
                stacklevel=3,
            )
        return self.multi_precision

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """`create_state`, together with the copy in single precision where the weight needs one."""
        if not self._is_half(weight):
            return self.create_state(index, weight)
        master = weight.astype(np.float32)
        return self._join_state(master, self.create_state(index, master))

    _copy_last = False  # whether the pair is (state, copy) instead of (copy, state)

    def _join_state(self, master, state):
        return (state, master) if self._copy_last else (master, state)

    def _split_state(self, state):
        # (copy in single precision, state of `create_state`)
        return (state[1], state[0]) if self._copy_last else (state[0], state[1])

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Changes `weight` (NDArray) and its state from the gradient `grad`; `index` identifies the weight."""
        raise NotImplementedError(f"{type(self).__name__} must define update(index, weight, grad, state)")

    def update_multi_precision(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """`update`, by way of the copy in single precision where the weight has one."""
        if self.multi_precision and weight.dtype == np.float16:
            master, state = self._split_state(state)
            self.update(index, master, grad.astype(np.float32), state)
            weight[:] = master.astype(np.float16)
        else:
            self.update(index, weight, grad, state)

    def update_all(
        self, indices: Sequence[Any], weights: Sequence[NDArray], grads: Sequence[NDArray], states: Sequence[Any]
    ) -> None:
        """Updates many weights: sequences of the same length.

        Calls `update_multi_precision` for each weight, or for `aggregate_num` weights of one dtype if that is not 0.
        """
        size = self.aggregate_num
        if not size:
            for i, w, g, s in zip(indices, weights, grads, states, strict=True):
                self.update_multi_precision(i, w.as_nd_ndarray(), g.as_nd_ndarray(), s)
            return
        groups: dict[type, list[tuple[Any, ...]]] = {}
        for i, w, g, s in zip(indices, weights, grads, states, strict=True):
            groups.setdefault(w.dtype, []).append((i, w.as_nd_ndarray(), g.as_nd_ndarray(), s))
        for group in groups.values():
            for start in range(0, len(group), size):
                i, w, g, s = zip(*group[start : start + size], strict=True)
                self.update_multi_precision(i, w, g, list(s))

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["param_dict"]  # Parameters are not pickled: a Trainer that loads the optimizer sets them
        return state

    def __setstate__(self, state):
        self.__dict__ = state
        self.param_dict = {}


register = Optimizer.register
create = Optimizer.create_optimizer


def zeros_like(weight: NDArray, dtype: Any = None) -> NDArray:
    """A dense state of zeros, of the weight's dtype unless another one is given."""
    return ndarray.zeros(weight.shape, weight.context, dtype=dtype or weight.dtype)


class RuleOptimizer(Optimizer):
    """An optimizer whose update is a compiled rule: `_rule` names it, `_hypers` gives its constants.

    `update` and `update_multi_precision` take lists too. All weights are updated in one call.
    """

    _rule = ""
    # whether the compiled rule also writes the weights in half precision; else they are copied afterwards
    _follows = True
    # whether constants are rounded to single precision, as by the original's operators
    _rounds = True
    # whether the updates of aggregated weights are all counted before the first learning rate is computed
    _counts_together = True

    def __init_subclass__(cls) -> None:
        # the `update` of a program's subclass takes one weight at a time
        own = vars(cls)
        if "update_all" not in own and ("update" in own or "update_multi_precision" in own):
            cls.update_all = Optimizer.update_all  # type: ignore[method-assign]

    def _hypers(self, lr, wd, t):
        # the rule's constants for a learning rate, a decay and a number of updates
        raise NotImplementedError

    def _rule_states(self, states):
        # the states in the rule's order
        return states

    def _common(self, lr, wd):
        # the first four constants of every rule; as for the original's operators, a bound of 0 or less is no bound
        clip = self.clip_gradient
        if clip is None or (self._rounds and not clip > 0):
            clip = math.inf
        return lr, wd, self.rescale_grad, clip

    def _constants(self, lrs, wds, ts):
        # one tuple for all, or a list with one for each
        if lrs.count(lrs[0]) == wds.count(wds[0]) == ts.count(ts[0]) == len(lrs):
            return self._hypers(lrs[0], wds[0], ts[0])
        made: dict[Any, Any] = {}
        keys = list(zip(lrs, wds, ts, strict=True))
        for key in keys:
            if key not in made:
                made[key] = self._hypers(*key)
        return [made[key] for key in keys]

    def _apply(self, indices, weights, grads, states, copies=None):
        # updates dense weights; `copies`: the weights in half precision that belong to them, or None
        counts = self._index_update_count
        if self.lr_scheduler is not None and len({counts.get(i) for i in indices}) > 1:
            # the scheduler gets the largest count so far, so that updates must be counted in the original's groups
            size = max(1, self.aggregate_num if self._counts_together else 1)
            if len(indices) > size:
                for k in range(0, len(indices), size):
                    part = slice(k, k + size)
                    own = None if copies is None else copies[part]
                    self._apply(indices[part], weights[part], grads[part], states[part], own)
                return
        self._update_count(indices)
        lrs, wds = self._get_lrs(indices), self._get_wds(indices)
        ts = [counts[i] for i in indices]
        if copies is None:
            self._run(indices, weights, grads, states, lrs, wds, ts)
        else:
            self._run(indices, weights, grads, states, lrs, wds, ts, copies)

    def _run(self, indices, weights, grads, states, lrs, wds, ts, copies=None):
        constants, states = self._constants(lrs, wds, ts), self._rule_states(states)
        run_rule(type(self).__name__, self._rule, weights, grads, states, constants, self._rounds, copies)

    def update_all(
        self, indices: Sequence[Any], weights: Sequence[NDArray], grads: Sequence[NDArray], states: Sequence[Any]
    ) -> None:
        """Updates many weights in one call: sequences of the same length."""
        if not weights:
            return
        if self.multi_precision and any(w.dtype == np.float16 for w in weights):
            self._apply_mixed(indices, weights, grads, states)
        elif any(g.stype != "default" for g in grads):
            for i, w, g, s in zip(indices, weights, grads, states, strict=True):
                self._apply_sparse(i, w, g, s)
        else:
            self._apply(indices, weights, grads, states)

    def _apply_mixed(self, indices, weights, grads, states):
        follows = self._follows and all(g.stype == "default" for g in grads)
        masters, wide, inner, copies = [], [], [], []
        for w, g, s in zip(weights, grads, states, strict=True):
            half = w.dtype == np.float16
            master, state = self._split_state(s) if half else (w, s)
            masters.append(master)
            wide.append(NDArray(g.tensor.float()) if half and not follows else g)
            inner.append(state)
            copies.append(w if half else None)
        self._apply(indices, masters, wide, inner, copies if follows else None)
        if not follows:
            for w, master in zip(weights, masters, strict=True):
                if w is not master:
                    w.tensor.copy_(master.tensor)

    def _apply_sparse(self, index, weight, grad, state):
        # updates only the rows with a gradient, if the rule can and `lazy_update` is not false
        if not (getattr(self, "lazy_update", True) and goes_by_rows(self._rule, grad)):
            self._apply([index], [weight], [grad], [state])
            return
        if not len(grad.indices):
            self._update_count(index)
            return
        several = isinstance(state, (tuple, list))

        def run(gradient, part, *states):
            self._apply([index], [part], [gradient], [states if several else states[0]])

        on_rows(grad, [weight, *(state if several else [state])], run)

    def _update_lists(self, index, weight, grad, state):
        if not isinstance(index, (tuple, list)):
            assert isinstance(weight, NDArray), f"weight: expected an NDArray, got {type(weight).__name__}"
            assert isinstance(grad, NDArray), f"grad: expected an NDArray, got {type(grad).__name__}"
            index, weight, grad, state = [index], [weight], [grad], [state]
        return index, weight, grad, state

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        index, weight, grad, state = self._update_lists(index, weight, grad, state)
        if any(g.stype != "default" for g in grad):
            for i, w, g, s in zip(index, weight, grad, state, strict=True):
                self._apply_sparse(i, w, g, s)
        else:
            self._apply(index, weight, grad, state)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        if not isinstance(index, (tuple, list)) and not self.aggregate_num:
            super().update_multi_precision(index, weight, grad, state)
        else:
            RuleOptimizer.update_all(self, *self._update_lists(index, weight, grad, state))
