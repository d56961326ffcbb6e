"""Layers with fixed weights compute what torch's functions do."""

import pytest
import torch
from torch.nn import functional as F

from compatgrad import _C
from compatgrad.core import fixed_layers
from compatgrad.core.fixed_layers import Before, convolution, dense, dense_of_array, max_pool, tiling

pytestmark = pytest.mark.skipif(not fixed_layers.available(), reason="torch has no oneDNN")
DIRECT = pytest.mark.skipif(not _C.direct_fits(), reason="the processor has no AVX-512")

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
def way(monkeypatch, request):
    """Convolutions are computed in the way that a test names, whether that is the fastest or not."""
    monkeypatch.setattr(fixed_layers, "_way", lambda *_: request.param)
    return request.param


def by(*names):
    return pytest.mark.parametrize("way", names, indirect=True)


def data(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def images_and_layers(n, channels, maps, size, kernel, stride, pad, dilation, groups, biased, activation, before=None):
    """Images, the layer, the layers that add to an array in its memory or elsewhere, and the result in doubles."""
    x, w = data(n, channels, *size), data(maps, channels // groups, *kernel) / (channels * 9) ** 0.5
    b = data(maps) if biased else None
    place = (stride, stride), (pad, pad), (dilation, dilation), groups
    layer = convolution(w, b, place, x.shape, activation, NUMBERS.get(activation, ()), before=before)
    name = "relu" if activation == "relu" else "none"
    adding = [convolution(w, b, place, x.shape, name, overwrite=o, before=before) for o in (True, False)]
    given = x.double()
    if before is not None:
        given = given * before.factor.double()[:, None, None] + before.addend.double()[:, None, None]
        given = given.relu() if before.rectify else given
    double = F.conv2d(given, w.double(), None if b is None else b.double(), place[0], place[1], place[2], groups)
    return x, layer, adding, double


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
    check(
        *images_and_layers(n, channels, maps, size, kernel, stride, pad, dilation, groups, biased, activation),
        activation,
    )


@by("tiles")
@pytest.mark.parametrize("activation", AFTER)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(
    "n, channels, maps, size, pad",
    [
        (2, 16, 32, (8, 8), 1), (1, 32, 16, (7, 10), 1), (3, 16, 16, (3, 1), 1), (1, 48, 32, (11, 14), 0),
        (9, 256, 256, (13, 12), 1),  # more tiles than are transformed at once
    ],
)  # fmt: skip
def test_minimal_filtering(way, n, channels, maps, size, pad, biased, activation):
    check(*images_and_layers(n, channels, maps, size, (3, 3), 1, pad, 1, 1, biased, activation), activation)


@DIRECT
@by("direct")
@pytest.mark.parametrize("activation", AFTER)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(
    "n, channels, maps, size, kernel, stride, pad, dilation, groups",
    [
        (2, 8, 8, (9, 7), (3, 3), 1, 1, 1, 1),  # two numbers of a filter in a vector
        (1, 16, 3, (5, 6), (1, 1), 1, 0, 1, 1), (2, 2, 4, (6, 5), (3, 2), 1, 1, 1, 1),  # four
        (2, 3, 8, (9, 7), (2, 2), 1, 0, 1, 1), (1, 1, 32, (28, 28), (5, 5), 1, 0, 1, 1),
        (3, 5, 33, (4, 3), (3, 3), 1, 2, 1, 1), (1, 16, 48, (40, 9), (3, 3), 1, 1, 1, 1),
        (1, 7, 20, (19, 150), (3, 3), 2, 1, 1, 1), (2, 6, 17, (11, 9), (3, 2), 3, 2, 2, 1),
        (1, 4, 6, (8, 8), (2, 2), 2, 0, 3, 1), (1, 16, 64, (1, 1), (1, 1), 1, 0, 1, 1),
        (4, 20, 16, (2, 3), (4, 4), 1, 2, 1, 1), (70, 3, 5, (1, 2), (1, 2), 1, 0, 1, 1),
        (30, 4, 18, (3, 2), (3, 3), 1, 1, 1, 1), (2, 8, 8, (9, 9), (3, 3), 2, 1, 1, 8),
        (1, 16, 16, (6, 8), (3, 3), 1, 0, 1, 16), (2, 37, 37, (5, 30), (3, 1), 1, 1, 2, 37),
    ],
)  # fmt: skip
def test_direct_convolutions(way, n, channels, maps, size, kernel, stride, pad, dilation, groups, biased, activation):
    check(
        *images_and_layers(n, channels, maps, size, kernel, stride, pad, dilation, groups, biased, activation),
        activation,
    )


@DIRECT
@by("direct")
@pytest.mark.parametrize("rectify", [False, True])
@pytest.mark.parametrize("channels, maps, size", [(3, 8, (9, 7)), (8, 16, (6, 33)), (16, 40, (5, 5)), (24, 4, (8, 2))])
@pytest.mark.parametrize("kernel, pad", [((3, 3), 1), ((1, 1), 0)])
def test_direct_convolutions_of_changed_images(way, channels, maps, size, kernel, pad, rectify):
    before = Before(data(channels), data(channels, 1)[:, 0] + 0.5, rectify)
    x, layer, adding, double = images_and_layers(2, channels, maps, size, kernel, 1, pad, 1, 1, True, "relu", before)
    check(x, layer, adding, double, "relu")
    x[0, 1, 2, 0] = torch.nan
    assert layer(x)[0].isnan().any() and not layer(x)[1].isnan().any()


@DIRECT
@by("direct")
@pytest.mark.parametrize("activation", AFTER)
@pytest.mark.parametrize("maps", [3, 8, 32])
def test_direct_convolutions_keep_nan(way, maps, activation):
    x, layer, _, _ = images_and_layers(2, 8, maps, (7, 9), (3, 3), 1, 1, 1, 1, True, activation)
    x[0, 5, 3, 4] = torch.nan
    y = layer(x)
    assert y[0, :, 2:5, 3:6].isnan().all() and y.isnan().sum() == 9 * maps


@DIRECT
@by("direct")
@pytest.mark.parametrize(
    "n, channels, maps, size", [(4, 64, 64, (32, 32)), (1, 512, 300, (1, 2)), (9, 256, 96, (3, 2))]
)
def test_direct_convolutions_in_threads(way, n, channels, maps, size):
    x, layer, _, double = images_and_layers(n, channels, maps, size, (3, 3), 1, 1, 1, 1, True, "relu")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = layer(x)
        for threads in (2, 3, 8):
            torch.set_num_threads(threads)
            assert torch.equal(layer(x), one)
    finally:
        torch.set_num_threads(before)
    close(one, double.relu())


def test_ways_that_are_used():
    def of(n, channels, maps, size, kernel, stride=1, groups=1):
        weight = (maps, channels // groups, kernel, kernel)
        place = (stride, stride), (kernel // 2, kernel // 2), (1, 1), groups
        return fixed_layers._way(weight, place, (n, channels, size, size))

    direct = "direct" if _C.direct_fits() else "oneDNN"
    assert (
        of(2, 8, 8, 32, 3) == of(1, 64, 128, 28, 3, 2) == of(8, 1, 32, 28, 5) == of(1, 32, 32, 14, 3, 1, 32) == direct
    )
    assert of(1, 512, 2048, 7, 1) == of(1, 64, 64, 112, 3, 1, 64) == of(1, 8, 8, 8, 3, 1, 2) == "oneDNN"
    assert of(1, 64, 64, 56, 3) == "tiles"
    if _C.direct_fits():
        assert of(1, 1024, 1024, 1, 1) == "rows"


def test_minimal_filtering_is_used_where_it_is_faster():
    def filtered(n, channels, size, **changes):
        place = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1} | changes
        weight = (channels, channels // place["groups"], 3, 3)
        return _C.fixed_way(weight, *place.values(), (n, channels, size, size)) == "tiles"

    assert filtered(16, 128, 32) and filtered(1, 64, 64) and filtered(16, 512, 8)
    assert not filtered(1, 512, 4) and not filtered(16, 512, 2) and not filtered(16, 24, 32)
    for change in ({"stride": (2, 2)}, {"padding": (0, 1)}, {"dilation": (2, 2)}, {"groups": 2}):
        assert not filtered(16, 128, 32, **change)


@by("rows")
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
def test_products_of_rows(way, n, channels, maps, size, kernel, stride, pad, biased, activation):
    x, layer, adding, double = images_and_layers(n, channels, maps, size, kernel, stride, pad, 1, 1, biased, activation)
    check(x, layer, adding, double, activation)
    assert layer(x).is_contiguous(memory_format=torch.channels_last)
    x[0, 0, 0, 0] = torch.nan
    assert layer(x)[0].isnan().any()


@by("rows", "tiles", "oneDNN", pytest.param("direct", marks=DIRECT))
def test_the_sum_is_written_into_the_given_memory_or_elsewhere(way):
    x, _, (into, elsewhere), _ = images_and_layers(1, 32, 16, (4, 4), (3, 3), 1, 1, 1, 1, True, "relu")
    y = data(1, 16, 4, 4).contiguous(memory_format=torch.channels_last)
    before = y.clone()
    assert elsewhere(y, x).data_ptr() != y.data_ptr() and torch.equal(y, before)
    assert into(y, x).data_ptr() == y.data_ptr()


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
        ({"kernel": (1,)}, "place: expected 6 numbers"),
    ],
)
def test_wrong_arguments_of_rows_are_refused(change, words):
    place = {"kernel": (1, 1), "stride": (1, 1), "pad": (0, 0)}
    given = {"x": torch.ones(1, 16, 4, 4), "filters": torch.ones(8, 16), "bias": None, "into": None}
    place |= {k: v for k, v in change.items() if k in place}
    given |= {k: v for k, v in change.items() if k in given}
    with pytest.raises(ValueError, match=words):
        moves = (*place["kernel"], *place["stride"], *place["pad"])
        run(_C.rows_step(given["filters"], given["bias"], moves, given["into"] is not None, False), given)


def run(layer, given):
    return layer(given["x"]) if given["into"] is None else layer(given["into"], given["x"])


def check(x, layer, adding, double, activation):
    expected, largest = AFTER[activation](double), double.abs().max()
    close(layer(x), expected, largest)
    close(layer(x.contiguous(memory_format=torch.channels_last)), expected, largest)
    close(layer(x.permute(2, 3, 0, 1).contiguous().permute(2, 3, 0, 1)), expected, largest)
    name = "relu" if activation == "relu" else "none"
    for add in adding:
        y = data(*expected.shape)
        before = y.double()
        close(add(y.clone(memory_format=torch.channels_last), x), AFTER[name](before + double))
        close(add(y.clone(), x), AFTER[name](before + double))


@pytest.mark.parametrize("rows", [1, 4, 33, 64, 200])
@pytest.mark.parametrize("rectify", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_dense_layers(rows, rectify, biased):
    x, w, b = data(rows, 70), data(64, 70), data(64) if biased else None
    layer = dense(w, b, rows, rectify)
    for given in (x, x[:1], torch.cat([x, x])):  # the layer is made for as many rows as x has
        expected = F.linear(given.double(), w.double(), None if b is None else b.double())
        close(layer(given), expected.relu() if rectify else expected)


@pytest.mark.parametrize("size, flat", [((3, 70), True), ((2, 3, 70), False), ((3, 7, 5, 2), True)])
@pytest.mark.parametrize("rows", [1, 300])
def test_dense_layers_of_arrays(size, flat, rows):
    x, w, b = data(rows, *size[1:]), data(64, 70), data(64)
    expected = F.linear((x.flatten(1) if flat else x).double(), w.double(), b.double())
    close(dense_of_array(w, b, x, flat, rectify=False)(x), expected)
    if len(size) == 4:
        last = x.contiguous(memory_format=torch.channels_last)
        close(dense_of_array(w, b, last, flat, rectify=True)(last), expected.relu())


@pytest.mark.parametrize("channels", [16, 3])
@pytest.mark.parametrize("order", [torch.channels_last, torch.contiguous_format])
def test_max_pooling_keeps_the_order_of_axes(channels, order):
    x = data(2, channels, 9, 8).contiguous(memory_format=order)
    y = max_pool(x, (3, 2), (2, 1), (1, 0))(x)
    assert torch.equal(y, F.max_pool2d(x, (3, 2), (2, 1), (1, 0))) and y.is_contiguous(memory_format=order)


@pytest.mark.parametrize("window", [(2, 2), (1, 3), (3, 2)])
@pytest.mark.parametrize("rectify", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("size", [(1, 2, 3), (3, 5, 6)])
def test_transposed_convolutions_whose_windows_touch(window, rectify, biased, size):
    n, height, width = size
    x, w, b = data(n, 70, height, width), data(70, 32, *window), data(32) if biased else None
    layer = tiling(w, b, x.shape, rectify)
    expected = F.conv_transpose2d(x.double(), w.double(), None if b is None else b.double(), window)
    for given in (x, x.contiguous(memory_format=torch.channels_last)):
        close(layer(given), expected.relu() if rectify else expected)


@by("tiles")
def test_minimal_filtering_keeps_nan(way):
    x, layer, _, _ = images_and_layers(1, 32, 32, (16, 16), (3, 3), 1, 1, 1, 1, True, "relu")
    x[0, 5, 8, 8] = torch.nan
    y = layer(x)
    assert y[0, :, 7:10, 7:10].isnan().all()
    assert not y[0, :, :4, :4].isnan().any()


@by("tiles")
def test_minimal_filtering_in_threads(way):
    x, layer, _, _ = images_and_layers(4, 64, 64, (32, 32), (3, 3), 1, 1, 1, 1, True, "relu")
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
        run(_C.tiles_step(given["filters"], given["bias"], given["pad"], given["into"] is not None, False), given)


@DIRECT
@pytest.mark.parametrize(
    "change, words",
    [
        ({"x": torch.ones(16, 4, 4)}, "expected images of 16 channels"),
        ({"x": torch.ones(1, 8, 4, 4)}, "expected images of 16 channels"),
        ({"x": torch.ones(1, 16, 4, 4).double()}, "float32"),
        ({"x": torch.ones(1, 16, 1, 4)}, "too small"),
        ({"x": torch.ones(1, 16, 0, 4)}, "too small"),
        ({"weight": torch.ones(8, 16, 3)}, "do not fit"),
        ({"weight": torch.ones(8, 16, 0, 3)}, "do not fit"),
        ({"bias": torch.ones(9)}, "bias: expected 8"),
        ({"factor": torch.ones(16)}, "factor or addend"),
        ({"factor": torch.ones(9), "addend": torch.ones(9)}, "factor or addend"),
        ({"place": (0, 1, 0, 0, 1, 1)}, "stride, dilation or padding"),
        ({"place": (1, 1, 0, -1, 1, 1)}, "stride, dilation or padding"),
        ({"place": (1, 1)}, "place: expected 6 numbers"),
        ({"into": torch.ones(1, 8, 2, 3)}, "added: expected the shape"),
        ({"activation": "tanh"}, "activation"),
        ({"channelwise": True}, "do not fit"),
    ],
)
def test_wrong_arguments_of_direct_convolutions_are_refused(change, words):
    given = {"x": torch.ones(1, 16, 4, 4), "weight": torch.ones(8, 16, 3, 3), "bias": None, "into": None}
    given |= {"factor": None, "addend": None, "place": (1, 1, 0, 0, 1, 1), "activation": "none", "channelwise": False}
    given |= change
    parts = [given[k] for k in ("weight", "bias", "factor", "addend")]
    overwrite = None if given["into"] is None else True
    with pytest.raises(ValueError, match=words):
        run(
            _C.direct_step(*parts, False, given["place"], given["channelwise"], overwrite, given["activation"], ()),
            given,
        )


def test_steps_of_torchs_operators():
    x, y = data(2, 3), data(2, 3)
    assert torch.equal(_C.torch_step("aten::add", "Tensor", (..., ..., 2))(x, y), x + 2 * y)
    assert torch.equal(_C.torch_step("aten::cat", "", ([...], 1))(x, y, x), torch.cat([x, y, x], 1))
    assert torch.equal(_C.torch_step("aten::clamp", "", (..., None, 0.5))(x), x.clamp(max=0.5))
    assert torch.equal(_C.torch_step("aten::permute", "", (..., [1, 0]))(x), x.T)
    chain = _C.chain_step([_C.torch_step("aten::neg", "", (...,)), _C.torch_step("aten::relu", "", (...,))])
    assert torch.equal(chain(x), (-x).relu())
    for wrong, error in [
        (lambda: _C.torch_step("aten::there_is_none", "", ()), RuntimeError),
        (lambda: _C.torch_step("aten::relu", "", (..., 1)), TypeError),
        (lambda: _C.torch_step("aten::permute", "", (...,)), TypeError),
        (lambda: _C.torch_step("aten::clamp", "", (..., "low")), TypeError),
        (lambda: _C.torch_step("aten::relu", "", (...,))(x, x), ValueError),
        (lambda: _C.torch_step("aten::relu", "", (...,))(3), TypeError),
        (lambda: chain(x=x), (TypeError, ValueError)),
        (lambda: _C.chain_step([]), ValueError),
        (lambda: _C.chain_step([torch.relu]), TypeError),
        (lambda: _C.channels_last_step(torch.relu, False), TypeError),
    ]:
        with pytest.raises(error):
            wrong()


def test_unknown_activations_are_refused():
    with pytest.raises(ValueError, match="activation"):
        convolution(torch.ones(1, 1, 1, 1), None, ((1, 1), (0, 0), (1, 1), 1), (1, 1, 1, 1), "tanh")


@by("oneDNN")
def test_windows_in_the_padding_alone_are_refused_where_they_would_end_the_process(way):
    place = (1, 2), (1, 3), (2, 2), 2
    with pytest.raises(ValueError, match="in the padding"):
        convolution(data(2, 4, 1, 1), data(2), place, (8, 8, 2, 1))
