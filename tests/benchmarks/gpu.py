"""python -m tests.benchmarks.gpu [--markdown FILE] [--only WORD...] [--try-on-cpu]

Measures the project's targets on a GPU:

copy       the bandwidth at which torch copies (bytes read and written)
kernels    the share of that bandwidth of each memory-bound kernel, on operands of at least 100 MB together
optimizer  time of Adam steps of Chainer, nnabla and MXNet for all parameters of a model, relative to torch's fused
overhead   time of one operation forward and backward, relative to torch's autograd
graph      speed-up of passes over nnabla's static graph that are captured as a CUDA graph and replayed

Needs a GPU of sm_80 or newer with 8 GB free, torch 2.9 or newer with CUDA, and the library of CUDA kernels
(`make kernels`, or nvcc). Chainer's row needs CuPy, too. Exit status: 0 if all targets are met, 1 if one is missed, 2
without a GPU or the library. --try-on-cpu runs everything but the graphs on tiny sizes on the CPU, as a test of the
program; its numbers mean nothing.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from compatgrad import _C
from tests.benchmarks import kernels, optimizers

ROUNDS = 11


@dataclass
class Row:
    """A measured value and its target: a minimum for shares and speed-ups, a maximum (`at_most`) for ratios."""

    section: str
    name: str
    value: float | None  # None if it could not be measured, for the reason in `note`
    bar: float | None = None
    at_most: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.bar is None or self.value is None:
            return None
        return self.value <= self.bar if self.at_most else self.value >= self.bar

    def cells(self) -> list[str]:
        percent = self.section == "kernels"
        show = (lambda x: f"{x:.0%}") if percent else (lambda x: f"{x:.3g}")
        value = "not measured" if self.value is None else show(self.value)
        bar = "" if self.bar is None else f"{'at most' if self.at_most else 'at least'} {show(self.bar)}"
        return [self.section, self.name, value, bar, {True: "yes", False: "NO", None: ""}[self.met], self.note]


@dataclass(frozen=True)
class Sizes:
    device: str
    bytes: int  # the least number that a kernel moves
    parameters: int  # of the large model
    repeat: int


def interleaved(runs: dict[str, Callable[[], object]], seconds: Callable[[Callable[[], object]], float]):
    """Seconds of each run, which take turns; the first two rounds warm up and do not count."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for round in range(ROUNDS + 2):
        for name, run in runs.items():
            taken = seconds(run)
            if round >= 2:
                times[name].append(taken)
    return times


def ratio(times: dict[str, list[float]], a: str, b: str) -> float:
    return statistics.median(x / y for x, y in zip(times[a], times[b], strict=True))


def on_device(sizes: Sizes) -> Callable[[Callable[[], object]], float]:
    """Seconds that the device takes for a run."""
    return lambda run: kernels.seconds(run, sizes.device, sizes.repeat)


def with_host(sizes: Sizes) -> Callable[[Callable[[], object]], float]:
    """Seconds from the first call to the end of all work, which includes the launches on the host."""

    def seconds(run: Callable[[], object]) -> float:
        wait = torch.cuda.synchronize if sizes.device == "cuda" else lambda: None
        wait()
        begun = time.perf_counter()
        for _ in range(sizes.repeat):
            run()
        wait()
        return (time.perf_counter() - begun) / sizes.repeat

    return seconds


# ---- copy and kernels -----------------------------------------------------------------------------------------------
def copy(sizes: Sizes) -> Iterator[Row]:
    moved = 8 * sizes.bytes
    times = interleaved({"copy": kernels.copy_of(moved, sizes.device)}, on_device(sizes))
    yield Row("copy", f"{moved / 1e6:.0f} MB read and written, TB/s", moved / statistics.median(times["copy"]) / 1e12)


