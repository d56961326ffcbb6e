"""Every op on a GPU gives the CPU's values and gradients."""

import sys
from pathlib import Path

import pytest
import torch

from compatgrad import _C

sys.path.append(str(Path(__file__).parents[1] / "ops"))
from all_samples import SAMPLES

# Their numbers are the device's own, or come from a state on the host.
RANDOM = {s.op for s in SAMPLES if "rng" in s.params}
RANDOM |= {"new_generator", "draw", "dropout", "dropout_hashed", "to_device"}
# It resizes images that were just decoded, which are in main memory, and refuses those of another device.
HOST_ONLY = {"resize_bytes"}
TOLERANCE = {torch.float16: 4e-3, torch.float32: 2e-5}


def moved(x, device):
    """Numbers and masks go to the device; positions, lengths and states stay where a program gives them."""
    there = isinstance(x, torch.Tensor) and (x.is_floating_point() or x.dtype == torch.bool)
    return x.to(device) if there else x


def run(sample, device):
    arrays = [a if a is None or torch.is_tensor(a) else torch.tensor(a) for a in sample.arrays(sample.dtypes[-1])]
    tensors = [a if a is None else a.clone().to(device) for a in arrays]
    params = {k: moved(v.clone() if torch.is_tensor(v) else v, device) for k, v in sample.params.items()}
    xs = [None if t is None else _C.Variable(t, i in sample.targets) for i, t in enumerate(tensors)]
    op, given = _C.op(sample.op), list(xs)
    while not sample.many and given and given[-1] is None:
        given.pop()
    ys = op(given, **params) if sample.many else op(*given, **params)
    ys = list(ys) if isinstance(ys, tuple) else [ys]
    wanted = [xs[i] for i in sample.targets]
    ends = [y for y in ys if y.requires_grad]
    gys = [
        _C.Variable(torch.linspace(-1, 1, y.size).to(y.tensor.dtype).view(y.tensor.shape).to(device), False)
        for y in ends
    ]
    gxs = _C.grad(_C.native_frontend, ends, wanted, gys) if ends and wanted else []
    return [y.tensor for y in ys], [None if g is None else g.tensor for g in gxs]


CUDA = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
CASES = [s for s in SAMPLES if s.op not in RANDOM | HOST_ONLY]


@pytest.mark.parametrize(
    ("sample", "device"),
    # a few on the CPU against itself, so that this test is tested where there is no GPU
    [*((s, "cpu") for s in CASES[::50]), *(pytest.param(s, "cuda", marks=CUDA) for s in CASES)],
    ids=str,
)
def test_values_and_gradients(sample, device):
    device = torch.device(device)
    for here, there in zip(run(sample, torch.device("cpu")), run(sample, device), strict=True):
        for a, b in zip(here, there, strict=True):
            assert (a is None) == (b is None)
            if a is None:
                continue
            assert b.device.type == device.type and b.dtype == a.dtype and b.shape == a.shape
            tolerance = TOLERANCE.get(a.dtype, 1e-9) * max(1.0, sample.tolerance)
            torch.testing.assert_close(b.cpu(), a, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("device", ["meta", pytest.param("cuda", marks=CUDA)])
@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.op in HOST_ONLY], ids=str)
def test_an_op_on_main_memory_refuses_other_devices(sample, device):
    with pytest.raises(TypeError, match="on the CPU, not"):
        run(sample, torch.device(device))
