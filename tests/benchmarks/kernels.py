"""python -m tests.benchmarks.kernels [--device cuda] [--elements N] [--only WORD...]

Compares each kernel with the ATen calls that it replaces, if there are any, in turns, on one thread. Prints times, and
bandwidths (bytes that the kernel must move) relative to that of a copy on the same device.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from compatgrad import _C
from tests.benchmarks import kernels_regions

ROUNDS = 15


def sum_of(n: int, dtype: torch.dtype):
    """Return make(elements, device) -> (the kernel's run, the same by ATen, bytes to move, bytes that ATen moves)."""

    def make(elements: int, device: str):
        xs = [torch.randn(elements, device=device).to(dtype) for _ in range(n)]
        y = torch.empty_like(xs[0])
        operands = [y, *xs]

        def kernel():
            _C.run_kernel("sum_n", operands)

        def chained():
            torch.add(xs[0], xs[1], out=y)
            for x in xs[2:]:
                y.add_(x)

        size = elements * y.element_size()
        return kernel, chained, size * (n + 1), size * 3 * (n - 1)

    return make


def reduction(kernel_name: str, aten_of: Callable[[torch.Tensor], torch.Tensor], passes: int):
    def make(elements: int, device: str):
        x = torch.randn(elements, device=device)

        def kernel():
            _C.run_kernel(kernel_name, [x], sums=True)

        return kernel, lambda: aten_of(x), 4 * elements, passes * elements

    return make


def update(rule: str, states: int, hypers: tuple[float, ...], fused: Callable[..., object]):
    """A step of an update rule, and torch's fused one, which moves as many bytes."""

    def make(elements: int, device: str):
        tensors = [torch.rand(elements, device=device) for _ in range(2 + states)]
        count = torch.ones((), device=device)

        def kernel():
            _C.run_kernel(rule, tensors, hypers)

        moved = 4 * elements * (2 + states + 1 + states)
        return kernel, lambda: fused(*[[t] for t in tensors], count), moved, moved

    return make


def gates(
    cell: str,
    widths: tuple[int, ...],
    outputs: int,
    interleaved: bool,
    aten_of: Callable,
    passes: int,
    leading: tuple[int, ...] = (),
):
    """A recurrent cell's gates, forward and backward. passes: numbers that ATen's calls move per unit."""
    units = 64

    def make(elements: int, device: str):
        rows = max(1, elements // units)
        xs = [torch.randn(rows, w * units, device=device) for w in widths]
        gys = [torch.randn(rows, units, device=device) for _ in range(outputs)]
        ys, gxs = [torch.empty_like(g) for g in gys], [torch.empty_like(x) for x in xs]
        integers = (*leading, *((rows * units, 1) if interleaved else (rows, units)))

        def kernel():
            _C.run_kernel(cell, [*xs, *ys], (), integers)
            _C.run_kernel(cell + "_grad", [*xs, *gys, *gxs], (), integers)

        moved = 3 * sum(widths) + 2 * outputs
        return kernel, lambda: aten_of(*xs, *gys), 4 * moved * rows * units, 4 * passes * rows * units

    return make


def change(rule: str, hypers: tuple[float, ...], aten_of: Callable[..., object], reads: int):
    """A rule that changes a gradient, and reads `reads` operands."""

    def make(elements: int, device: str):
        g, p = (torch.rand(elements, device=device) for _ in range(2))

        def kernel():
            _C.run_kernel(rule, [g, p], hypers)

        moved = 4 * elements * (reads + 1)
        return kernel, lambda: aten_of(g, p), moved, moved

    return make


def hooked(hooks: tuple, aten_of: Callable[..., object], needed: int, passes: int):
    """An Adam step after hooks on the gradient; `needed` and `passes` are bytes per element."""

    def make(elements: int, device: str):
        p, g, m, v = (torch.rand(elements, device=device) for _ in range(4))
        count = torch.ones((), device=device)
        param = _C.Variable(p)
        param.grad_var = _C.Variable(g)

        def kernel():
            _C.optim_update("adam", [param], [(m, v)], ADAM, hooks)

        def aten():
            aten_of(g, p)
            fused_adam([p], [g], [m], [v], count)

        return kernel, aten, needed * elements, passes * elements

    return make


def clip_norm(g):
    g.mul_(torch.clamp(1e3 / torch.linalg.vector_norm(g), max=1.0))


def lamb_direction(elements: int, device: str):
    x, g, m, v = tensors = [torch.rand(elements, device=device) for _ in range(4)]

    def kernel():
        _C.run_kernel("lamb_direction", tensors, (0.9, 0.1, 0.999, 0.001, 0.5, 0.5, 1e-6))

    def aten():
        m.lerp_(g, 0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        torch.div(v, 0.5, out=x)
        x.sqrt_().add_(1e-6)
        torch.div(m, x, out=x).div_(0.5)

    return kernel, aten, 24 * elements, 80 * elements


def fused_sgd(p, g, *rest):
    torch._fused_sgd_(
        p,
        g,
        list(rest[0]) if len(rest) > 1 else [],
        weight_decay=0.0,
        momentum=0.9 * (len(rest) > 1),
        lr=1e-6,
        dampening=0.0,
        nesterov=False,
        maximize=False,
        is_first_step=False,
    )


ADAM = (1e-6, 0.1, 0.001, 1e-8, 1.0, -1.0)


def fused_adam(p, g, m, v, *rest):
    *largest, count = rest
    torch._fused_adam_(
        p,
        g,
        m,
        v,
        largest[0] if largest else [],
        [count],
        lr=1e-6,
        beta1=0.9,
        beta2=0.999,
        weight_decay=0.0,
        eps=1e-8,
        amsgrad=bool(largest),
        maximize=False,
    )


def aten_lstm(split: Callable, join: Callable):
    def run(c, x, gc, gh):
        a, i, f, o = split(x)
        A, I, F, O = torch.tanh(a), torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)  # noqa: E741
        c_next = A * I + F * c
        Y = torch.tanh(c_next)
        h = O * Y
        tanh_grad, sigmoid_grad = torch.ops.aten.tanh_backward, torch.ops.aten.sigmoid_backward
        t = tanh_grad(gh * O, Y) + gc
        parts = tanh_grad(t * I, A), sigmoid_grad(t * A, I), sigmoid_grad(t * c, F), sigmoid_grad(gh * Y, O)
        return c_next, h, t * F, join(parts)

    return run


def aten_gru(h, x, s, gy):
    (xr, xz, xn), (sr, sz, sn) = x.chunk(3, 1), s.chunk(3, 1)
    R, Z = torch.sigmoid(xr + sr), torch.sigmoid(xz + sz)
    N = torch.tanh(xn + R * sn)
    y = torch.lerp(N, h, Z)
    tanh_grad, sigmoid_grad = torch.ops.aten.tanh_backward, torch.ops.aten.sigmoid_backward
    gn = tanh_grad(gy * (1 - Z), N)
    gr, gz = sigmoid_grad(gn * sn, R), sigmoid_grad(gy * (h - N), Z)
    return y, gy * Z, torch.cat([gr, gz, gn], 1), torch.cat([gr, gz, gn * R], 1)


def aten_mgu(f, n, h, gy):
    F, N = torch.sigmoid(f), torch.tanh(n)
    y = F * N + (1 - F) * h
    gf = torch.ops.aten.sigmoid_backward(gy * (N - h), F)
    return y, gf, torch.ops.aten.tanh_backward(gy * F, N), gy * (1 - F)


def aten_tree(*tensors):
    *cs, x, gc, gh = tensors
    a, i, o, *fs = x.chunk(len(cs) + 3, 1)
    A, I, O, *Fs = torch.tanh(a), torch.sigmoid(i), torch.sigmoid(o), *map(torch.sigmoid, fs)  # noqa: E741
    c = A * I
    for f, child in zip(Fs, cs, strict=True):
        c = c + f * child
    Y = torch.tanh(c)
    h = O * Y
    tanh_grad, sigmoid_grad = torch.ops.aten.tanh_backward, torch.ops.aten.sigmoid_backward
    t = tanh_grad(gh * O, Y) + gc
    parts = [tanh_grad(t * I, A), sigmoid_grad(t * A, I), sigmoid_grad(gh * Y, O)]
    parts += [sigmoid_grad(t * child, f) for f, child in zip(Fs, cs, strict=True)]
    return c, h, [t * f for f in Fs], torch.cat(parts, 1)


KERNELS: dict[str, Callable] = {
    **{
        f"sum of {n}, {str(dtype).partition('.')[2]}": sum_of(n, dtype)
        for n, dtype in [
            (2, torch.float32),
            (4, torch.float32),
            (8, torch.float32),
            (8, torch.float64),
            (8, torch.bfloat16),
        ]
    },
    "sum of squares": reduction("sum_of_squares", lambda x: torch.linalg.vector_norm(x), 4),
    # ATen's isfinite runs x == x, |x|, != inf and a product; then come not and sum
    "count of not finite": reduction("count_not_finite", lambda x: x.isfinite().logical_not_().sum(), 24),
    "step of sgd": update("sgd", 0, (1e-6,), fused_sgd),
    "step of momentum_sgd": update("momentum_sgd", 1, (1e-6, 0.9), fused_sgd),
    "step of adam": update("adam", 2, ADAM, fused_adam),
    "step of amsgrad": update("amsgrad", 3, ADAM, fused_adam),
    "direction of LAMB": lamb_direction,
    "scale": change("scale", (0.999999,), lambda g, p: g.mul_(0.999999), 1),
    "hard clip": change("hard_clip", (0.1, 0.9), lambda g, p: g.clamp_(0.1, 0.9), 1),
    "weight decay": change("weight_decay", (1e-6,), lambda g, p: g.add_(p, alpha=1e-6), 2),
    "decay, adam": hooked((("weight_decay", 1e-6),), lambda g, p: g.add_(p, alpha=1e-6), 32, 40),
    "decay, norm, adam": hooked(
        (("weight_decay", 1e-6), ("clip_norm", 1e3)), lambda g, p: clip_norm(g.add_(p, alpha=1e-6)), 40, 52
    ),
    # numbers that ATen's calls move: 2 for a unary function, 3 for a binary one, 8 or 6 to join the gates
    "LSTM, interleaved": gates(
        "lstm", (1, 4), 2, True,
        aten_lstm(lambda x: x.view(len(x), -1, 4).unbind(2), lambda gs: torch.stack(gs, 2).view(len(gs[0]), -1)), 66,
    ),
    "LSTM, in blocks": gates(
        "lstm", (1, 4), 2, False, aten_lstm(lambda x: x.chunk(4, 1), lambda gs: torch.cat(gs, 1)), 66,
    ),
    "GRU": gates("gru", (1, 3, 3), 1, False, aten_gru, 63),
    **kernels_regions.KERNELS,
    "MGU's update": gates("mgu_update", (1, 1, 1), 1, False, aten_mgu, 35),
    "tree-LSTM, 3 children": gates("tree_lstm", (1, 1, 1, 6), 2, False, aten_tree, 104, (3,)),
}  # fmt: skip


def copy_of(needed: int, device: str):
    """Return a copy that moves `needed` bytes."""
    source = torch.randint(255, (max(1, needed // 2),), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def seconds(run: Callable[[], None], device: str, repeat: int) -> float:
    run()  # fills the caches with this run's data
    if device == "cuda":
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(repeat):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3 / repeat
    begun = time.thread_time()  # excludes the time of other programs
    for _ in range(repeat):
        run()
    return (time.thread_time() - begun) / repeat


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.kernels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="where to measure (cpu)")
    parser.add_argument(
        "--elements",
        type=int,
        nargs="+",
        default=[1_000, 1_000_000, 16_000_000],
        help="elements of each operand (1000, 1000000 and 16000000)",
    )
    parser.add_argument("--only", nargs="+", metavar="WORD", help="kernels whose name contains a word")
    args = parser.parse_args()
    torch.set_num_threads(1)
    where = torch.cuda.get_device_name() if args.device == "cuda" else "CPU, one thread"
    print(f"{where}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}, medians of {ROUNDS} rounds")
    print(f"{'kernel':<22}{'elements':>10}{'us':>10}{'ATen us':>10}{'ratio':>7}{'MB':>8}{'ATen MB':>9}{'of copy':>9}")
    for name, make in KERNELS.items():
        if args.only and not any(word in name for word in args.only):
            continue
        for elements in args.elements:
            kernel, aten, needed, moved = make(elements, args.device)
            copy = copy_of(needed, args.device)
            repeat = max(2, 300_000 // (elements + 1000))
            times: dict[str, list[float]] = {"kernel": [], "aten": [], "copy": []}
            for round in range(ROUNDS + 2):  # the first two warm up
                for key, run in (("kernel", kernel), ("aten", aten), ("copy", copy)):
                    taken = seconds(run, args.device, repeat) if run else float("nan")
                    if round >= 2:
                        times[key].append(taken)
            ratio = statistics.median(a / b for a, b in zip(times["kernel"], times["aten"], strict=True))
            share = statistics.median(b / a for a, b in zip(times["kernel"], times["copy"], strict=True))
            own, other = (statistics.median(times[key]) * 1e6 for key in ("kernel", "aten"))
            by_aten = f"{other:>10.1f}{ratio:>7.2f}" if aten else f"{'-':>10}{'-':>7}"
            moved_by_aten = f"{moved / 1e6:>9.1f}" if aten else f"{'-':>9}"
            print(f"{name:<22}{elements:>10}{own:>10.1f}{by_aten}{needed / 1e6:>8.1f}{moved_by_aten}{share:>8.0%}")


if __name__ == "__main__":
    main()
