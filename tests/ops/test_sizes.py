"""Tensors whose size or numbers do not fit are refused with their name: the kernels would read or write beyond them."""

import pytest
import torch

from compatgrad import Variable, grad, ops

X = torch.rand(4, 3, 2, 2)


def given(**sizes):
    found = {name: torch.ones(sizes.get(name, 3)) for name in ("gamma", "beta", "running_mean", "running_var")}
    running = {name: found[name] for name in ("running_mean", "running_var") if sizes.get(name, 3)}
    return ops.batch_normalization(X, found["gamma"], found["beta"], **running)


@pytest.mark.parametrize("name", ["gamma", "beta", "running_mean", "running_var"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_parameter_of_another_size_is_refused(name, size):
    with pytest.raises(ValueError, match=rf"{name} must have 3 numbers, one per channel, not the shape \[{size}\]"):
        given(**{name: size})


@pytest.mark.parametrize("name", ["running_mean", "running_var"])
def test_one_running_statistic_alone_is_refused(name):
    with pytest.raises(ValueError, match="running_mean and running_var must be given together"):
        given(**{name: 0})


def test_three_of_each_are_taken():
    assert given().shape == (4, 3, 2, 2)


def classes(n):
    return lambda: ops.softmax_cross_entropy(torch.rand(4, 5), torch.tensor([0, 1, 2, 4]), torch.ones(n))


def spread(places, insize=(5, 5)):
    return lambda: ops.max_pooling_grad(torch.rand(1, 1, 2, 2), places, ksize=[3], stride=[2], insize=list(insize))


def late(mean, var):
    moving = {"moving_mean": torch.ones(mean), "moving_var": torch.ones(var)}
    return lambda: ops.batch_normalization_late(X, torch.ones(3), torch.ones(3), **moving)


def changed(x, *statistics):
    return lambda: ops.batch_normalization_grad(x, torch.ones(3), x, *statistics)


BYTES = torch.zeros(1, 1, 2, 2, dtype=torch.uint8)
RNG = torch.tensor(7)
REFUSED = {
    "fewer class weights than classes": (classes(4), r"class_weight must have the shape \(5,\).* not \[4\]"),
    "more class weights than classes": (classes(6), r"class_weight must have the shape \(5,\).* not \[6\]"),
    "class weights with two axes": (classes((1, 5)), r"class_weight must have the shape \(5,\).* not \[1, 5\]"),
    "a byte beyond the window": (spread(BYTES + 9), "at least 0 and less than 9, the size of a window; got 9 to 9"),
    "the largest byte": (spread(BYTES + 255), "less than 9, the size of a window; got 255 to 255"),
    "a pixel beyond the window": (
        lambda: ops.max_pooling_at(torch.rand(1, 1, 5, 5), BYTES + 200, ksize=[3], stride=[2]),
        "less than 9, the size of a window; got 200 to 200",
    ),
    "fewer sizes than axes": (spread(BYTES, [5]), "insize must have 2 numbers"),
    "no positions": (
        lambda: ops.resample(torch.rand(3, 4), axis=0, index=torch.zeros(0, 3, dtype=torch.long)),
        r"index \[0, 3\] along axis 0 does not fit",
    ),
    "images of two axes": (
        lambda: ops.roi_max_grad(
            torch.rand(1, 1, 2, 2), torch.zeros(1, 9), torch.zeros(1, 1, 2, 2), insize=[1, 1], output_size=[2, 2]
        ),
        "images must have 4 axes, not 2",
    ),
    "bins of one number": (
        lambda: ops.roi_max_grad(
            torch.rand(1, 1, 2, 2), torch.zeros(1, 9), torch.zeros(1, 1, 2, 2), insize=[1, 1, 4, 4], output_size=[2]
        ),
        r"output_size must be two positive numbers, not \[2\]",
    ),
    "a short moving mean": (late(2, 3), r"moving_mean must have 3 numbers, one per channel, not the shape \[2\]"),
    "a long moving variance": (late(3, 4), r"moving_var must have 3 numbers, one per channel, not the shape \[4\]"),
    "a short mean": (changed(X, torch.ones(2), torch.ones(3)), r"mean must have 3 numbers.* not the shape \[2\]"),
    "a short 1 / std": (changed(X, torch.ones(3), torch.ones(1)), r"inv_std must have 3 numbers.* not the shape \[1\]"),
    "a mean alone": (changed(X, torch.ones(3)), "mean and inv_std must be given together"),
    "a fixed mean": (
        lambda: ops.fixed_batch_normalization(X, *[torch.ones(3)] * 2, torch.ones(4), torch.ones(3)),
        r"mean must have 3 numbers, one per channel, not the shape \[4\]",
    ),
    "offsets of another dtype": (
        lambda: ops.deform_columns(torch.rand(1, 1, 9, 9).double(), torch.zeros(1, 18, 7, 7), ksize=[3, 3]),
        "must have one dtype, not Double and Float",
    ),
    "a filter of fewer axes": (
        lambda: ops.convolution_grad_w(torch.rand(2, 3, 6, 5), torch.rand(2, 4, 4, 3), ksize=[3]),
        r"a filter of shape \[4, 3, 3\] must have 4 axes",
    ),
    "a map of fewer axes": (
        lambda: ops.convolution(torch.rand(1, 2, 7, 6), torch.rand(3, 2, 3, 2), outsize=[3]),
        r"a map of shape \[0, 0, 3\] must have 4 axes",
    ),
    "an image of fewer axes": (
        lambda: ops.deconvolution(torch.rand(1, 3, 3, 3), torch.rand(3, 2, 3, 2), outsize=[5]),
        r"outsize must have 2 entries, not \[5\]",
    ),
    "strides for other axes": (
        lambda: ops.convolution(torch.rand(1, 2, 7, 6), torch.rand(3, 2, 3, 2), stride=[1, 2, 1]),
        r"must have one entry or as many as there are axes of space, 2, not \[1, 2, 1\]",
    ),
    "two tensors for a tree": (
        lambda: ops.tree_lstm_grad([torch.rand(2, 3)] * 2),
        "expected the children's cells, x and two gradients, not 2 tensors",
    ),
    "more rows than there are": (
        lambda: ops.pad_packed_sequence(torch.rand(2, 3), torch.tensor([2**62] * 4)),
        "batch_sizes must be 0 to 2, the number of rows",
    ),
    "negative weights without replacement": (
        lambda: ops.random_choice(
            torch.rand(1, 2), torch.tensor([[1.0, -5.0]]), shape=[1], replace=False, rng=ops.new_generator(RNG).tensor
        ),
        "weights must not be negative",
    ),
    "a negative shape": (
        lambda: ops.random_crop(torch.rand(2, 3, 3), shape=[-1, -2], rng=ops.new_generator(RNG).tensor),
        r"shape \[-1, -2\] is not a part of that of x, \[2, 3, 3\]",
    ),
    "a binomial distribution of -1 trials": (
        lambda: ops.draw(ops.new_generator(RNG), kind="binomial", a=-1, b=0.5, shape=[3]),
        "binomial cannot have the parameters -1 and 0.5",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_named(name):
    call, message = REFUSED[name]
    with pytest.raises((ValueError, IndexError, TypeError, RuntimeError), match=message):
        call()


def test_labels_changed_since_are_refused():
    """Backward reads the arrays of the forward, into which a program may have put other numbers or other arrays."""
    x, labels = Variable(torch.rand(5, 2, 4), True), Variable(torch.tensor([[1, 2], [2, 3]]))
    y = ops.ctc_loss(x, labels, torch.tensor([5, 5]), torch.tensor([2, 2]))
    labels.tensor.fill_(2**40)
    with pytest.raises(IndexError, match="labels must be at least 0 and less than 4"):
        grad([y], [x], [torch.ones(2)])
    x, labels = Variable(torch.rand(3, 4), True), Variable(torch.tensor([1, 2, 3]))
    y = ops.softmax_cross_entropy(x, labels)
    labels.array = torch.zeros(300, dtype=torch.long)
    with pytest.raises(ValueError, match="labels must have 3 numbers, not the shape"):
        grad([y], [x], [torch.tensor(1.0)])
