"""What real nnabla 1.39.0 makes of parameters: every parametric function, and files.

    PYTHON -m tests.golden.nnabla_parameters [FOLDER]

PYTHON is an interpreter in which real nnabla runs (see record_nnabla.py). Without FOLDER it records the
folder nnabla_parameters beside this file; with it, it checks the files that compatgrad wrote there
(`save_files`).
"""

import pathlib
import sys

import numpy as np

from tests.golden import files

GOLDEN = pathlib.Path(__file__).with_name("nnabla_parameters")


def _cases(nn):
    def v(*shape, seed=0):
        return nn.Variable.from_numpy_array(np.random.RandomState(seed).randn(*shape).astype(np.float32))

    x2, x4 = v(4, 6), v(2, 4, 6, 6)
    ids = nn.Variable.from_numpy_array(np.array([[1, 2], [0, 3]]))
    fix = {"fix_parameters": True}
    inq = {"inq_iterations": (2,), "selection_algorithm": "largest_abs"}
    sequence, state, states = v(3, 2, 5), v(1, 1, 2, 4), v(2, 2, 2, 4)
    both = {"bidirectional": True, "num_layers": 2}
    query, key, value = v(3, 2, 6), v(4, 2, 5, seed=1), v(4, 2, 7, seed=2)
    small = {"dim_feedforward": 5, "dropout": 0}
    source, target = v(3, 2, 8), v(4, 2, 8, seed=1)
    yield "affine", (x2, 5), {}
    yield "affine", (x4, (2, 3)), {"with_bias": False, **fix}
    yield "affine", (x2, 5, 1, None, None, False, None, True, None, None, "fc"), {}
    yield "svd_affine", (x4, (2, 3), 3), fix
    yield "binary_connect_affine", (x2, 5), {"with_bias": False, "name": "outer/inner"}
    yield "binary_weight_affine", (x2, 5), {}
    yield "inq_affine", (x2, 5), inq
    yield "convolution", (x4, 3, (3, 3)), {}
    yield "convolution", (x4, 4, (3, 3)), {"group": 2, "pad": (1, 1), "stride": (2, 2)}
    yield "svd_convolution", (x4, 3, (3, 3), 2), {}
    yield "cpd3_convolution", (x4, 3, (3, 3), 2), {}
    yield "cpd3_convolution", (x4, 3, (3, 3), 4), {"max_iter": 3, "lambda_reg": 0.1}
    yield "binary_connect_convolution", (x4, 3, (3, 3)), {}
    yield "binary_weight_convolution", (x4, 3, (3, 3)), {}
    yield "inq_convolution", (x4, 3, (3, 3)), inq
    yield "deformable_convolution", (x4, 4, (3, 3), v(2, 18, 6, 6, seed=3), v(2, 9, 6, 6, seed=4), (1, 1)), {}
    yield "depthwise_convolution", (x4, (3, 3)), {"multiplier": 2}
    yield "deconvolution", (x4, 4, (2, 2)), {"group": 2, "stride": (2, 2)}
    yield "depthwise_deconvolution", (x4, (3, 3)), {"divisor": 2}
    yield "rnn", (sequence, states), both
    yield "lstm", (sequence, states, v(2, 2, 2, 4, seed=1)), {**both, **fix}
    yield "gru", (sequence, state), {}
    yield "gru", (sequence, states), {**both, "with_bias": False}
    yield "batch_normalization", (x4,), {"axes": [0, 2], "batch_stat": False}
    yield "batch_normalization", (x4,), {"no_scale": True, "output_stat": True, **fix}
    yield "fused_batch_normalization", (x4, v(2, 4, 6, 6, seed=2)), {}
    yield "mean_subtraction", (x4,), {}
    yield "layer_normalization", (x4,), {"batch_axis": [0, 1]}
    yield "instance_normalization", (x4,), {}
    yield "group_normalization", (x4, 2), {}
    yield "embed", (ids, 5, 3), {}
    yield "prelu", (x4,), {}
    yield "prelu", (x4,), {"shared": False}
    yield "fixed_point_quantized_affine", (x2, 5), {"quantize_b": False}
    yield "fixed_point_quantized_convolution", (x4, 4, (3, 3)), {"group": 2}
    yield "pow2_quantized_affine", (x2, 5), {"with_zero_w": True, "n_w": 4, "m_w": 1}
    yield "pow2_quantized_convolution", (x4, 3, (3, 3)), {"quantize_w": False}
    yield "pruned_affine", (x2, 5), {}
    yield "pruned_convolution", (x4, 3, (3, 3)), {"rate_w": 0.5, "with_bias": False}
    yield "min_max_quantize", (x4,), {}
    yield "min_max_quantize", (x4,), {"x_min_max": True, "ema": True}
    yield "min_max_quantized_affine", (x2, 5), {"w_min_max": True, **fix}
    yield "min_max_quantized_convolution", (x4, 3, (3, 3)), {}
    yield "lstm_cell", (v(4, 3), v(4, 5), v(4, 5, seed=1), 5), {}
    yield "spectral_norm", (x4,), {"dim": 1, "itr": 2}
    yield "_spectral_norm_v1", (x4,), {"dim": 1, "itr": 2}
    yield "weight_normalization", (x4,), {"dim": 1}
    yield "_weight_normalization_v1", (x4,), {"dim": 1}
    yield "multi_head_attention", (query, query, query), {"num_heads": 2, "add_attn_bias": True}
    sizes = {"k_embed_dim": 4, "v_embed_dim": 8, "out_dim": 3}
    yield "multi_head_attention", (query, key, value), {"num_heads": 2, "with_bias": False, **sizes}
    layers = {"embed_dim": 8, "num_heads": 2, "num_encoder_layers": 2, "num_decoder_layers": 1}
    yield "transformer", (source, target), {**layers, **small}
    yield "transformer_encode", (source, 8, 2), {"add_attn_bias": True, **small}
    yield "transformer_decode", (source, target, 8, 2), small


