"""What real nnabla 1.39.0's layers give: an interpreter that has it makes nnabla_layers.npz of this file.

CASES: name of the function, inputs (None where an optional one is left out), arguments. Gradients are those
of the sum of all outputs times `cotangent`.
"""

from pathlib import Path

import numpy as np

from tests.golden import files

GOLDEN = Path(__file__).with_suffix(".npz")
INTEGERS = {"embed": (0,), "roi_align": (1,), "pack_padded_sequence": (1,), "pad_packed_sequence": (1,)}
rng = np.random.default_rng(0)


def A(*shape, low=-1.0, high=1.0):
    """Distinct numbers in random order: no ties."""
    n = int(np.prod(shape))
    grid = (np.arange(n) + rng.uniform(0.3, 0.7, n)) / max(n, 1)
    return (low + (high - low) * rng.permutation(grid)).reshape(shape).astype("float32")


def offsets(*shape, low, high):
    """Between pixels: where gradients have no jumps nearby."""
    a = A(*shape, low=low, high=high)
    return (np.floor(a) + 0.1 + 0.8 * (a - np.floor(a))).astype("float32")


def cotangent(shape):
    return np.random.default_rng(1).standard_normal(shape).astype("float32")


def case(name, *inputs, **args):
    return name, inputs, args


def dense():
    yield case("affine", A(4, 3), A(3, 5), A(5))
    yield case("affine", A(2, 3, 4), A(12, 2, 3), A(2, 3))
    yield case("affine", A(2, 3, 4), A(4, 2), None, base_axis=-1)
    yield case("embed", np.array([[1, 2], [3, 1]]), A(4, 3))
    yield case("embed", np.array([1, 2]), A(4, 3, 2))


def convolutions():
    name = "convolution"
    yield case(name, A(2, 4, 6, 5), A(6, 4, 3, 3), A(6))
    yield case(name, A(2, 4, 6, 5), A(6, 2, 3, 3), A(6), pad=(1, 2), stride=(2, 1), dilation=(1, 2), group=2)
    yield case(name, A(2, 2, 3, 6, 5), A(4, 3, 3, 3), None, base_axis=2, pad=(1, 1))
    yield case(name, A(3, 6, 5), A(4, 3, 3, 3), A(4), base_axis=0)
    yield case(name, A(2, 3, 7), A(4, 3, 3), A(4), pad=(1,), stride=(2,))
    yield case(name, A(2, 2, 4, 4, 5), A(3, 2, 2, 3, 2), A(3))
    name = "deconvolution"
    yield case(name, A(2, 4, 3, 3), A(4, 3, 3, 3), A(6), group=2, stride=(2, 1), pad=(1, 0), output_padding=(1, 0))
    yield case(name, A(2, 2, 4, 3, 3), A(4, 3, 2, 3), None, base_axis=2, dilation=(2, 1))
    yield case(name, A(2, 4, 3), A(4, 3, 3), A(3))
    name = "depthwise_convolution"
    yield case(name, A(2, 3, 6, 5), A(6, 3, 3), A(6), multiplier=2, pad=(1, 1), stride=(2, 1))
    yield case(name, A(2, 2, 3, 6), A(3, 3), None, base_axis=2, dilation=(2,))
    name = "depthwise_deconvolution"
    yield case(name, A(2, 4, 3, 4), A(4, 3, 3), A(2), divisor=2, pad=(1, 1), stride=(2, 1))
    yield case(name, A(2, 4, 5), A(4, 3), A(4))
    yield case("adaptive_separable_convolution", A(2, 3, 6, 7), A(2, 3, 4, 6), A(2, 2, 4, 6))
    for mask in (A(2, 18, 6, 5, low=0), None):
        yield case(
            "deformable_convolution",
            A(2, 4, 6, 5),
            A(6, 2, 3, 3),
            offsets(2, 36, 6, 5, low=-1.4, high=1.3),
            mask,
            A(6),
            pad=(1, 1),
            stride=(2, 1),
            group=2,
            deformable_group=2,
        )
    yield case(
        "deformable_convolution",
        A(1, 2, 6, 7),
        A(2, 2, 3, 2),
        offsets(1, 12, 6, 7, low=-3, high=3),
        A(1, 6, 6, 7, low=0),
        None,
        dilation=(2, 1),
    )


