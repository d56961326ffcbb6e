"""Mistakes of people who port a program: each error names the call or the names that would do."""

import subprocess
import sys
import textwrap

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


def test_a_number_of_load_shares_other_than_that_of_contexts_is_told():
    with pytest.raises(AssertionError, match="work_load_list has 3 numbers for 1 contexts"):
        mx.mod.Module(mx.sym.var("data"), label_names=None, work_load_list=[1, 1, 1])
