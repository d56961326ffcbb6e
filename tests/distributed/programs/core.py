"""Groups of processes and their messages. Each rank checks what it gets; there are three."""

import ctypes
import threading
import time

import numpy as np
import torch

from compatgrad.core import distributed
from compatgrad.core.distributed import ANY, DistributedError, Packet
from compatgrad.core.distributed.reducing import reduce_tensors

group = distributed.world()
rank, size = group.rank, group.size
assert size == 3 and group is distributed.world()
assert (group.local_rank, group.local_size, group.node_rank, group.nodes) == (rank, 3, 0, 1)

# tensors
for dtype in (torch.float16, torch.float32, torch.float64, torch.int32, torch.int64):
    x = torch.full((2, 3), rank + 1, dtype=dtype)
    group.all_reduce(x)
    assert x.dtype == dtype and x.tolist() == [[6] * 3] * 2
x = torch.arange(6.0).reshape(2, 3).t() * (rank + 1)  # not contiguous
group.all_reduce(x, op="max")
assert x.tolist() == [[0, 9], [3, 12], [6, 15]]
group.broadcast(x := x * rank, root=2)
assert x.tolist() == [[0, 18], [6, 24], [12, 30]]
x = torch.tensor([float(rank)])
group.reduce(x, root=1)
assert x.item() == (3 if rank == 1 else rank)
assert [part.item() for part in group.all_gather(torch.tensor(rank))] == [0, 1, 2]
pending = [(x := torch.full((4,), float(k)), group.all_reduce(x, wait=False)) for k in range(5)]
for k, (x, result) in enumerate(pending):
    result.wait()
    assert x.tolist() == [3.0 * k] * 4

# messages
assert group.broadcast_object({"root": rank}, 1) == {"root": 1}
assert group.all_gather_objects("x" * rank) == ["", "x", "xx"]
tensors = [torch.full((rank, 2), float(rank)), torch.tensor(True), torch.zeros(3, dtype=torch.float16)]
got = group.gather_packets("gather", Packet(rank, tensors), root=2)
if rank == 2:
    assert [p.obj for p in got] == [0, 1, 2] and [tuple(p.tensors[0].shape) for p in got] == [(0, 2), (1, 2), (2, 2)]
    assert all(p.tensors[1].item() is True and p.tensors[2].dtype == torch.float16 for p in got)
else:
    assert got is None
given = [Packet(i, [torch.ones(i)]) for i in range(3)] if rank == 0 else None
got = group.scatter_packets("scatter", given)
assert got.obj == rank and got.tensors[0].shape == (rank,)
got = group.all_to_all_packets("all to all", [Packet((rank, i), [torch.ones(i, rank)]) for i in range(3)])
assert [(p.obj, tuple(p.tensors[0].shape)) for p in got] == [((i, rank), (rank, i)) for i in range(3)]
if rank == 0:
    group.send(Packet("one"), 1, tag=1)
    group.send(Packet("two", [torch.ones(2)]), 1, tag=2)
if rank == 1:  # in another order than they were sent
    message = group.receive(0, 2)
    assert message.packet.obj == "two" and message.packet.tensors[0].tolist() == [1, 1]
    assert group.receive(ANY) == (0, 1, Packet("one", []))
for call in (lambda: group.send(Packet(0), rank), lambda: group.receive(rank), lambda: group.broadcast(x, 3)):
    try:
        call()
    except ValueError:
        continue
    raise AssertionError("expected ValueError")

# other groups
reverse = group.split(0, -rank)
assert (reverse.rank, reverse.size) == (2 - rank, 3) and reverse.all_gather_objects(rank) == [2, 1, 0]
assert reverse.broadcast_object(rank, 0) == 2
assert [part.item() for part in reverse.all_gather(torch.tensor(rank))] == [2, 1, 0]
pair = group.subgroup([2, 0])
assert (pair is None) == (rank == 1)
if pair is not None:
    assert pair.all_gather_objects(rank) == [2, 0] and pair.split(pair.rank, 0).size == 1

# many tensors, of several dtypes, in more than one message
random = np.random.RandomState(0)
shapes = [(300, 1000), (0, 3), (), (7,), (200, 1000)]
every = [[random.uniform(-1, 1, shape).astype("f") for shape in shapes] for _ in range(3)]
tensors = [torch.tensor(a) for a in every[rank]]
tensors[3] = tensors[3].double()
buckets = reduce_tensors(group, tensors, [torch.float32] * 3 + [torch.float64, torch.float16], 1 / 3, "mean", "abcde")
buckets.finish()
for i, tensor in enumerate(tensors):
    mean = sum(arrays[i].astype("d") for arrays in every) / 3
    np.testing.assert_allclose(tensor.numpy(), mean, atol=2e-3 if i == 4 else 1e-6)
assert tensors[3].dtype == torch.float64

# calls that do not fit together end at once, in all ranks
for call, words in (
    (lambda: group.agree("left" if rank else "right"), "right"),
    (lambda: group.expect_same("sum", lambda: f"{rank} arrays", rank), "rank 1: 1 arrays at"),
    (lambda: group.subgroup([rank]), "different ranks"),
):
    start = time.monotonic()
    try:
        call()
    except DistributedError as error:
        assert words in str(error) and "core.py:" in str(error), error
    else:
        raise AssertionError("expected DistributedError")
    assert time.monotonic() - start < 5
group.barrier()

# a process that waits for a third one, or whose last long wait is still on the board, is not missing
if rank == 0:
    group.receive(1)
elif rank == 1:
    time.sleep(2.5)
    group.send(Packet("late"), 0)
group.barrier()
time.sleep(1.8 if rank == 0 else 0)
group.all_gather_objects(rank)
if rank == 1:
    ctypes.PyDLL(None).usleep(2_500_000)  # no other thread of Python runs meanwhile
group.barrier()

# waits of two threads, of which the first one to begin ends first
other = group.split(0, rank)
second = threading.Thread(target=lambda: (time.sleep(0.3 if rank else 0.1), other.barrier()))
second.start()
time.sleep(0.2 if rank else 0)
group.agree("first")
second.join()
time.sleep(0 if rank else 2.5)
group.barrier()
print("done")
