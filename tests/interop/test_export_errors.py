"""Exports that are impossible raise errors that say why, and leave the network unchanged."""

import logging
import random
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from expecttest import assert_expected_inline

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.nnabla as nn
from compatgrad import interop

X = torch.from_numpy(np.random.RandomState(0).rand(4, 3).astype("f"))


def message(f, *inputs, error=interop.ExportError, **how):
    with pytest.raises(error) as e:
        interop.export(f, inputs or (X,), **({"frontend": "chainer"} | how))
    return textwrap.fill(re.sub(r":\d+:", ":LINE:", str(e.value)), 110) + "\n"


def test_a_value_is_read_in_chainer():
    def f(x):
        return x if float(F.sum(x).array) > 0 else -x

    assert_expected_inline(
        message(f),
        """\
interop.export: a value is read, but in a trace tensors have only shapes and dtypes
(test_export_errors.py:LINE: `return x if float(F.sum(x).array) > 0 else -x`). Return the value as an output,
and select by values inside the graph (where) or outside the exported function
""",
    )


def test_a_value_is_read_by_a_function_on_arrays():
    class Twice(chainer.FunctionNode):
        def forward(self, xs):
            return (xs[0] * 2,)

    def f(x):
        return Twice().apply((x,))[0]

    assert_expected_inline(
        message(f),
        """\
interop.export: a value is read, but in a trace tensors have only shapes and dtypes
(test_export_errors.py:LINE: `return Twice().apply((x,))[0]`, in compatgrad.chainer.function_node.apply).
Return the value as an output, and select by values inside the graph (where) or outside the exported function.
The forward of Twice gets NumPy arrays: write the function with chainer.functions, or as a
compatgrad.FunctionNode, whose forward gets tensors
""",
    )


def test_a_value_is_read_in_nnabla_and_mxnet():
    assert "x.d.sum()" in message(lambda x: x * float(x.d.sum()), frontend="nnabla")
    assert "x.sum().asscalar()" in message(lambda x: x * x.sum().asscalar(), frontend="mxnet")


def test_a_shape_that_depends_on_values():
    def f(x):
        return torch.nonzero(x.tensor).float()

    assert_expected_inline(
        message(f, frontend="compatgrad"),
        """\
interop.export: the shape of the result of aten.nonzero.default depends on values, but in a graph all shapes
depend only on the inputs' shapes (test_export_errors.py:LINE: `return torch.nonzero(x.tensor).float()`)
""",
    )


def test_other_calls_at_other_sizes():
    assert_expected_inline(
        message(lambda x: F.stack([x[k] for k in range(len(x))])),
        """\
interop.export: call 6 of the network is aten.stack.default, aten.select.int, aten.select.int at batch 5, 7,
11, and a graph has the same calls at all sizes. Where the code loops over samples, write it with calls on the
batch, or export with dynamic=False
""",
    )


def test_a_number_that_follows_in_no_known_way():
    assert_expected_inline(
        message(lambda x: x * 2 ** -len(x)),
        """\
interop.export: aten.mul.Scalar gets 0.03125 or 0.0078125 or 0.00048828125 or ... at batch 5, 7, 11, ...: no
expression of the sizes gives these numbers, or the number is counted from call to call, as in an optimizer's
update, which belongs after the call; or it is computed from values of parameters
""",
    )


def test_an_array_that_the_code_makes():
    assert_expected_inline(
        message(lambda x: x * np.linspace(0, 1, len(x) ** 2).astype("f")[:: len(x), None] ** 2),
        """\
interop.export: aten.mul.Tensor gets an array of (5, 1) or (7, 1) or (11, 1) that the code itself makes at
batch 5, 7, 11. Make it from a Variable by the frontend's functions, or pass it as an input
""",
    )
    assert_expected_inline(
        message(lambda x: x * np.random.rand(3).astype("f"), dynamic=False),
        """\
interop.export: aten.mul.Tensor gets an array of (3,) that the code itself makes, and its values are not the
same in every run: it may be random. Make it from a Variable by the frontend's functions, or pass it as an
input
""",
    )


def test_a_network_for_one_batch_size():
    def f(x):
        return F.reshape(x, (2, 6))

    assert_expected_inline(
        message(f),
        """\
interop.export: the network runs on the examples, but not at batch 5 (test_export_errors.py:LINE: `return
F.reshape(x, (2, 6))`, in compatgrad.chainer.functions.array.reshape.reshape): RuntimeError: shape '[2, 6]' is
invalid for input of size 15. With dynamic=False it is exported only for the examples' sizes
""",
    )
    assert interop.export(f, X, frontend="chainer", dynamic=None)(X).shape == (2, 6)