def poolings():
    for name in ("max_pooling", "average_pooling", "sum_pooling"):
        for counted in ({"including_pad": True}, {"including_pad": False}) if name == "average_pooling" else ({},):
            for ignore_border in (True, False):
                for kernel, stride, pad in [((2, 2), None, None), ((3, 2), (2, 1), (1, 0)), ((2, 3), (3, 2), (1, 2))]:
                    yield case(
                        name,
                        A(2, 2, 7, 6),
                        kernel=kernel,
                        stride=stride,
                        pad=pad,
                        ignore_border=ignore_border,
                        **counted,
                    )
                yield case(
                    name,
                    A(1, 2, 4, 5, 6),
                    kernel=(2, 2, 3),
                    stride=(2, 1, 2),
                    pad=(1, 0, 1),
                    ignore_border=ignore_border,
                    **counted,
                )
        yield case(name, A(3, 5, 6), kernel=(2, 2), ignore_border=False)
        yield case(name, A(2, 2, 1, 5, 6), kernel=(2, 2))
    yield case("max_pooling_backward", A(2, 3, 4, 4), A(2, 3, 7, 7), kernel=(2, 2), ignore_border=False)
    yield case("max_pooling_backward", A(2, 3, 4, 6), A(2, 3, 7, 7), kernel=(3, 2), stride=(2, 1), pad=(1, 0))
    yield case("global_average_pooling", A(2, 3, 4, 5))
    yield case("global_average_pooling", A(2, 3, 4))
    for x, kernel in [((2, 3, 4, 5), (2, 3)), ((2, 3, 4), (2,)), ((3, 4), (2, 3)), ((1, 1, 2, 2), (1, 2, 2, 3))]:
        yield case("unpooling", A(*x), kernel=kernel)
    boxes = np.array([[0, 0.3, -1.2, 4.4, 3.1], [1, 2, 1, 9, 5], [0, 1, 1, 1.5, 2]], "float32")
    yield case("roi_align", A(2, 3, 5, 6), boxes, output_size=(2, 3))
    yield case("roi_align", A(2, 3, 5, 6), boxes, output_size=(2, 3), spatial_scale=(0.5, 1.5), sampling_ratio=2)


def sequences():
    yield case("pack_padded_sequence", A(4, 3, 2), np.array([4, 2, 1]))
    yield case("pack_padded_sequence", A(3, 4), np.array([4, 2, 1]), batch_first=True)
    yield case("pad_packed_sequence", A(7, 2), np.array([3, 2, 1, 1]), total_length=6)
    yield case("pad_packed_sequence", A(7), np.array([3, 2, 1, 1]), batch_first=True)
    time, batch, inputs, units = 3, 2, 4, 3
    for layers, directions, with_bias in [(1, 1, True), (1, 2, False), (2, 1, False), (2, 2, True)]:
        for name, gates, biases, states in [("rnn", (), (), 1), ("lstm", (4,), (4,), 2), ("gru", (3,), (4,), 1)]:
            yield case(
                name,
                A(time, batch, inputs),
                *(A(layers, directions, batch, units) for _ in range(states)),
                A(directions, *gates, units, inputs + units),
                A(layers - 1, directions, *gates, units, (directions + 1) * units) if layers > 1 else None,
                A(layers, directions, *biases, units) if with_bias else None,
                num_layers=layers,
                bidirectional=directions == 2,
            )
    yield case(
        "rnn",
        A(time, batch, inputs),
        A(1, 1, batch, units),
        A(1, units, inputs + units),
        None,
        A(1, 1, units),
        nonlinearity="relu",
    )


CASES = [*dense(), *convolutions(), *poolings(), *sequences()]


def run(nn, functions, name, inputs, args):
    """The outputs' values and the inputs' gradients, None where there is none."""
    xs = [
        None if a is None else nn.Variable(a.shape, need_grad=i not in INTEGERS.get(name, ()))
        for i, a in enumerate(inputs)
    ]
    for x, a in zip(xs, inputs, strict=True):
        if x is not None:
            x.d, x.g = a, 0
    dynamic = name.endswith("sequence")
    with nn.auto_forward(dynamic):
        ys = getattr(functions, name)(*xs, **args)
        ys = list(ys) if isinstance(ys, tuple) else [ys]
    floats = ys[:1] if dynamic else ys
    if dynamic:
        ys[0].backward(nn.NdArray.from_numpy_array(cotangent(ys[0].shape)))
    else:
        parts = [functions.sum(y * nn.Variable.from_numpy_array(cotangent(y.shape))) for y in floats]
        loss = functions.add_n(*parts)
        for y in ys:
            y.persistent = True
        loss.forward()
        loss.backward()
    grads = [x.g.copy() if x is not None and x.need_grad else None for x in xs]
    return [y.d.copy() for y in ys], grads


if __name__ == "__main__":
    import nnabla
    import nnabla.functions

    arrays = {}
    for k, (name, inputs, args) in enumerate(CASES):
        ys, grads = run(nnabla, nnabla.functions, name, inputs, args)
        arrays.update({f"{k}_y{j}": y for j, y in enumerate(ys)})
        arrays.update({f"{k}_g{i}": g for i, g in enumerate(grads) if g is not None})
    files.write(GOLDEN, arrays, files.versions("nnabla"))
