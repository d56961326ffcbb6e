"""An evaluator whose batches are shared among all processes."""

from __future__ import annotations

import copy
import types
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend, no_backprop_mode
from compatgrad.chainer.dataset import convert
from compatgrad.chainer.training import extension

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase

_ROUND = 8  # number of batches between two checks whether all processes are done


class GenericMultiNodeEvaluator(extension.Extension):
    """Evaluates a dataset that the processes share. A subclass may override `calc_local`, which computes the result of
    a batch (never None), and `aggregate`, which the process `root` calls with the results of all processes.

    Args:
        comm: the communicator.
        iterator: the iterator over the batches of this process; it must stop at the end.
        target: the function or link that `calc_local` calls with the arrays of a batch.
        device: the device to which batches are sent; None leaves them where they are.
        converter: function that turns a batch into an array, or a tuple or dict of arrays: the arguments of
            `calc_local`.
        root: rank of the process that returns the results. The others return None.
        progress_hook: a function that the process `root` calls with each batch, or None.

    Raises:
        AssertionError: there is no process `root`.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> data = chainer.iterators.SerialIterator(np.arange(4.0), 2, repeat=False, shuffle=False)
        >>> evaluator = chainermn.extensions.GenericMultiNodeEvaluator(comm, data, lambda x: float(x.sum()))
        >>> evaluator(None)  # a trainer calls it with itself
        [1.0, 5.0]

    Source: `chainermn.extensions.GenericMultiNodeEvaluator` of Chainer 7.8.1.
    """

    trigger = (1, "epoch")
    default_name = "validation"
    priority = extension.PRIORITY_WRITER
    name = None

    def __init__(
        self,
        comm: CommunicatorBase,
        iterator: Any,
        target: Callable[..., Any],
        device: Any = None,
        converter: Callable[..., Any] = convert.concat_examples,
        root: int = 0,
        *,
        progress_hook: Callable[[Any], object] | None = None,
    ) -> None:
        if not 0 <= root < comm.size:
            raise AssertionError(f"GenericMultiNodeEvaluator: root {root} is not one of the {comm.size} ranks")
        self.comm, self.iterator, self.root = comm, iterator, root
        self._targets = {"main": target}
        self.converter = converter
        self.device = None if device is None else backend.get_device(device)
        self._progress_hook = progress_hook

    def __call__(self, trainer):
        if hasattr(self.iterator, "reset"):
            self.iterator.reset()
            iterator = self.iterator
        else:
            iterator = copy.copy(self.iterator)
        results = list(self._evaluate(iterator))
        return self.aggregate(results) if self.comm.rank == self.root else None

    def calc_local(self, *args: Any, **kwargs: Any) -> Any:
        """The result of a batch, by default that of the target."""
        return self._targets["main"](*args, **kwargs)

    def aggregate(self, results: list[Any]) -> Any:
        """The final result from the results of all batches, by default their list."""
        return results

    def _evaluate(self, iterator):
        """Yields the results of all processes in the process `root`, and nothing in the others."""
        done = False
        while not done:
            for _ in range(_ROUND):
                everybody = self.comm.gather_obj(self._next_result(iterator), root=self.root)
                if self.comm.rank == self.root:
                    found = [result for result in everybody if result is not None]
                    yield from found
                    done = not found
            done = self.comm.bcast_obj(done if self.comm.rank == self.root else None, root=self.root)

    def _next_result(self, iterator):
        try:
            batch = iterator.next()
        except StopIteration:
            return None
        given = convert._call_converter(self.converter, batch, self.device)
        with no_backprop_mode():
            if isinstance(given, tuple):
                result = self.calc_local(*given)
            else:
                result = self.calc_local(**given) if isinstance(given, dict) else self.calc_local(given)
        if self._progress_hook and self.comm.rank == self.root:
            self._progress_hook(batch)
        return result


def _mean_of_processes(self):
    values, comm = self._mn_original_evaluate(), self._mn_communicator
    return {name: comm.allreduce_obj(value) / comm.size for name, value in sorted(values.items())}


def create_multi_node_evaluator(actual_evaluator: Any, communicator: CommunicatorBase) -> Any:
    """Makes an evaluator return the means of its values over all processes.

    Args:
        actual_evaluator: the evaluator, whose method `evaluate` is replaced.
        communicator: the communicator.

    Returns:
        `actual_evaluator` itself.

    Raises:
        AttributeError: `actual_evaluator` has no method `evaluate`.

    Example:
        >>> def evaluate(x):
        ...     chainer.report({"mean": x.mean()})
        >>> data = chainer.iterators.SerialIterator(np.array([1.0, 3.0]), 2, repeat=False, shuffle=False)
        >>> evaluator = chainer.training.extensions.Evaluator(data, L.Linear(1, 1), eval_func=evaluate)
        >>> evaluator = chainermn.create_multi_node_evaluator(evaluator, chainermn.create_communicator("naive"))
        >>> float(evaluator()["mean"])
        2.0

    Source: `chainermn.create_multi_node_evaluator` of Chainer 7.8.1.
    """
    actual_evaluator._mn_original_evaluate = actual_evaluator.evaluate
    actual_evaluator._mn_communicator = communicator
    actual_evaluator.evaluate = types.MethodType(_mean_of_processes, actual_evaluator)
    return actual_evaluator