def rule(name: str, sizes: Sizes) -> tuple[Callable[[], object], int]:
    """Return a step of an update rule, and the bytes that it must move."""
    states, n_hypers = _C.optim_rules()[name]
    # parameter, gradient and states are read, all but the gradient written; the rules below change or make a gradient
    per_element = {
        **dict.fromkeys(("hard_clip", "scale", "unscale"), 2),
        **dict.fromkeys(("weight_decay", "lasso"), 3),
        "lamb_direction": 6,
        "mx_lamb_direction": 7,
    }.get(name, 3 + 2 * states)
    elements = -(-sizes.bytes // (4 * per_element))
    tensors = [torch.rand(elements, device=sizes.device) + 1 for _ in range(2 + states)]
    hypers = tuple(1e-6 * (k + 1) for k in range(n_hypers))
    return lambda: _C.run_kernel(name, tensors, hypers), 4 * per_element * elements


def cell(name: str, widths: tuple[int, ...], outputs: int, leading: tuple[int, ...], sizes: Sizes):
    """A recurrent cell's gates, forward and backward, 64 units per row. leading: integer arguments before the sizes."""
    moved = 3 * sum(widths) + 2 * outputs
    rows = -(-sizes.bytes // (4 * moved * 64))
    xs = [torch.randn(rows, w * 64, device=sizes.device) for w in widths]
    gys = [torch.randn(rows, 64, device=sizes.device) for _ in range(outputs)]
    ys, gxs = [torch.empty_like(g) for g in gys], [torch.empty_like(x) for x in xs]
    integers = (*leading, rows, 64)

    def run() -> None:
        _C.run_kernel(name, [*xs, *ys], (), integers)
        _C.run_kernel(name + "_grad", [*xs, *gys, *gxs], (), integers)

    return run, 4 * moved * rows * 64


CELLS = {
    "lstm": ((1, 4), 2, ()),
    "slstm": ((1, 1, 4, 4), 2, ()),
    "peephole_cell": ((1, 4, 1, 1), 2, ()),
    "peephole_output": ((1, 1, 1), 1, ()),
    "gru": ((1, 3, 3), 1, ()),
    "gru_reset": ((1, 1, 1), 1, ()),
    "gru_update": ((1, 1, 1, 1, 1), 1, ()),
    "mgu_reset": ((1, 1), 1, ()),
    "mgu_update": ((1, 1, 1), 1, ()),
    "tree_lstm": ((1, 1, 5), 2, (2,)),
}


def scaled_on_device(sizes: Sizes) -> tuple[Callable[[], object], int]:
    x = torch.randn(-(-sizes.bytes // 8), device=sizes.device)
    factor = torch.ones(1, dtype=torch.float64, device=sizes.device)
    return lambda: _C.run_kernel("scale_by", [x], (), (factor.data_ptr(),)), 8 * x.numel()


def all_kernels(sizes: Sizes) -> dict[str, Callable[[], tuple[Callable[[], object], int]]]:
    """Kernel's name -> a function that returns a run, and the bytes that it must move."""

    def sized(make: Callable) -> Callable[[], tuple[Callable[[], object], int]]:
        per_element = make(64, sizes.device)[2] / 64
        return lambda: make(-(-sizes.bytes // int(per_element)), sizes.device)[::2]

    found: dict[str, Callable[[], tuple[Callable[[], object], int]]] = {}
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        for n in (2, 4, 8) if dtype == torch.float32 else (8,):
            found[f"sum_n, {n}, {str(dtype).partition('.')[2]}"] = sized(kernels.sum_of(n, dtype))
    for name in ("sum_of_squares", "count_not_finite"):
        found[name] = sized(kernels.reduction(name, torch.sum, 4))
    for name in _C.optim_rules():
        found[name] = lambda name=name: rule(name, sizes)
    found["scale_by"] = lambda: scaled_on_device(sizes)
    for name, (widths, outputs, leading) in CELLS.items():
        found[f"{name} and {name}_grad"] = lambda name=name, w=widths, o=outputs, k=leading: cell(name, w, o, k, sizes)
    return found


def shares(sizes: Sizes) -> Iterator[Row]:
    for name, make in all_kernels(sizes).items():
        run, moved = make()
        times = interleaved({"kernel": run, "copy": kernels.copy_of(moved, sizes.device)}, on_device(sizes))
        taken = statistics.median(times["kernel"])
        note = f"{moved / 1e6:.0f} MB in {taken * 1e6:.0f} us"
        yield Row("kernels", name, ratio(times, "copy", "kernel"), 0.85, note=note)


# ---- optimizers and operations --------------------------------------------------------------------------------------
def adam(sizes: Sizes) -> Iterator[Row]:
    models = {
        "mlp_tiny": optimizers.TINY,
        f"{sizes.parameters / 1e6:g} M in 10 tensors": [(sizes.parameters // 10,)] * 10,
    }
    for model, shapes in models.items():
        fused = optimizers.ROWS["Adam"]["torch fused"](shapes, sizes.device)
        for frontend in ("Chainer", "nnabla", "MXNet"):
            name = f"Adam of {frontend}, {model}, over torch's fused"
            try:
                own = optimizers.ROWS["Adam"][frontend](shapes, sizes.device)
                own()
            except (RuntimeError, ImportError) as error:
                yield Row("optimizer", name, None, 1.0, True, str(error).splitlines()[0])
                continue
            times = interleaved({"own": own, "torch": fused}, with_host(sizes))
            note = f"{statistics.median(times['own']) * 1e6:.1f} us"
            yield Row("optimizer", name, ratio(times, "own", "torch"), 1.0, True, note)


def chains(device: str) -> dict[str, Callable[[], object]]:
    """200 operations on 10 numbers, forward and backward, by the engine and by torch; and the kernel launches alone."""
    import compatgrad
    from compatgrad import ops
    from tests.benchmarks.chain import LENGTH, values

    numbers = [torch.from_numpy(values(k)).to(device) for k in (0, 1)]
    x, w = (compatgrad.Variable(t.clone()) for t in numbers)
    a, b = (t.clone().requires_grad_() for t in numbers)

    def engine() -> None:
        y = x
        for _ in range(LENGTH // 2):
            y = ops.sin(y * w)
        ops.sum(y).backward()
        x.cleargrad()
        w.cleargrad()

    def autograd() -> None:
        y = a
        for _ in range(LENGTH // 2):
            y = torch.sin(y * b)
        y.sum().backward()
        a.grad = b.grad = None

    def launches() -> None:  # the kernels that both launch, without those that sum w's gradients
        with torch.no_grad():
            g = numbers[0]
            for _ in range(LENGTH // 2):
                z = g * numbers[1]
                torch.sin(z)
                h = g * torch.cos(z)
                h * numbers[1], h * g

    return {"engine": engine, "autograd": autograd, "launches": launches}


def overhead(sizes: Sizes) -> Iterator[Row]:
    times = interleaved(chains(sizes.device), with_host(sizes))
    per_op = {name: statistics.median(t) * 1e6 / 200 for name, t in times.items()}
    note = ", ".join(f"{name} {us:.2f} us" for name, us in per_op.items()) + " an operation"
    yield Row("overhead", "an operation forward and backward, over torch autograd", ratio(times, "engine", "autograd"),
              0.6, True, note)  # fmt: skip


# ---- CUDA graphs ----------------------------------------------------------------------------------------------------
def networks() -> dict[str, Callable[[], object]]:
    """Functions that build static graphs of nnabla and return the loss; on a GPU launches dominate their time."""
    import numpy as np

    import compatgrad.nnabla as nn
    import compatgrad.nnabla.functions as F
    import compatgrad.nnabla.parametric_functions as PF

    random = np.random.RandomState(0)

    def batch(*shape: int):
        x, t = nn.Variable(shape), nn.Variable((shape[0], 1))
        x.d, t.d = random.randn(*shape).astype(np.float32), random.randint(0, 10, t.shape).astype(np.int32)
        return x, t

    def mlp(layers: int, units: int):
        x, t = batch(32, 32)
        for k in range(layers):
            x = F.relu(PF.affine(x, units, name=f"l{k}"))
        return F.mean(F.softmax_cross_entropy(PF.affine(x, 10, name="out"), t))

    def cnn():
        x, t = batch(8, 1, 28, 28)
        for k in range(4):
            x = PF.convolution(x, 16, (3, 3), pad=(1, 1), name=f"c{k}")
            x = F.relu(PF.batch_normalization(x, name=f"b{k}"))
        return F.mean(F.softmax_cross_entropy(PF.affine(x, 10, name="out"), t))

    return {"mlp of 2 layers": lambda: mlp(2, 64), "mlp of 20 layers": lambda: mlp(20, 64), "cnn of 4 layers": cnn}


def graphs(sizes: Sizes) -> Iterator[Row]:
    import compatgrad.nnabla as nn
    from compatgrad import interop
    from compatgrad.nnabla.ext_utils import get_extension_context

    for name, make in networks().items():
        nn.clear_parameters()
        with nn.context_scope(get_extension_context("cudnn")):
            loss = make()
        leaves = nn.get_parameters().values()

        def step(loss=loss, leaves=leaves) -> None:
            for leaf in leaves:
                leaf.grad.zero()
            loss.forward(clear_no_need_grad=True)
            loss.backward(clear_buffer=True)

        captured = interop.cuda_graph(step, loss)
        times = interleaved({"eager": step, "captured": captured.replay}, with_host(sizes))
        note = ", ".join(f"{k} {statistics.median(t) * 1e6:.0f} us" for k, t in times.items())
        yield Row("graph", f"{name}, times as fast as its own run", ratio(times, "eager", "captured"), 3.0, note=note)


SECTIONS = {"copy": copy, "kernels": shares, "optimizer": adam, "overhead": overhead, "graph": graphs}


def table(rows: list[Row], where: str) -> str:
    head = ["", where, "measured", "bar", "met", ""]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * 6, *(row.cells() for row in rows))]
    return "\n".join(lines) + "\n"


def ready() -> str | None:
    """The reason why nothing can be measured, or None."""
    if not torch.cuda.is_available():
        return "there is no CUDA device"
    x = torch.ones(1, device="cuda")
    try:
        _C.run_kernel("sum_n", [x, x])
    except ValueError:
        return "there is no library of CUDA kernels; `make kernels` builds it where there is nvcc"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the rows as a table for docs/kernels.md")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="measure these sections only")
    parser.add_argument("--try-on-cpu", action="store_true", help="run everything but `graph` on the CPU, as a test")
    args = parser.parse_args()
    if args.try_on_cpu:
        sizes, where = Sizes("cpu", 10_000, 1000, 1), f"on the CPU, tiny sizes ({platform.machine()}): no figures"
    else:
        if why := ready():
            print(f"nothing measured: {why}", file=sys.stderr)
            return 2
        sizes, where = Sizes("cuda", 200_000_000, 50_000_000, 20), torch.cuda.get_device_name()
    built = f"torch {torch.__version__}, CUDA {torch.version.cuda}, Python {platform.python_version()}"
    title = f"{where}, {built}, {time.strftime('%Y-%m-%d')}, medians of {ROUNDS} rounds in turns"
    print(title, flush=True)
    torch.set_num_threads(1)
    rows = []
    for section, measure in SECTIONS.items():
        if (args.only and section not in args.only) or (section == "graph" and args.try_on_cpu):
            continue
        for row in measure(sizes):
            if args.try_on_cpu:
                row.bar = None
            rows.append(row)
            print(
                " ".join(f"{cell:<{w}}" for cell, w in zip(row.cells(), (10, 66, 12, 14, 4, 0), strict=True)),
                flush=True,
            )
            if sizes.device == "cuda":
                torch.cuda.empty_cache()
    if args.markdown:
        args.markdown.write_text(table(rows, title))
    if args.try_on_cpu:
        return 0
    missed = [row.name for row in rows if row.met is False]
    print(f"missed: {', '.join(missed)}" if missed else "all bars are met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
