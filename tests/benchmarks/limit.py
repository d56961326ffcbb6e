"""How much of the machine a step uses: `python -m tests.benchmarks.limit mlp_mnist "vgg16 train 16" ...` prints it as
JSON.

The machine's limits are measured: the rate of a large matrix product or convolution, whichever is higher, and the rate
at which arrays are copied that take as much memory as the step's parameters, gradients and states, and so lie in the
same cache or in none. A step needs the floating-point operations of its matrix products and convolutions, which are
counted in the torch program of the same network, and the bytes of parameters, gradients and optimizer states, each
moved once for each pass over it. Activations are left out, since those of small networks stay in the caches. So the
seconds that a step needs at least are a lower bound, but for convolutions by minimal filtering: these take fewer
operations than the sums of products that are counted, so a step may use more than all of the machine.
"""

from __future__ import annotations

import json
import sys
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from tests.benchmarks import large, large_torch, steps_torch
from tests.benchmarks.worker import THREADS

# bytes that an update moves for a parameter: reads of parameter, gradient and states, writes of parameter and states
_UPDATE = {"Adam": 4 * (4 + 3), "SGD": 4 * (2 + 1)}
# bytes of a parameter in forward and backward: two reads, a write of the gradient
_PASSES = 4 * (2 + 1)


def _best(f, repeat=15) -> float:
    f()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def product_rate() -> float:
    """Floating-point operations a second of a large product of float32 numbers: of two matrices of 1024 by 1024, or of
    a convolution of 8 images of 128 channels and 32 by 32 pixels, for which torch calls another library."""
    a, b, out = (torch.rand(1024, 1024) for _ in range(3))
    x, w = torch.rand(8, 128, 32, 32), torch.rand(128, 128, 3, 3)
    with torch.inference_mode():
        product = 2 * 1024**3 / _best(lambda: torch.mm(a, b, out=out))
        return max(product, 2 * w.numel() * x[:, 0].numel() / _best(lambda: torch.conv2d(x, w, padding=1)))


def copy_rate(size: float) -> float:
    """Bytes a second that a copy reads and writes whose two arrays have `size` bytes together."""
    count = max(int(size / 8), 1)
    x, y = torch.zeros(count), torch.empty(count)
    times = max(1, (1 << 20) // count)  # a single copy of small arrays is shorter than a call

    def copies():
        for _ in range(times):
            y.copy_(x)

    return 8 * count * times / _best(copies)


def _backward_of_groups(grad, x, w, *rest, out_val=None) -> int:
    """As torch's count for the gradients of a convolution, which counts those of groups too often."""
    wanted, transposed = rest[-1], rest[4]
    return 2 * (x if transposed else grad).numel() * w[0].numel() * sum(wanted[:2])


class _Operations(TorchDispatchMode):
    """Counts floating-point operations, also of gradients of gradients, at which torch's FlopCounterMode stops, and
    the parameters that are read."""

    def __init__(self):
        super().__init__()
        self.total = 0
        self.parameters: dict[int, int] = {}  # how many numbers each has

    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.parameters |= {id(a): a.numel() for a in args if isinstance(a, torch.nn.Parameter)}
        if (
            f._overloadpacket not in flop_registry and f._can_decompose()
        ):  # inference mode hands on functions that consist of others
            with self:
                return f.decompose(*args, **kwargs)
        out = f(*args, **kwargs)
        count = flop_registry.get(f._overloadpacket)
        if f is torch.ops.aten.convolution_backward.default and args[9] > 1:
            count = _backward_of_groups
        if count is not None:
            self.total += count(*args, **kwargs, out_val=out)
        return out


def needs(make) -> dict[str, float]:
    """What a step of a torch program needs: floating-point operations, the bytes of parameters, gradients and states
    that it moves, and the bytes that these take."""
    optimizers: list[torch.optim.Optimizer] = []
    start = torch.optim.Optimizer.__init__

    def note(self, *args, **options):
        optimizers.append(self)
        start(self, *args, **options)

    torch.optim.Optimizer.__init__ = note
    try:
        step = make()
    finally:
        torch.optim.Optimizer.__init__ = start
    step()
    with _Operations() as counter:
        step()
    if not optimizers:  # inference
        read = 4 * sum(counter.parameters.values())
        return {"operations": counter.total, "moved": read, "kept": read}
    moved = kept = 0
    for optimizer in optimizers:
        (group,) = optimizer.param_groups
        name, velocity = type(optimizer).__name__, bool(group.get("momentum"))
        count = sum(p.numel() for p in group["params"])
        moved += count * (_UPDATE[name] + 8 * velocity + _PASSES)
        kept += 4 * count * (4 if name == "Adam" else 2 + velocity)
    return {"operations": counter.total, "moved": moved, "kept": kept}


def least(make) -> dict[str, float]:
    """The seconds that a step's products take at least, and those that the movement of its parameters takes."""
    need = needs(make)
    return {"products": need["operations"] / product_rate(), "moves": need["moved"] / copy_rate(need["kept"])}


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    programs = steps_torch.programs() | large.programs(vars(large_torch))
    print(json.dumps({name: least(programs[name]) for name in sys.argv[1:] if name in programs}))
