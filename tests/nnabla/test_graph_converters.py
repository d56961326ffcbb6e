"""Graph converters: results recorded from nnabla, and the values that each conversion must preserve."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.experimental.graph_converters as GC
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad.nnabla.utils import qnn
from compatgrad.nnabla.utils.nnp_graph import NnpLoader
from tests.golden import files
from tests.golden import nnabla_converters as golden


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def random_parameters(seed=0):
    rng = np.random.RandomState(seed)
    for name, p in nn.get_parameters(grad_only=False).items():
        value = rng.randn(*p.shape) / 2
        p.d = np.abs(value) + 0.5 if name.endswith(("var", "gamma")) else value


def data(*shape, seed=1):
    return nn.Variable.from_numpy_array(np.random.RandomState(seed).randn(*shape).astype(np.float32))


def types(y):
    found = []
    y.visit(lambda f: found.append(f.info.type_name))
    return found


def same(y, z, tolerance=2e-5):
    nn.forward_all([y, z])
    np.testing.assert_allclose(z.d, y.d, rtol=tolerance, atol=tolerance)


def converted(y, *modifiers):
    return GC.GraphConverter(list(modifiers)).convert(y)


def test_converted_graphs_give_what_nnabla_gives():
    expected, found = files.read(golden.GOLDEN), golden.results("compatgrad.nnabla")
    assert sorted(found) == sorted(expected)
    for name in expected:
        if expected[name].dtype.kind != "f":
            assert found[name].tolist() == expected[name].tolist(), name
        elif np.isfinite(expected[name]).all():  # the logarithm of a negative maximum is NaN
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    "layer",
    [
        lambda x: PF.convolution(x, 6, (3, 3), group=2),
        lambda x: PF.convolution(x, 6, (3, 3), with_bias=False),
        lambda x: PF.deconvolution(x, 6, (1, 1), group=2, with_bias=False),
        lambda x: PF.deconvolution(x, 6, (1, 1)),
        lambda x: PF.affine(x, (6, 2, 2)),
    ],
    ids=["grouped", "no bias", "grouped deconvolution", "deconvolution", "affine"],
)
@pytest.mark.parametrize("opposite", [False, True])
def test_folding_leaves_the_result(layer, opposite):
    x = data(2, 4, 5, 5)
    if opposite:
        y = F.tanh(layer(PF.batch_normalization(F.sin(x), batch_stat=False)))
    else:
        y = F.tanh(PF.batch_normalization(layer(x), batch_stat=False))
    random_parameters()
    y.forward()
    before = y.d.copy()
    z = converted(y, GC.BatchNormalizationFoldingModifier(opposite=opposite))
    assert "BatchNormalization" not in types(z)
    z.forward()
    np.testing.assert_allclose(z.d, before, rtol=1e-4, atol=1e-5)
    if not opposite:
        assert {"w-folded", "b-folded"} <= {name.split("/")[-1] for name in nn.get_parameters()}


def test_folding_with_channels_last():
    x = data(2, 5, 5, 4)
    h = PF.convolution(x, 6, (3, 3), channel_last=True)
    y = F.tanh(PF.batch_normalization(h, axes=[3], batch_stat=False))
    random_parameters()
    z = converted(y, GC.BatchNormalizationFoldingModifier(channel_last=True))
    assert types(z) == ["Convolution", "Tanh"]
    same(y, z)


def test_what_others_read_is_not_folded():
    x = data(2, 4, 5, 5)
    h = PF.convolution(x, 4, (1, 1), name="a")
    y = PF.batch_normalization(h, batch_stat=False, name="n1") + PF.batch_normalization(h, batch_stat=False, name="n2")
    n = PF.batch_normalization(F.relu(y), batch_stat=False, name="n3")
    y = PF.convolution(n, 4, (1, 1), name="b") + n
    random_parameters()
    for opposite in (False, True):
        z = converted(y, GC.BatchNormalizationFoldingModifier(opposite=opposite))
        assert types(z).count("BatchNormalization") == 3
        same(y, z)


@pytest.mark.parametrize("swap", [False, True])
def test_fusing_and_back(swap):
    x, z = data(2, 4, 5, 5), data(2, 4, 5, 5, seed=2)
    n = PF.batch_normalization(PF.convolution(x, 4, (1, 1)), batch_stat=False)
    y = PF.affine(F.relu(z + n if swap else n + z), 3)
    random_parameters()
    fused = converted(y, GC.FusedBatchNormalizationModifier())
    assert types(fused) == ["Convolution", "FusedBatchNormalization", "Affine"]
    same(y, fused)
    plain = converted(fused, GC.UnfusedBatchNormalizationModifier())
    assert types(plain) == ["Convolution", "BatchNormalization", "Add2", "ReLU", "Affine"]
    same(y, plain)


def test_channels_are_moved_and_moved_back():
    x = data(2, 3, 8, 8)
    h = PF.batch_normalization(PF.convolution(x, 4, (3, 3), name="c1"), batch_stat=False)
    h = F.average_pooling(F.max_pooling(F.relu(h), (2, 2)), (1, 1))
    h = F.concatenate(h, PF.deconvolution(h, 2, (1, 1), name="d"), axis=1)
    y = PF.affine(PF.affine(h, 5, name="a1"), 3, name="a2")
    random_parameters()
    last = GC.ChannelLastModifier([x])
    z = converted(y, last)
    assert last.inputs_cl[0].shape == (2, 8, 8, 3)
    assert z.parent.inputs[0].parent.inputs[0].shape == (2, 3, 3, 6)
    same(y, z)
    first = GC.ChannelFirstModifier([last.inputs_cl[0]])
    w = converted([z], first)[0]
    assert first.inputs_cf[0].shape == (2, 3, 8, 8)
    same(y, w)


def test_several_inputs_and_outputs_and_functions_without_inputs():
    x, z = data(2, 3), data(2, 3, seed=2)
    h = F.split(PF.affine(x, 4) * 2, axis=1)
    outputs = [h[0] + F.constant(1, (2,)), F.exp(z) + F.constant(2, (2, 3)), h[3]]
    random_parameters()
    made = converted(outputs, GC.IdentityModifier())
    assert isinstance(made, list)
    for y, other in zip(outputs, made, strict=True):
        assert y.parent != other.parent
        same(y, other)


def test_identity_with_other_inputs():
    x, other, z = data(2, 3), nn.Variable((2, 3)), data(2, 3, seed=2)
    y = PF.affine(x * z, 2)
    made = converted(y, GC.IdentityModifier({x: other}, copy_value=True))
    np.testing.assert_array_equal(other.d, x.d)
    same(y, made)
    other.d *= 2
    nn.forward_all([y, made])
    assert not np.allclose(y.d, made.d)
    replaced = converted(y, GC.IdentityModifier({z: nn.Variable((2, 3))}))
    replaced.forward()
    np.testing.assert_allclose(replaced.d, np.broadcast_to(nn.get_parameters()["affine/b"].d, (2, 2)), atol=1e-6)
    with pytest.raises(ValueError, match="do not fit"):
        converted(y, GC.IdentityModifier({x: nn.Variable((3, 2))}, copy_value=True))


def test_no_gradient_of_parameters():
    x = data(2, 3)
    y = PF.affine(x, 2)
    z = converted(y, GC.NoGradModifier())
    assert not any(v.need_grad for v in z.parent.inputs) and all(v.need_grad for v in y.parent.inputs[1:])
    assert z.parent.inputs[1] == y.parent.inputs[1]


def test_test_mode_and_what_it_leaves_alone():
    x = data(2, 4, 3, 3)
    n = PF.batch_normalization(x, batch_stat=True)
    y = F.dropout(n, 0.5)
    z = converted(y, GC.TestModeModifier(rm_funcs=["Dropout"]))
    assert types(z) == ["BatchNormalization"]
    assert z.parent.info.args["batch_stat"] is False and n.parent.info.args["batch_stat"] is True
    w = converted(F.fused_batch_normalization(x, *n.parent.inputs[1:]), GC.BatchNormBatchStatModifier())
    assert w.parent.info.args["batch_stat"] is False


def test_own_modifiers():
    class Leaky(GC.FunctionModifier):
        def modify(self, f, inputs):
            return F.leaky_relu(inputs[0], 0.5) if f.info.type_name == "ReLU" else None

    x = data(2, 3)
    y = converted(F.relu(x) * 2, Leaky())
    y.forward()
    np.testing.assert_allclose(y.d, 2 * np.where(x.d > 0, x.d, x.d / 2), rtol=1e-6)

    class Wrong(GC.FunctionModifier):
        def modify(self, f, inputs):
            return 1

    with pytest.raises(ValueError, match=r"Wrong\.modify must return None or Variables, not int"):
        converted(F.relu(x), Wrong())


def test_a_python_function_cannot_be_applied_again():
    y = qnn.abs_max_recorder(data(2, 3), nn.Variable((1, 1)))
    with pytest.raises(ValueError, match="'AbsMaxRecorder' cannot be applied again"):
        converted(y, GC.IdentityModifier())


def test_recorders_let_gradients_through():
    x = data(2, 3).apply(need_grad=True)
    m, top = nn.Variable((1, 1)), nn.Variable((1, 1))
    y = qnn.minmax_minmax_recorder(x, m, top)
    y.forward()
    x.g = 0
    y.backward(3)
    np.testing.assert_array_equal(x.g, np.full((2, 3), 3))
    assert m.d.item() == min(x.d.min(), 0) and top.d.item() == max(x.d.max(), 0)
    frozen = qnn.minmax_mva_recorder(x * 10, m, top, training=False)
    frozen.forward()
    assert top.d.item() == max(x.d.max(), 0)
    with pytest.raises(SystemError, match="takes 2 inputs"):
        qnn.AbsMaxRecorder(None)(x, m, top)


def test_training_for_integers(tmp_path):
    class Config(qnn.QATConfig):
        niter_to_recording, niter_to_training = 5, 10
        recorder_activation = qnn.MinMaxMinMaxRecorderCallback
        bn_folding = bn_self_folding = True
        skip_inputs_layers = skip_outputs_layers = []
        learning_rate_scale = 0.5

    nn.random.prng = np.random.RandomState(313)  # earlier tests have drawn from it

    def network(x, test):
        h = PF.batch_normalization(PF.convolution(x, 4, (3, 3)), batch_stat=not test)
        return PF.affine(F.relu(h), 2)

    x, label = nn.Variable((4, 1, 6, 6)), nn.Variable((4, 1))
    pred, test = network(x, False), network(x, True)
    loss = F.mean(F.softmax_cross_entropy(pred, label))
    solver = S.Adam(0.05)
    solver.set_parameters(nn.get_parameters())
    scheduler = qnn.QATScheduler(Config(), solver)
    scheduler(pred)
    scheduler(test, training=False)
    rng = np.random.RandomState(0)
    losses = []
    for _ in range(60):
        scheduler.step()
        label.d = rng.randint(0, 2, (4, 1))
        x.d = rng.randn(4, 1, 6, 6) * 0.2 + label.d[:, :, None, None]
        loss.forward()
        solver.zero_grad()
        loss.backward()
        solver.update()
        losses.append(float(loss.d))
    assert scheduler.state is qnn.QNNState.TRAINING
    assert {"QuantizeLinear", "DequantizeLinear"} <= set(types(pred)) & set(types(test))
    assert solver.learning_rate() == pytest.approx(0.05 * 0.5 * 0.5)
    assert np.mean(losses[-10:]) < 0.3  # guessing has the loss log 2
    scheduler.save(str(tmp_path / "net.nnp"), x, batch_size=4, deploy=True)
    test.forward()
    net = NnpLoader(str(tmp_path / "net.nnp")).get_network("net", batch_size=4)
    net.inputs["x0"].d = x.d
    net.outputs["y0"].forward()
    np.testing.assert_allclose(net.outputs["y0"].d, test.d, rtol=1e-4, atol=1e-5)


def test_wrong_schedules_and_modes():
    with pytest.raises(ValueError, match="0 <= niter_to_recording < niter_to_training"):
        qnn.QATScheduler(qnn.QATConfig())

    class Config(qnn.QATConfig):
        niter_to_training = 3
        precision_mode = qnn.PrecisionMode.QNN

    with pytest.raises(RuntimeError, match="NON_QNN"):
        qnn.QATScheduler(Config()).save("net.nnp", [], deploy=True)
    with pytest.raises(NotImplementedError, match="SIM_QNN"):
        GC.QuantizeRecordingToTrainingModifier({}, Config())


def test_a_function_without_its_last_input_is_applied_again():
    x = data(2, 3, 5, 5)
    y = PF.convolution(x, 4, (3, 3), with_bias=False)
    same(y, y.no_grad())
    same(y, y.parent(*y.parent.inputs))


def test_a_conversion_that_raised_leaves_nothing_for_the_next():
    class Failing(GC.IdentityModifier):
        fails = True

        def modify(self, f, inputs):
            if self.fails and f.info.type_name == "Tanh":
                raise RuntimeError("in the middle")
            return super().modify(f, inputs)

    x = data(2, 3)
    y = F.tanh(F.exp(x))
    modifier = Failing()
    converter = GC.GraphConverter([modifier])
    with pytest.raises(RuntimeError, match="in the middle"):
        converter.convert(y)
    assert not modifier._map_func_inputs
    modifier.fails = False
    assert types(converter.convert(y)) == ["Exp", "Tanh"]
