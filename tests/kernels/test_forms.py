"""Every form of kernel, on every level of CPU loops and in the CUDA launcher run thread by thread."""

import pathlib
import subprocess
import sys

import pytest
import torch

from compatgrad import _C
from compatgrad._build import cuda
from tests.kernels.places import CSRC, FORMS, SANITIZER, Place, unharmed

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
NEEDS = {"1": "", "3": " avx2", "4": " avx512bw"}
SIZES = [0, 1, 15, 64, 1027, 16384, 16385, 40000]


@pytest.fixture(params=["launcher", "1", "3", "4", pytest.param("cuda", marks=pytest.mark.cuda)])
def place(request, monkeypatch) -> Place:
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")
        return Place("cuda", "cuda", request.getfixturevalue("forms_on_gpu"))
    if request.param == "launcher":
        return Place("launcher", "cpu", request.getfixturevalue("forms_libraries")["launcher"])
    info = pathlib.Path("/proc/cpuinfo")
    if NEEDS[request.param] and (not info.exists() or NEEDS[request.param] not in info.read_text()):
        pytest.skip(f"this processor has no{NEEDS[request.param]}")
    monkeypatch.setenv("KERNEL_LEVEL", request.param)
    return Place("loops", "cpu", request.getfixturevalue("forms_libraries")["loops"])


def compiled_by_nvcc(nvcc, path):
    command = cuda.CudaTarget(nvcc, CSRC.parent).link_command([FORMS, CSRC / "kernels/library.cu"], path)
    return subprocess.run([*command, f"-I{CSRC}"], capture_output=True, text=True)


@pytest.fixture(scope="module")
def forms_on_gpu(tmp_path_factory) -> str:
    nvcc = cuda.find_nvcc()
    if nvcc is None:
        pytest.skip("there is no nvcc")
    path = tmp_path_factory.mktemp("forms") / "forms.so"
    done = compiled_by_nvcc(nvcc, path)
    assert done.returncode == 0, done.stderr
    return str(path)


def close(actual, exact, dtype):
    tolerance = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-6, torch.float64: 1e-14}[dtype]
    torch.testing.assert_close(actual.double(), exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", ["form_map", "form_list"])
def test_map(place, form, dtype):
    for offsets in ((0, 0), (1, 1), (0, 1)):
        ys = [place.tensor(torch.randn(n).to(dtype), offsets[0]) for n in SIZES]
        xs = [place.tensor(torch.randn(n).to(dtype), offsets[1]) for n in SIZES]
        exact = [y.double() + 0.5 * x.double() for y, x in zip(ys, xs, strict=True)]
        place(form, [ys, xs], (0.5,))
        for y, e in zip(ys, exact, strict=True):
            close(y, e, dtype)
            assert unharmed(y)


@pytest.mark.parametrize("sets", [1, 3, 200, 1700])  # tables of both lengths, and several of them
def test_lists_of_any_length(place, sets):
    sizes = [(7 * s + s % 3 * 900) % 1311 for s in range(sets)]
    sizes[sets // 2] = 20000 if sets > 1 else 5
    ys = [place.tensor(torch.randn(n)) for n in sizes]
    xs = [place.tensor(torch.randn(n)) for n in sizes]
    exact = [y.double() + 3 * x.double() for y, x in zip(ys, xs, strict=True)]
    place("form_list", [ys, xs], (3.0,))
    close(torch.cat(ys), torch.cat(exact), torch.float32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_only_what_is_named_is_written(place, dtype):
    ts = [[place.tensor(torch.randn(n).to(dtype), k) for n in SIZES] for k in range(4)]
    a, b, c, d = ([t.clone() for t in row] for row in ts)
    place("form_swap", ts)
    for k, row in enumerate([b, a, [(x.double() + z.double()) for x, z in zip(a, c, strict=True)], d]):
        for t, expected in zip(ts[k], row, strict=True):
            close(t, expected.double(), dtype)
            assert unharmed(t)
    # the very same memory twice
    same = [place.tensor(torch.ones(n).to(dtype), 1) for n in SIZES]
    place("form_list", [same, same], (2.0,))
    assert all(bool((t == 3).all()) and unharmed(t) for t in same)


@pytest.mark.parametrize("dtype", DTYPES)
def test_each(place, dtype):
    for n in SIZES:
        x = place.tensor(torch.randn(997).to(dtype))
        y = place.poisoned((n,), dtype)
        place("form_each", [y, x], (), (31,))
        close(y, torch.tanh(x.double()[torch.arange(n) * 31 % 997]), dtype)
        assert unharmed(y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reduce(place, dtype):
    for offsets in ((0, 0), (1, 1), (0, 1)):
        xs = [place.tensor(torch.rand(n).to(dtype), offsets[0]) for n in SIZES]
        zs = [place.tensor(torch.rand(n).to(dtype), offsets[1]) for n in SIZES]
        sums = _C.run_kernel("form_reduce", [xs, zs], library=place.library, sums=True)
        assert sums.dtype == torch.float64
        exact = torch.stack([(x.double() * z.double()).sum() for x, z in zip(xs, zs, strict=True)])
        precision = 1e-13 if dtype == torch.float64 else 3e-6
        torch.testing.assert_close(sums, exact, rtol=precision, atol=0)


def test_reduce_of_long_lists(place):
    xs = [place.tensor(torch.rand(n % 50)) for n in range(2000)]
    sums = _C.run_kernel("form_reduce", [xs, xs], library=place.library, sums=True)
    torch.testing.assert_close(sums, torch.stack([x.double().square().sum() for x in xs]), rtol=1e-5, atol=0)


def test_tanh_of_every_half(place):
    x = place.tensor(torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(torch.float16))
    y = place.poisoned(x.shape, x.dtype)
    place("form_each", [y, x], (), (1,))
    exact = torch.tanh(x.double())
    assert torch.equal(y.isnan(), x.isnan())
    numbers = ~x.isnan()
    assert (y.double() - exact)[numbers].abs().max() <= 2.0**-11


@pytest.mark.skipif(SANITIZER != "address", reason="not run by tests.kernels.sanitize")
def test_the_sanitizer_sees_one_element_too_many(place):
    code = (
        "import torch; from compatgrad import _C; y, x = torch.ones(8), torch.ones(8); "
        f"_C.run_kernel('form_beyond', [y, x], library={place.library!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0 and "heap-buffer-overflow" in done.stderr, done.stderr[-2000:]


@pytest.mark.slow
def test_nvcc_takes_the_forms(nvcc, tmp_path):
    done = compiled_by_nvcc(nvcc, tmp_path / "forms.so")
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