def parametric(nn, only=None):
    """For every call: its name, parameters made (name, shape, need_grad, a few values and their sums), and
    outputs.

    `only` picks one call by its index.
    """
    import importlib

    functions = importlib.import_module(nn.__name__ + ".parametric_functions")

    def sums(array):
        array = np.asarray(array, np.float64)
        return [*array.ravel()[:3].tolist(), array.sum(), np.abs(array).sum()]

    for index, (name, args, kwargs) in enumerate(_cases(nn)):
        if only is not None and index != only:
            continue
        nn.clear_parameters()
        nn.seed(7)
        outputs = getattr(functions, name)(*args, **kwargs)
        # taken before forward, which writes moving averages and the like
        made = [
            (key, list(p.shape), bool(p.need_grad), sums(p.d)) for key, p in nn.get_parameters(grad_only=False).items()
        ]
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        nn.forward_all(outputs)
        yield {"name": name, "parameters": made, "outputs": [[list(y.shape), sums(y.d)] for y in outputs]}


def make_parameters(nn):
    """Some parameters, of several kinds."""
    nn.clear_parameters()
    create = nn.parameter.get_parameter_or_create
    create("z/W", (2, 3), np.linspace(-1, 2, 6, dtype=np.float32).reshape(2, 3))
    create("z/b", (3,), need_grad=False)
    create("scalar", (), np.array(3.5, np.float32))
    create("a/deep/scope/counts", (3,), np.arange(3))
    create("a/long", (200,), np.sin(np.arange(200, dtype=np.float32)))


def held(nn):
    """The parameters there are."""
    params = nn.get_parameters(grad_only=False)
    return [(key, list(p.shape), bool(p.need_grad), p.d.tolist()) for key, p in params.items()]


def save_files(nn, folder):
    """Saves `make_parameters` in every format."""
    make_parameters(nn)
    for name in ("values.h5", "values.protobuf"):
        nn.save_parameters(str(folder / name))


def network(nn):
    """Input, output and the contents to save of a small network."""
    import importlib

    F, PF = (importlib.import_module(f"{nn.__name__}.{m}") for m in ("functions", "parametric_functions"))
    nn.clear_parameters()
    nn.seed(7)
    x = nn.Variable((4, 1, 8, 8))
    h = PF.batch_normalization(PF.convolution(x, 3, (3, 3)), batch_stat=False)
    h = F.reshape(F.max_pooling(F.relu(h), (2, 2)), (4, -1))
    h = PF.affine(h, 5)
    h = F.concatenate(h, F.tanh(h) * 0.5, axis=1)
    y = F.softmax(h)
    networks = [{"name": "net", "batch_size": 4, "outputs": {"y": y}, "names": {"x": x}}]
    executors = [{"name": "run", "network": "net", "data": ["x"], "output": ["y"], "num_evaluations": 3}]
    return x, y, {"networks": networks, "executors": executors}


def _record():
    import nnabla as nn
    from nnabla.utils.save import save

    GOLDEN.mkdir(exist_ok=True)
    versions = files.versions("nnabla")
    files.write(GOLDEN / "parametric.json.gz", {"functions": list(parametric(nn))}, versions)
    save_files(nn, GOLDEN)
    x, y, contents = network(nn)
    x.d = np.random.RandomState(1).randn(*x.shape)
    y.forward()
    files.write(GOLDEN / "network.npz", {"x": x.d, "y": y.d}, versions)
    for format_ in (".h5", ".protobuf"):
        save(str(GOLDEN / f"network_{format_[1:]}.nnp"), contents, parameter_format=format_)
    save(str(GOLDEN / "network.nntxt"), contents, include_params=True)


def _check(folder):
    import nnabla as nn

    make_parameters(nn)
    want = held(nn)
    for name in ("values.h5", "values.protobuf"):
        nn.clear_parameters()
        nn.load_parameters(str(folder / name))
        assert held(nn) == want, name
        print(f"{name}: as saved")
    if (folder / "network.nnp").exists():
        from nnabla.utils.nnp_graph import NnpLoader

        values = np.load(GOLDEN / "network.npz")
        built = NnpLoader(str(folder / "network.nnp")).get_network("net", batch_size=4)
        built.inputs["x"].d = values["x"]
        built.outputs["y"].forward()
        np.testing.assert_allclose(built.outputs["y"].d, values["y"], rtol=1e-5)
        print("network.nnp: computes the same")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _check(pathlib.Path(sys.argv[1]))
    else:
        _record()
