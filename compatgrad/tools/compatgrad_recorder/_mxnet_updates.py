"""Parameters, gradients and states of MXNet's optimizers, before and after an update."""

from typing import Any

from ._mxnet_arrays import Arrays
from ._recorder import Recorder


def watch_updates(rec: Recorder, mx: Any, arrays: Arrays) -> None:
    read = Updates(arrays)
    rec.watch_updates(
        mx,
        {
            "gluon.Trainer._update": (read.trainer_values, read.trainer_states),
            "mod.Module.update": (read.module_values, read.module_states),
            "optimizer.Updater.__call__": (read.updater_values, read.updater_states),
            "": (read.model_values, read.model_states),
        },
    )


class Updates:
    """For each kind of update what `Recorder.parameters` and `Recorder.updated` need. `given`: its arguments."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays, self.peek, self.reader = arrays, arrays.peek, arrays.reader

    def trained(self, trainer: Any) -> Any:
        return [p for p in trainer._params if p.grad_req != "null" and p._data is not None]

    def optimizer_states(self, owner: Any, keys: Any) -> Any:
        """The arrays that the optimizer keeps for the parameter of one of the keys: its own, or the store's."""
        updaters = getattr(owner, "_updaters", None) or [getattr(owner, "_updater", None)]
        for updater in (updaters[0], getattr(owner._kvstore, "_updater", None)):
            known = getattr(updater, "states", {})
            for key in keys:
                if key in known:
                    return [("state %d" % i, self.peek(x)) for i, x in enumerate(self.arrays.among([known[key]]))]
        return ()

    def trainer_values(self, trainer: Any, given: Any) -> Any:
        return [(p.name, self.reader(p.list_data()[0]), self.peek(p.list_grad()[0])) for p in self.trained(trainer)]

    def trainer_states(self, trainer: Any, given: Any) -> Any:
        for p in self.trained(trainer):
            yield p.name, self.peek(p.list_data()[0]), self.optimizer_states(trainer, [trainer._param2idx[p.name]])

    def module_values(self, module: Any, given: Any) -> Any:
        group = module._exec_group
        for name, arrays, gradients in zip(group.param_names, group.param_arrays, group.grad_arrays):
            gradient = self.peek(gradients[0]) if gradients and gradients[0] is not None else None
            yield name, self.reader(arrays[0]), gradient

    def module_states(self, module: Any, given: Any) -> Any:
        group = module._exec_group
        for i, (name, arrays) in enumerate(zip(group.param_names, group.param_arrays)):
            yield name, self.peek(arrays[0]), self.optimizer_states(module, [name, i * len(arrays)])

    def model_values(self, values: Any, given: Any) -> Any:
        return [(n, self.reader(x[0]), self.peek(g[0])) for x, g, n in zip(values, given[0], given[-1])]

    def model_states(self, values: Any, given: Any) -> Any:
        return [(n, self.peek(x[0]), ()) for x, n in zip(values, given[-1])]

    def updater_values(self, updater: Any, given: Any) -> Any:
        index, gradient, value = given
        known = isinstance(value, self.arrays.array)
        return [("parameter %s" % index, self.reader(value), self.peek(gradient))] if known else []

    def updater_states(self, updater: Any, given: Any) -> Any:
        known = isinstance(given[2], self.arrays.array)
        return [("parameter %s" % given[0], self.peek(given[2]), ())] if known else []
