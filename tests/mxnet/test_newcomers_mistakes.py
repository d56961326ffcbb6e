"""Mistakes in porting a program: each error names the missing call or the valid names."""

import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import compatgrad.mxnet as mx


def test_a_module_names_the_call_that_is_missing():
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
    batch = mx.io.DataBatch([mx.nd.zeros((2, 3))], [mx.nd.zeros(2)])
    with pytest.raises(AssertionError, match=r"Module: call bind\(data_shapes=\.\.\.\) before"):
        module.forward(batch)
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    with pytest.raises(AssertionError, match=r"call init_params\(\)"):
        module.forward(batch)
    module.init_params()
    with pytest.raises(AssertionError, match=r"call init_optimizer\(\)"):
        module.update()
    with pytest.raises(AssertionError, match="inputs_need_grad=True"):
        module.get_input_grads()


@pytest.mark.parametrize(
    "make, known",
    [
        (lambda: mx.metric.create("acuracy"), "accuracy"),
        (lambda: mx.init.create("xaviar"), "xavier"),
        (lambda: mx.optimizer.create("adamm"), "adam, adamax"),
        (lambda: mx.Context("tpu"), "cpu, gpu"),
    ],
    ids=["metric", "initializer", "optimizer", "context"],
)
def test_a_misspelt_name_is_answered_with_those_that_exist(make, known):
    with pytest.raises((AssertionError, KeyError, ValueError), match=known):
        make()


def test_workers_of_a_loader_add_nothing_to_a_program_s_last_traceback():
    program = textwrap.dedent("""
        import numpy as np
        from mxnet import gluon
        loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.zeros((8, 2))), batch_size=4, num_workers=1)
        next(iter(loader))
        raise ValueError("mine")
    """)
    run = [sys.executable, "-m", "compatgrad", "run", "-c", program]
    error = subprocess.run(run, capture_output=True, text=True, check=False).stderr
    assert error.rstrip().endswith("ValueError: mine")


def test_labels_of_another_size_than_predictions_are_named():
    with pytest.raises(mx.MXNetError, match=r"label's shape \(4, 2\) does not fit the prediction's, \(4, 3\)"):
        mx.gluon.loss.L2Loss()(mx.nd.ones((4, 3)), mx.nd.ones((4, 2)))


def test_a_wrong_number_of_load_shares_is_an_error():
    with pytest.raises(AssertionError, match="work_load_list has 3 numbers for 1 contexts"):
        mx.mod.Module(mx.sym.var("data"), label_names=None, work_load_list=[1, 1, 1])


@pytest.mark.parametrize(
    "kind, arguments",
    [
        ("sgd", {"learning_rate": "0.1"}),
        ("sgd", {"momentum": "0.9"}),
        ("adam", {"beta1": "0.9"}),
        ("adam", {"wd": "0.1"}),
        ("rmsprop", {"gamma1": "0.9"}),
    ],
    ids=["learning_rate", "momentum", "beta1", "wd", "gamma1"],
)
def test_a_number_of_an_optimizer_that_is_a_string_is_named(kind, arguments):
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), kind, arguments)
    with mx.autograd.record():
        loss = net(mx.nd.ones((1, 2)))
    loss.backward()
    with pytest.raises(TypeError, match=f"{next(iter(arguments))} must be a number, got '0"):
        trainer.step(1)


@pytest.mark.parametrize("loss", ["SoftmaxCELoss", "L1Loss", "L2Loss", "SigmoidBCELoss", "KLDivLoss", "HingeLoss"])
def test_numpy_labels_are_named(loss):
    loss, pred, label = getattr(mx.gluon.loss, loss)(), mx.nd.ones((2, 3)), np.ones((2, 3), "f")
    with pytest.raises((AssertionError, TypeError), match="Loss: label must be an NDArray .* got numpy.ndarray"):
        loss(pred, label)
    with pytest.raises((AssertionError, TypeError), match="Loss: sample_weight must be an NDArray"):
        loss(pred, mx.nd.zeros((2,) if "CELoss" in type(loss).__name__ else (2, 3)), np.ones((2, 1), "f"))
    loss.hybridize()
    with pytest.raises(ValueError, match="Loss: label must be an NDArray"):
        loss(pred, label)


def test_numpy_labels_of_the_cross_entropy_raise_mxnet_s_exception():
    with pytest.raises(AssertionError):
        mx.gluon.loss.SoftmaxCELoss()(mx.nd.ones((2, 3)), np.array([0, 1]))


@pytest.mark.parametrize("layer", ["rnn.LSTM(3)", "nn.InstanceNorm()", "nn.BatchNorm(axis=2)"])
def test_a_layer_whose_input_has_too_few_axes_is_named_with_the_shape(layer):
    block = eval(layer, vars(mx.gluon))
    block.initialize()
    shape = (2,) if "Instance" in layer else (2, 3)
    with pytest.raises(ValueError, match=rf"inferred. {type(block).__name__} .*{re.escape(str(shape))}"):
        block(mx.nd.ones(shape))


def test_a_name_in_place_of_a_symbol_is_refused_in_words():
    y = mx.sym.Variable("data") + 1
    for outputs, inputs in ((y, "data"), (y, ["data"]), ("y", mx.sym.Variable("data"))):
        with pytest.raises(ValueError, match="SymbolBlock: outputs and inputs must be symbols"):
            mx.gluon.SymbolBlock(outputs, inputs)


def test_errors_name_what_came():
    with pytest.raises(TypeError, match="rotation_degrees of a single image must be a number, got NDArray"):
        mx.image.imrotate(mx.nd.ones((3, 4, 4)), mx.nd.ones(1))
    with pytest.raises(ValueError, match="subok True, got 'C', 'unsafe' and True"):
        mx.np.ones(2).astype("int32", order="C")


def test_inputs_of_a_symbol_block():
    y = mx.sym.var("x") + mx.sym.var("y")
    block = mx.gluon.SymbolBlock(y, [mx.sym.var("x"), mx.sym.var("y")])
    with pytest.raises(ValueError, match=r"the inputs \['x', 'y'\] must be NDArrays or Symbols, got int, ndarray"):
        block(3, np.ones(2))
    with pytest.raises(NotImplementedError, match="a SymbolBlock runs its symbol: call the block itself"):
        block.hybrid_forward(mx.nd, mx.nd.ones(2))
    y = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2)
    with pytest.raises(RuntimeError, match=r"the shapes \{\} do not determine the shapes of all arguments"):
        y.simple_bind(mx.cpu())
    with pytest.raises(ValueError, match=r"reshape: the shapes \{\} do not determine the shapes of all arguments"):
        y.simple_bind(mx.cpu(), x=(2, 3)).reshape()


def test_the_truth_of_a_symbol_is_refused_in_words():
    with pytest.raises(mx.base.NotImplementedForSymbol, match="is not supported for symbols$"):
        bool(mx.sym.Variable("x") == 1)


def test_data_of_another_width_than_the_weight_is_named():
    match = r"weight must have the shape \(3, 5\) for data of the shape \(2, 5\), got \(3, 4\)"
    with pytest.raises(mx.MXNetError, match=match):
        mx.nd.FullyConnected(mx.nd.ones((2, 5)), mx.nd.ones((3, 4)), no_bias=True, num_hidden=3)
