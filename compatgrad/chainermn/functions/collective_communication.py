"""Communication of a whole group: in a group of one, everybody's Variables are this process's."""

from compatgrad.chainer.functions import identity
from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.communicators._one_process import check_rank


def _own(who, comm, xs, root=0):
    experimental(f"chainermn.functions.{who}")
    check_rank(f"chainermn.functions.{who}", root)
    if len(xs) != comm.size:
        raise ValueError("The length of xs must be same as communicator size.")
    return tuple(identity(x) for x in xs)


def allgather(comm, x):
    """All processes' `x`, a tuple."""
    return _own("all_gather", comm, [x])


def alltoall(comm, xs):
    """What all processes have for this one; `xs`: what it has for each. ValueError for another number of them."""
    return _own("all_to_all", comm, xs)


def bcast(comm, x, root=0):
    """The `x` of `root`."""
    return _own("bcast", comm, [x], root)[0]


def gather(comm, x, root=0):
    """At `root`, all processes' `x`, a tuple."""
    return _own("gather", comm, [x], root)


def scatter(comm, xs, root=0):
    """This process's of the `xs` of `root`. ValueError unless there is one for each process."""
    return _own("scatter", comm, xs, root)[0]
