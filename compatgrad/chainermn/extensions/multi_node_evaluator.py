"""Evaluation that all processes share."""

import copy
import types

from compatgrad.chainer import backend, no_backprop_mode
from compatgrad.chainer.dataset import convert
from compatgrad.chainer.training import extension

_ROUND = 8  # batches between two questions whether all are done


class GenericMultiNodeEvaluator(extension.Extension):
    """Evaluates a dataset that the processes share. A subclass may define `calc_local`, what is computed of a batch,
    never None, and `aggregate`, what the process `root` makes of all processes' results.
    """

    trigger = (1, "epoch")
    default_name = "validation"
    priority = extension.PRIORITY_WRITER
    name = None

    def __init__(
        self, comm, iterator, target, device=None, converter=convert.concat_examples, root=0, *, progress_hook=None
    ):
        if not 0 <= root < comm.size:
            raise AssertionError(f"GenericMultiNodeEvaluator: root {root} is no rank of {comm.size}")
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

    def calc_local(self, *args, **kwargs):
        """The result of a batch: what the target gives."""
        return self._targets["main"](*args, **kwargs)

    def aggregate(self, results):
        """What is made of the results: their list."""
        return results

    def _evaluate(self, iterator):
        """All processes' results, at `root`; nothing elsewhere."""
        done = False
        while not done:
            for _ in range(_ROUND):
                everybody = self.comm.gather_obj(self._next_result(iterator), root=self.root)
                if self.comm.rank == self.root:
                    found = [result for result in everybody if result is not None]
                    yield from found
                    done = not found
            done = self.comm.bcast_obj(done, root=self.root)

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


def create_multi_node_evaluator(actual_evaluator, communicator):
    """`actual_evaluator` itself, which from now on gives the mean of all processes' values."""
    actual_evaluator._mn_original_evaluate = actual_evaluator.evaluate
    actual_evaluator._mn_communicator = communicator
    actual_evaluator.evaluate = types.MethodType(_mean_of_processes, actual_evaluator)
    return actual_evaluator
