"""The executors of a Module, one for each context: batches are divided among them, and results are joined."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from .. import ndarray as nd
from ..context import Context, cpu
from ..executor_manager import _split_input_slice
from ..io import DataDesc
from .base_module import _descriptions

__all__ = ["DataParallelExecutorGroup"]


def _part(x: Any, axis: int, where: slice) -> Any:
    """The part of an array for a context."""
    if axis < 0 or (where.start == 0 and where.stop == x.shape[axis]):
        return x
    if axis == 0:
        return x[where.start : where.stop]
    return nd.slice_axis(x, axis=axis, begin=where.start, end=where.stop)


def _load(arrays: Sequence[Any], targets: Sequence[Any], axes: Sequence[int]) -> None:
    """Copies arrays (or lists of them, one for each context) into the parts of the executors."""
    for source, parts, axis in zip(arrays, targets, axes, strict=False):
        for i, (where, target) in enumerate(parts):
            given = source[i] if isinstance(source, (list, tuple)) else _part(source, axis, where)
            given.copyto(target)


def _merged(outputs: Sequence[Sequence[Any]], axes: Sequence[int]) -> list[Any]:
    """The arrays of all contexts joined into one."""
    return [
        parts[0] if axis < 0 or len(parts) == 1
        else nd.concat(*[x.as_in_context(parts[0].context) for x in parts], dim=axis)
        for parts, axis in zip(outputs, axes, strict=False)
    ]  # fmt: skip


def _contexts_of_groups(group2ctxs: Any, count: int) -> list[Any]:
    """A dict of group to context for each of `count` executors."""
    if group2ctxs is None:
        return [None] * count
    if isinstance(group2ctxs, list):
        assert len(group2ctxs) == count, f"length of group2ctxs should be {count}"
        return group2ctxs
    assert isinstance(group2ctxs, dict), (
        "group2ctxs should be list of dict of str to context, or dict of str to context or list of context"
    )
    result: list[dict[str, Context]] = [{} for _ in range(count)]
    for group, contexts in group2ctxs.items():
        each = [contexts] * count if isinstance(contexts, Context) else list(contexts)
        each = each * count if len(each) == 1 else each
        assert len(each) == count, f"length of group2ctxs[{group}] should be {count} or 1"
        for own, ctx in zip(result, each, strict=True):
            own[group] = ctx
    return result


class DataParallelExecutorGroup:
    """An executor of a symbol for each of several contexts, which gets its part of each batch.

    Args:
        symbol: the symbol.
        contexts: the contexts.
        workload: in which proportions batches are dealt out.
        data_shapes, label_shapes: descriptions (DataDesc, or name and shape) of data and labels; labels may be None.
        param_names: the arguments that are parameters.
        for_training: whether gradients are wanted.
        inputs_need_grad: whether gradients of the data are wanted too.
        shared_group: a group whose parameters these executors use; None for none.
        logger: what logs, with the methods of the module `logging`.
        fixed_param_names: parameters without a gradient.
        grad_req: "write", "add" or "null", one for all, a list for all arguments or a dict.
        state_names: the arguments that are states.
        group2ctxs: as in Module.

    Raises:
        AssertionError: batches have different sizes, there is no data, or numbers do not fit each other.
        ValueError: `grad_req` is of another type.

    Example:
        >>> y = mx.sym.var("data") * mx.sym.var("w")
        >>> group = mx.mod.DataParallelExecutorGroup(
        ...     y, [mx.cpu(0), mx.cpu(1)], [1, 1], [("data", (4, 1))], None, ["w"], False, False)
        >>> group.slices
        [slice(0, 2, None), slice(2, 4, None)]

    Source: `mxnet.module.executor_group.DataParallelExecutorGroup` of MXNet 1.9.1.
    """

    def __init__(
        self,
        symbol: Any,
        contexts: list[Context],
        workload: list[float],
        data_shapes: Any,
        label_shapes: Any,
        param_names: list[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = logging,
        fixed_param_names: list[str] | None = None,
        grad_req: Any = "write",
        state_names: list[str] | None = None,
        group2ctxs: Any = None,
    ) -> None:
        self.symbol, self.contexts, self.workload = symbol, contexts, workload
        self.param_names = param_names
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.num_outputs = len(self.output_names)
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.logger = logger
        self.fixed_param_names = fixed_param_names or []
        self.state_names = state_names or []
        self.group2ctxs = _contexts_of_groups(group2ctxs, len(contexts))
        self.shared_data_arrays = [{} for _ in contexts] if shared_group is None else shared_group.shared_data_arrays
        self._total_exec_bytes = 0
        self.batch_size: int | None = None
        self.slices: list[slice] = []
        self.execs: list[Any] = []
        self._default_execs: list[Any] | None = None
        self.label_arrays: Any = None
        self.label_layouts: list[int] = []
        data_shapes = _descriptions(data_shapes)
        label_shapes = None if label_shapes is None else _descriptions(label_shapes)
        self.grad_req = self._requests(grad_req if for_training else "null", [x.name for x in data_shapes])
        self.output_layouts = [DataDesc.get_batch_axis(symbol[i].attr("__layout__")) for i in range(self.num_outputs)]
        self.bind_exec(data_shapes, label_shapes, shared_group)

    def _requests(self, grad_req: Any, data_names: list[str]) -> dict[str, str]:
        if isinstance(grad_req, (list, tuple)):
            assert len(grad_req) == len(self.arg_names), (
                f"grad_req has {len(grad_req)} entries for {len(self.arg_names)} arguments"
            )
            return dict(zip(self.arg_names, grad_req, strict=True))
        if not isinstance(grad_req, (str, dict)):
            raise ValueError(f"grad_req must be one of str, list, tuple, or dict, got {type(grad_req).__name__}")
        wanted = grad_req if isinstance(grad_req, str) else "write"
        requests = dict.fromkeys(self.arg_names, "null")
        for name in self.arg_names:
            if name in self.param_names:
                requests[name] = "null" if name in self.fixed_param_names else wanted
            elif name in data_names and self.inputs_need_grad:
                requests[name] = wanted
        if isinstance(grad_req, dict):
            requests.update(grad_req)
        return requests

    # ---- executors ----

    def decide_slices(self, data_shapes: Sequence[DataDesc]) -> list[int]:
        """The axes of samples; sets the size of a batch and the part of each context."""
        assert len(data_shapes) > 0, "data_shapes is empty; name and shape of an input were expected"
        axes = [DataDesc.get_batch_axis(x.layout) for x in data_shapes]
        for desc, axis in zip(data_shapes, axes, strict=True):
            if axis == -1:
                continue
            size = desc.shape[axis]
            if self.batch_size is None:
                self.batch_size = size
                self.slices = _split_input_slice(size, self.workload)
            assert size == self.batch_size, (
                f"all data must have the same batch size: batch_size = {self.batch_size}, but {desc.name} has shape "
                f"{desc.shape}"
            )
        return axes

    def bind_exec(self, data_shapes: Any, label_shapes: Any, shared_group: Any = None, reshape: bool = False) -> None:
        """Makes the executors, or with `reshape` executors of other shapes from the first ones."""
        self.batch_size = None
        self.slices = []
        self.data_layouts = self.decide_slices(data_shapes)
        self.label_layouts = self.decide_slices(label_shapes) if label_shapes else []
        execs = []
        for i in range(len(self.contexts)):
            parts = self._sliced_shape(data_shapes, i, self.data_layouts)
            parts += self._sliced_shape(label_shapes or [], i, self.label_layouts)
            if reshape:
                assert self._default_execs is not None
                execs.append(self._default_execs[i].reshape(allow_up_sizing=True, **{x.name: x.shape for x in parts}))
            else:
                execs.append(self._bind_ith_exec(i, parts, shared_group))
        self.execs = execs
        self.data_shapes, self.label_shapes = data_shapes, label_shapes
        self.data_names = [x.name for x in data_shapes]
        self.label_names = [] if label_shapes is None else [x.name for x in label_shapes]
        self._collect_arrays()

    def _bind_ith_exec(self, i: int, shapes: list[DataDesc], shared_group: Any) -> Any:
        declared = self.symbol.attr_dict()  # a variable's declared dtype takes precedence over that of the data
        types = {x.name: x.dtype for x in shapes if declared.get(x.name, {}).get("__dtype__", "-1") == "-1"}
        return self.symbol.simple_bind(
            self.contexts[i],
            grad_req=self.grad_req,
            type_dict=types,
            shared_arg_names=self.param_names,
            shared_exec=None if shared_group is None else shared_group.execs[i],
            group2ctx=self.group2ctxs[i],
            shared_buffer=self.shared_data_arrays[i],
            **{x.name: x.shape for x in shapes},
        )

    def _sliced_shape(self, shapes: Sequence[DataDesc], i: int, axes: Sequence[int]) -> list[DataDesc]:
        parts = []
        for desc, axis in zip(shapes, axes, strict=True):
            shape = list(desc.shape)
            if axis >= 0:
                shape[axis] = self.slices[i].stop - self.slices[i].start
            parts.append(DataDesc(desc.name, tuple(shape), desc.dtype, desc.layout))
        return parts

    def _collect_arrays(self) -> None:
        """Lists of the executors' arrays, for each name one of each context."""
        parts = self.slices or [slice(i, i + 1) for i in range(len(self.execs))]

        def inputs(names: list[str]) -> list[Any]:
            return [[(part, e.arg_dict[name]) for part, e in zip(parts, self.execs, strict=True)] for name in names]

        params = [name for name in self.arg_names if name in self.param_names]
        self.data_arrays = inputs(self.data_names)
        self.label_arrays = None if self.label_shapes is None else inputs(self.label_names)
        self.state_arrays = [[e.arg_dict[name] for e in self.execs] for name in self.state_names]
        self.param_arrays = [[e.arg_dict[name] for e in self.execs] for name in params]
        self.grad_arrays = [[e.grad_dict[name] for e in self.execs] for name in params] if self.for_training else None
        self.input_grad_arrays = None
        if self.inputs_need_grad:
            names = [name for name in self.data_names if name in self.arg_names]
            self.input_grad_arrays = [[e.grad_dict[name] for e in self.execs] for name in names]
        self.aux_arrays = [[e.aux_dict[name] for e in self.execs] for name in self.aux_names]

    def reshape(self, data_shapes: Any, label_shapes: Any) -> None:
        """Changes the shapes of data and labels; parameters stay."""
        if data_shapes == self.data_shapes and label_shapes == self.label_shapes:
            return
        if self._default_execs is None:
            self._default_execs = list(self.execs)
        self.bind_exec(data_shapes, label_shapes, reshape=True)

    # ---- parameters ----

    def set_params(self, arg_params: Any, aux_params: Any, allow_extra: bool = False) -> None:
        """Copies parameters and states to all contexts."""
        for e in self.execs:
            e.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params: dict[str, Any], aux_params: dict[str, Any]) -> None:
        """Writes the means over the contexts to the arrays of both dicts."""
        for names, arrays, found in (
            (self.param_names, self.param_arrays, arg_params),
            (self.aux_names, self.aux_arrays, aux_params),
        ):
            for name, block in zip(names, arrays, strict=True):
                mean = block[0].copyto(cpu())
                for x in block[1:]:
                    mean = mean + x.copyto(cpu())
                mean = mean / len(block) if len(block) > 1 else mean
                mean.astype(found[name].dtype).copyto(found[name])

    # ---- running ----

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Divides a batch (or takes a list with one for each context) and runs the executors."""
        several = isinstance(data_batch, list)
        first = data_batch[0] if several else data_batch

        def arrays(kind: str) -> Any:
            if not several:
                return getattr(data_batch, kind)
            return [[getattr(b, kind)[i] for b in data_batch] for i in range(len(getattr(first, kind)))]

        _load(arrays("data"), self.data_arrays, self.data_layouts)
        if self.label_arrays is not None and first.label:
            _load(arrays("label"), self.label_arrays, self.label_layouts)
        for e in self.execs:
            e.forward(is_train=self.for_training if is_train is None else is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Gradients of all executors, from the parts of the outputs' gradients."""
        assert self.for_training, "re-bind with for_training=True to run backward"
        grads = [out_grads] if isinstance(out_grads, nd.NDArray) else out_grads or []
        for e, ctx, part in zip(self.execs, self.contexts, self.slices, strict=True):
            own = [_part(g, axis, part).as_in_context(ctx) for g, axis in zip(grads, self.output_layouts, strict=False)]
            e.backward(own or None)

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pairs of name and shape, with all samples of a batch."""
        e = self.execs[0]
        _, shapes, _ = self.symbol.infer_shape(**{name: x.shape for name, x in e.arg_dict.items()})
        result = []
        for name, shape, axis in zip(self.output_names, shapes, self.output_layouts, strict=True):
            whole = list(shape)
            if axis >= 0 and whole:
                assert self.batch_size is not None, "data_shapes: no description has a batch axis"
                whole[axis] = self.batch_size
            result.append((name, tuple(whole)))
        return result

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None) -> list[Any]:
        """The outputs `begin` to `end`, put together or as a list of each context."""
        outputs = [[e.outputs[i] for e in self.execs] for i in range(*slice(begin, end).indices(self.num_outputs))]
        return _merged(outputs, self.output_layouts[begin:end]) if merge_multi_context else outputs

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """The gradients of the data."""
        assert self.inputs_need_grad, "gradients of the inputs: bind with inputs_need_grad=True"
        assert self.input_grad_arrays is not None
        return _merged(self.input_grad_arrays, self.data_layouts) if merge_multi_context else self.input_grad_arrays

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The arrays of states of each context."""
        assert not merge_multi_context, "merge_multi_context=True is not supported for get_states yet."
        return self.state_arrays

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states to the arrays of `get_states`, or all to a number."""
        assert (states is None) != (value is None), "Exactly one of states & value must be specified."
        for i, targets in enumerate(self.state_arrays):
            for j, target in enumerate(targets):
                if states is None:
                    target[:] = value
                else:
                    (states[i][j] if isinstance(states[i], (list, tuple)) else states[i]).copyto(target)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool) -> None:
        """Adds the outputs of each context with its part of the labels."""
        for i, (e, part) in enumerate(zip(self.execs, self.slices, strict=True)):
            own = labels[i] if pre_sliced else [
                _part(x, axis, part) for x, axis in zip(labels, self.label_layouts, strict=False)
            ]  # fmt: skip
            eval_metric.update_dict(
                OrderedDict(zip(self.label_names, own, strict=False)),
                OrderedDict(zip(self.output_names, e.outputs, strict=True)),
            )

    def install_monitor(self, mon: Any) -> None:
        """Has a Monitor watch all executors."""
        for e in self.execs:
            mon.install(e)