def test_values_of_parameters_that_were_read():
    link = L.Linear(3, 2)
    assert_expected_inline(
        re.sub(r"by \S+,", "by NUMBER,", message(lambda x: link(x) / np.abs(link.W.array).sum(), parameters=link)),
        """\
interop.export: output 0 of the graph differs from the network's by NUMBER, tested with other parameters than
in the trace, and by more than rounding errors: the network reads values of its parameters or of other arrays
while it runs, keeps a state between calls, or behaves differently at the examples' sizes. check=False leaves
out the comparison; interop.export(..., check=False).print_readable() shows the graph, in which such a value
is a number or a _constant
""",
    )


def test_a_count_of_calls():
    link = L.Linear(3, 2)
    optimizer = chainer.optimizers.Adam().setup(link)

    def step(x):
        loss = F.sum(link(x))
        link.cleargrads()
        loss.backward()
        optimizer.update()
        return loss

    assert "number is counted from call to call" in message(step, parameters=link)
    assert "counted from call to call" in message(step, parameters=link, dynamic=False)


def test_a_value_that_a_link_of_compatgrad_reads():
    text = message(L.Classifier(L.Linear(3, 2)), X, torch.zeros(4, dtype=torch.int32)).replace("\n", " ")
    assert "(in compatgrad.chainer.links.model.classifier.forward)" in text
    assert "set compute_accuracy = False" in text


