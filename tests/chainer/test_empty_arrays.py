"""Arrays without elements: results as in Chainer, and no crash of the process. Also runs on the original."""

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, F, chainer

InvalidType = chainer.utils.type_check.InvalidType


def variable(*shape):
    return chainer.Variable(np.ones(shape, np.float32))


def check(y, xs, shape):
    """Asserts the shape of y, and that the gradients of all xs are zeros."""
    assert y.shape == shape
    y.grad = np.ones(y.shape, y.dtype)
    y.backward()
    for x in xs:
        assert x.grad.shape == x.shape
        assert not x.grad.any()


@pytest.mark.parametrize("ksize, stride", [(1, 1), (1, 2), (1, 3)])
def test_unpooling_to_an_image_without_columns(ksize, stride):
    # a division by the row length 0 would terminate the process
    x = variable(2, 3, 3, 2)
    check(F.unpooling_nd(x, (ksize, ksize), (stride, stride), (1, 1)), [x], (2, 3, stride, 0))


@pytest.mark.parametrize("shape", [(2, 2, 0, 4), (2, 2, 4, 0)])
def test_average_align_of_an_image_without_pixels(shape):
    x = variable(*shape)
    rois = np.array([[0, 0, 3, 3]] * 2, np.float32)
    y = F.roi_average_align_2d(x, rois, np.zeros(2, np.int32), 2, 1.0, sampling_ratio=2)
    check(y, [x], (2, 2, 2, 2))


def test_cross_entropy_of_no_classes_is_refused():
    # a label has no element in a row without classes: indexing it would read beyond the array
    with pytest.raises(ValueError):
        F.softmax_cross_entropy(variable(2, 0, 4, 4), np.zeros((2, 4, 4), np.int32))


@pytest.mark.parametrize("shape", [(2, 2, 0, 4), (2, 2, 4, 0)])
def test_maxima_of_no_pixels_are_refused(shape):
    # windows that contain padding only would give -inf
    with pytest.raises(InvalidType):
        F.max_pooling_2d(variable(*shape), 3, 2, 1)


@pytest.mark.parametrize("shape", [(0, 2, 4, 4), (2, 0, 4, 4), (2, 2, 0, 4), (0, 0, 0, 0)])
def test_local_response_normalization(shape):
    x = variable(*shape)
    check(F.local_response_normalization(x), [x], shape)


@pytest.mark.parametrize("pad", [0, 1])
def test_im2col_of_no_images_or_no_channels(pad):
    for shape in [(0, 2, 4, 4), (2, 0, 4, 4)]:
        x = variable(*shape)
        check(F.im2col(x, 3, 1, pad), [x], (shape[0], shape[1] * 9, 2 + 2 * pad, 2 + 2 * pad))


def test_bilinear_of_no_examples():
    xs = variable(0, 2), variable(0, 4), variable(2, 4, 3)
    check(F.bilinear(*xs), xs, (0, 3))


@pytest.mark.skipif(ORIGINAL, reason="Chainer returns the bias")
@pytest.mark.parametrize("dilate", [1, 2])
def test_convolution_of_no_channels_is_refused(dilate):
    # the result must not lose the filters' channels with dilation
    with pytest.raises(ValueError, match="no channels"):
        F.convolution_2d(variable(2, 0, 5, 5), variable(3, 0, 3, 3), dilate=dilate)
    with pytest.raises(ValueError, match="no channels"):
        F.deconvolution_2d(variable(2, 0, 5, 5), variable(0, 3, 3, 3))
