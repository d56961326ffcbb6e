"""Layers with fixed weights compute what torch's functions do."""

import pytest
import torch
from torch.nn import functional as F

from compatgrad import _C
from compatgrad.core import fixed_layers
from compatgrad.core.fixed_layers import Convolution, Dense, Tiling

pytestmark = pytest.mark.skipif(not fixed_layers.available(), reason="torch has no oneDNN")

AFTER = {
    "none": lambda y: y,
    "relu": torch.relu,
    "hardtanh": lambda y: y.clamp(-0.1, 0.4),
    "leaky_relu": lambda y: F.leaky_relu(y, 0.2),
}
NUMBERS = {"hardtanh": (-0.1, 0.4), "leaky_relu": (0.2,)}


def close(y, expected, largest=None):
    """Asserts that y is `expected` to rounding of sums that are as large as `largest`."""
    assert y.shape == expected.shape
    largest = expected.abs().max() if largest is None else largest
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=3e-6 * float(largest))


@pytest.fixture
def minimal(monkeypatch):
    """Filters of 3 x 3 are computed by minimal filtering whether that is faster or not."""
    monkeypatch.setattr(fixed_layers, "_gains", lambda *_: True)


def data(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def layer_and_function(n, channels, maps, size, kernel, stride, pad, dilation, groups, biased, activation):
    x, w = data(n, channels, *size), data(maps, channels // groups, *kernel) / (channels * 9) ** 0.5
    b = data(maps) if biased else None
    place = (stride, stride), (pad, pad), (dilation, dilation), groups
    layer = Convolution(w, b, *place, x.shape, activation, NUMBERS.get(activation, ()))
    double = F.conv2d(x.double(), w.double(), None if b is None else b.double(), *place)
    return x, layer, double


@pytest.mark.parametrize("activation", AFTER)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(
    "n, channels, maps, size, kernel, stride, pad, dilation, groups",
    [
        (2, 3, 8, (9, 7), (3, 3), 1, 1, 1, 1), (1, 8, 4, (6, 6), (1, 1), 1, 0, 1, 1),
        (2, 8, 8, (9, 9), (3, 3), 2, 1, 1, 8), (2, 6, 4, (9, 9), (3, 2), 1, 2, 2, 2),
    ],
)  # fmt: skip
def test_convolutions(n, channels, maps, size, kernel, stride, pad, dilation, groups, biased, activation):
    parts = layer_and_function(n, channels, maps, size, kernel, stride, pad, dilation, groups, biased, activation)
    check(*parts, activation)


@pytest.mark.parametrize("activation", AFTER)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(
    "n, channels, maps, size, pad",
    [
        (2, 16, 32, (8, 8), 1), (1, 32, 16, (7, 10), 1), (3, 16, 16, (3, 1), 1), (1, 48, 32, (11, 14), 0),
        (9, 256, 256, (13, 12), 1),  # more tiles than are transformed at once
    ],
)  # fmt: skip
def test_minimal_filtering(minimal, n, channels, maps, size, pad, biased, activation):
    parts = layer_and_function(n, channels, maps, size, (3, 3), 1, pad, 1, 1, biased, activation)
    check(*parts, activation)


def test_minimal_filtering_is_used_where_it_is_faster():
    def filtered(n, channels, size, **changes):
        place = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1} | changes
        weight = torch.empty(channels, channels // place["groups"], 3, 3)
        return fixed_layers._gains(weight, **place, size=(n, channels, size, size))

    assert filtered(16, 128, 32) and filtered(1, 64, 64) and filtered(16, 512, 8)
    assert not filtered(1, 512, 4) and not filtered(16, 512, 2) and not filtered(16, 24, 32)
    for change in ({"stride": (2, 2)}, {"padding": (0, 1)}, {"dilation": (2, 2)}, {"groups": 2}):
        assert not filtered(16, 128, 32, **change)


@pytest.fixture
def by_rows(monkeypatch):
    """Products of rows, whether that is faster or not."""
    monkeypatch.setattr(_C, "rows_gain", lambda *_: True)


@pytest.mark.parametrize("activation", AFTER)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(
    "n, channels, maps, size, kernel, stride, pad",
    [
        (1, 128, 256, (2, 2), (3, 3), 1, 1), (1, 64, 512, (8, 8), (3, 3), 2, 1), (4, 256, 1024, (1, 1), (1, 1), 1, 0),
        (1, 40, 24, (7, 9), (1, 1), 2, 0), (2, 24, 40, (6, 5), (1, 1), 1, 0), (1, 16, 8, (5, 4), (2, 3), 1, 2),
        (1, 32, 16, (1, 1), (1, 1), 1, 0), (13, 20, 60, (1, 1), (1, 1), 1, 0),
    ],
)  # fmt: skip
def test_products_of_rows(by_rows, n, channels, maps, size, kernel, stride, pad, biased, activation):
    parts = layer_and_function(n, channels, maps, size, kernel, stride, pad, 1, 1, biased, activation)
    assert parts[1]._rows is not None
    check(*parts, activation)
    x, layer, _ = parts
    assert layer(x).is_contiguous(memory_format=torch.channels_last)
    x[0, 0, 0, 0] = torch.nan
    assert layer(x)[0].isnan().any()


def test_the_sum_of_rows_is_written_into_the_given_memory(by_rows):
    x, layer, _ = layer_and_function(1, 32, 16, (4, 4), (1, 1), 1, 0, 1, 1, True, "relu")
    y = data(1, 16, 4, 4).contiguous(memory_format=torch.channels_last)
    assert layer.add_to(y, x).data_ptr() == y.data_ptr()


@pytest.mark.parametrize(
    "change, words",
    [
        ({"x": torch.ones(16, 4, 4)}, "do not fit"),
        ({"x": torch.ones(1, 8, 4, 4)}, "do not fit"),
        ({"filters": torch.ones(36, 8)}, "do not fit"),
        ({"filters": torch.ones(16, 8).t()}, "do not fit"),
        ({"x": torch.ones(1, 16, 4, 4).double()}, "float32"),
        ({"pad": (0, -1)}, "too small"),
        ({"stride": (0, 1)}, "too small"),
        ({"x": torch.ones(1, 16, 0, 4)}, "too small"),
        ({"bias": torch.ones(9)}, "bias: expected 8"),
        ({"into": torch.ones(1, 8, 4, 5)}, "into"),
        ({"into": torch.ones(1, 8, 4, 4)}, "channels last"),
    ],
)
def test_wrong_arguments_of_rows_are_refused(change, words):
    place = {"kernel": (1, 1), "stride": (1, 1), "pad": (0, 0)}
    given = {"x": torch.ones(1, 16, 4, 4), "filters": torch.ones(8, 16), "bias": None, "into": None}
    place |= {k: v for k, v in change.items() if k in place}
    given |= {k: v for k, v in change.items() if k in given}
    with pytest.raises(ValueError, match=words):
        _C.convolve_rows(*given.values(), False, *place["kernel"], *place["stride"], *place["pad"])


def check(x, layer, double, activation):
    expected, largest = AFTER[activation](double), double.abs().max()
    close(layer(x), expected, largest)
    close(layer(x.contiguous(memory_format=torch.channels_last)), expected, largest)
    if activation in ("none", "relu"):
        y = data(*expected.shape)
        before = y.double()
        total = layer.add_to(y.clone(memory_format=torch.channels_last), x)
        close(total, AFTER[activation](before + double))
        close(layer.add_to(y.clone(), x), AFTER[activation](before + double))


@pytest.mark.parametrize("rows", [1, 4, 33, 64, 200])
@pytest.mark.parametrize("rectify", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_dense_layers(rows, rectify, biased):
    x, w, b = data(rows, 70), data(64, 70), data(64) if biased else None
    layer = Dense(w, b, rows, rectify)
    for given in (x, x[:1], torch.cat([x, x])):  # the layer is made for as many rows as x has
        expected = F.linear(given.double(), w.double(), None if b is None else b.double())
        close(layer(given), expected.relu() if rectify else expected)


@pytest.mark.parametrize("window", [(2, 2), (1, 3), (3, 2)])
@pytest.mark.parametrize("rectify", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("size", [(1, 2, 3), (3, 5, 6)])
def test_transposed_convolutions_whose_windows_touch(window, rectify, biased, size):
    n, height, width = size
    x, w, b = data(n, 70, height, width), data(70, 32, *window), data(32) if biased else None
    layer = Tiling(w, b, n * height * width, rectify)
    expected = F.conv_transpose2d(x.double(), w.double(), None if b is None else b.double(), window)
    for given in (x, x.contiguous(memory_format=torch.channels_last)):
        close(layer(given), expected.relu() if rectify else expected)


def test_minimal_filtering_keeps_nan(minimal):
    x, layer, _ = layer_and_function(1, 32, 32, (16, 16), (3, 3), 1, 1, 1, 1, True, "relu")
    x[0, 5, 8, 8] = torch.nan
    y = layer(x)
    assert y[0, :, 7:10, 7:10].isnan().all()
    assert not y[0, :, :4, :4].isnan().any()


def test_the_sum_is_written_into_the_given_memory(minimal):
    x, layer, _ = layer_and_function(1, 32, 32, (16, 16), (3, 3), 1, 1, 1, 1, True, "relu")
    y = data(1, 32, 16, 16).contiguous(memory_format=torch.channels_last)
    assert layer.add_to(y, x).data_ptr() == y.data_ptr()


def test_minimal_filtering_in_threads(minimal):
    x, layer, _ = layer_and_function(4, 64, 64, (32, 32), (3, 3), 1, 1, 1, 1, True, "relu")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = layer(x)
        torch.set_num_threads(2)
        two = layer(x)
    finally:
        torch.set_num_threads(before)
    close(two, one.double())


def filters():
    return torch.ones(36, 16, 16)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"x": torch.ones(16, 4, 4)}, "expected x"),
        ({"x": torch.ones(1, 32, 4, 4)}, "expected x"),
        ({"x": torch.ones(1, 8, 4, 4), "filters": torch.ones(36, 8, 16)}, "multiples of 16"),
        ({"filters": torch.ones(36, 16, 8)}, "multiples of 16"),
        ({"filters": torch.ones(9, 16, 16)}, "expected x"),
        ({"x": torch.ones(1, 16, 4, 4).double()}, "float32"),
        ({"x": torch.ones(1, 16, 1, 1), "pad": 0}, "too small"),
        ({"pad": -1}, "too small"),
        ({"bias": torch.ones(8)}, "bias: expected 16"),
        ({"into": torch.ones(1, 16, 4, 5)}, "into"),
        ({"into": torch.ones(1, 16, 4, 4)}, "channels last"),
    ],
)
def test_wrong_arguments_are_refused(change, words):
    given = {"x": torch.ones(1, 16, 4, 4), "filters": filters(), "bias": None, "pad": 1, "into": None} | change
    with pytest.raises(ValueError, match=words):
        _C.convolve_tiles(*given.values(), False)


def test_unknown_activations_are_refused():
    with pytest.raises(ValueError, match="activation"):
        Convolution(torch.ones(1, 1, 1, 1), None, (1, 1), (0, 0), (1, 1), 1, (1, 1, 1, 1), "tanh")