def test_functions_in_numpy_are_named_in_programs_too():
    """After `install` the modules have the originals' names, by which the error finds what to say."""
    code = textwrap.dedent("""\
        import numpy as np, compatgrad
        compatgrad.install("chainer")
        import chainer, chainer.functions as F, chainer.links as L
        from compatgrad import interop

        class Twice(chainer.FunctionNode):
            def forward(self, xs):
                return (xs[0] * 2,)

        x, t = np.ones((4, 3), "f"), np.zeros(4, "i")
        for f, *inputs in ((L.Classifier(L.Linear(3, 2)), x, t), (lambda x: F.tanh(Twice().apply((x,))[0]), x)):
            try:
                interop.compile(f, frontend="chainer")(*inputs)
            except interop.ExportError as e:
                print(e)
        """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert "in chainer.links.model.classifier.forward" in first and "set compute_accuracy = False" in first
    assert "The forward of Twice gets NumPy arrays: write the function with chainer.functions" in second


def test_a_dropout_of_a_graph_that_was_built_outside():
    x = nn.Variable((4, 3))
    y = nn.functions.dropout(x * 2)

    def outside(a):
        x.d = a
        y.forward()
        return y

    def inside(a):
        x = nn.Variable((4, 3))
        x.d = a
        y = nn.functions.dropout(x * 2)
        y.forward()
        return y

    compiled = interop.compile(outside, frontend="nnabla", dynamic=False)
    with pytest.raises(interop.ExportError, match="dropout in a graph that was built outside .*: build the graph in"):
        compiled(X.numpy())
    compiled = interop.compile(inside, frontend="nnabla", dynamic=False, backend="eager")
    found = set()
    for _ in range(20):
        found.update(np.unique(np.round(compiled(X.numpy()).d / X.numpy(), 3)).tolist())
    assert found == {0.0, 4.0}


@pytest.mark.parametrize("frontend, f", [
    ("chainer", lambda x: chainer.Variable(x) * 2), ("chainer", lambda x: F.sum(np.asarray(x))),
    ("chainer", lambda x: F.sum(x.astype("f"))), ("nnabla", nn.Variable.from_numpy_array),
    ("nnabla", nn.NdArray.from_numpy_array),
])  # fmt: skip
def test_a_function_that_needs_arrays(frontend, f):
    text = message(f, X.numpy(), frontend=frontend).replace("\n", " ")
    assert re.search(r"gets Variables in place of arrays \((x|data|nparr)\), and a call", text)
    assert "Do not make Variables of the arguments" in text
    with pytest.raises(Exception) as e:  # the error of a function that fails in another way is left alone
        interop.export(lambda x: F.reshape(x, (5, 5)), (X.numpy(),), frontend="chainer")
    assert not isinstance(e.value, interop.ExportError)


def test_random_numbers_that_become_numbers_of_the_graph():
    assert "draws random numbers of NumPy's or of Python's" in message(lambda x: x * random.random())


def test_torch_prints_nothing_about_sizes_that_do_not_fit(caplog):
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    logger.disabled, before = False, logger.disabled
    try:
        message(lambda x: x + np.ones((4, 3), "f"))
        assert not caplog.records
        logger.error("of other code")
        assert [record.message for record in caplog.records] == ["of other code"]
    finally:
        logger.disabled = before


def test_wrong_arguments():
    link = L.Linear(3, 2)
    texts = [
        message(3, error=TypeError),
        message(chainer.Variable(X), error=TypeError),
        message(lambda x: x, parameters=link.params(), error=TypeError),
        message(lambda x: x, parameters=torch.nn.Linear(2, 2), error=TypeError),
        message(lambda x: x, parameters={"a": X.numpy()}, error=TypeError),
        message(link, dynamic=3, error=TypeError),
        message(link, dynamic=[0], error=TypeError),
        message(link, 3, error=TypeError),
        message(link, frontend="torch", error=ValueError),
        message(link, parameters=3, error=TypeError),
        message(link, dynamic={"y": {0: "n"}}, error=ValueError),
        message(link, dynamic=[{2: "n"}], error=ValueError),
        message(lambda x, y: x + y, X, X[:2], error=ValueError),
        message(lambda x: x.shape and "text"),
        message(torch.nn.ReLU(), frontend="chainer", error=ValueError),
    ]
    assert_expected_inline(
        "".join(texts),
        """\
interop.export: target: expected a link, a block, a module or a function, got int
interop.export: target: expected a link, a block, a module or a function, got Variable; pass the function that
computes it
interop.export: parameters: expected a dict, a link or a block, got generator; pass the link or the block
itself, or a dict from names to Variables
interop.export: parameters: expected a dict, a link or a block, got Linear; pass
dict(module.named_parameters())
interop.export: parameters['a']: expected a Variable, got ndarray
interop.export: dynamic: expected True, False, a dict or a list of dicts from dimensions to names, got 3
interop.export: dynamic: input x: expected a dict from dimensions to names, such as {0: "batch"}, or None, got
0
interop.export: example_inputs: expected tensors, arrays or Variables, found none
interop.export: frontend: expected one of compatgrad, chainer, mxnet, nnabla, got 'torch'
interop.export: parameters: expected a dict, a link or a block, got int
interop.export: dynamic: expected names of ['x'], got 'y'
interop.export: dynamic: input x has 2 dimensions, got dimension 2
interop.export: dynamic: 'batch' is 4 in example input x and 2 in y; give different names to different sizes,
as in dynamic=[{0: "batch"}, {0: "other"}], or fix all by dynamic=False
interop.export: the network returns a str, but a graph returns tensors: return Variables
interop.export: parameters and frontend are for functions; a torch module has its own
""",
    )


def test_the_network_is_as_it_was_after_an_error():
    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.lstm, self.norm = L.LSTM(3, 4), L.BatchNormalization(4)

        def forward(self, x):
            y = self.norm(self.lstm(x))
            F.sum(y).backward()
            return y if float(y.array.sum()) else None

    model = Model()
    model(X.numpy())
    kept = [model.lstm.h, model.lstm.c, *(p.tensor for p in model.params())]
    values = [p.array.copy() for p in model.params()] + [p.grad.copy() for p in model.params()]
    values += [model.norm.avg_mean.copy(), model.norm.avg_var.copy(), model.lstm.h.array.copy()]
    with pytest.raises(interop.ExportError, match="a value is read"):
        interop.export(model, X, train=True, dynamic=False)
    now = [model.lstm.h, model.lstm.c, *(p.tensor for p in model.params())]
    assert all(a is b for a, b in zip(kept, now, strict=True))
    now = [p.array for p in model.params()] + [p.grad for p in model.params()]
    now += [model.norm.avg_mean, model.norm.avg_var, model.lstm.h.array]
    for a, b in zip(values, now, strict=True):
        np.testing.assert_array_equal(a, b)
    model(X.numpy())  # the network still runs


def test_another_branch_at_the_examples_size_is_detected():
    with pytest.raises(interop.ExportError, match="differently at the examples' sizes"):
        interop.export(lambda x: x * 2 if len(x) > 20 else x * 3, chainer.Variable(np.ones((30, 3), "f")))
