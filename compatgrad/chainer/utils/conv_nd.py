"""The patches of convolutions with any number of axes. Mirrors ``chainer.utils.conv_nd``."""

from compatgrad.chainer.utils.conv import _col2im, _im2col, get_conv_outsize


def as_tuple(x, n):
    """`x` as a tuple of length `n`: a sequence of that length, or one value `n` times."""
    if hasattr(x, "__getitem__"):
        assert len(x) == n
        return tuple(x)
    return (x,) * n


def im2col_nd_cpu(img, ksize, stride, pad, pval=0, cover_all=False, dilate=1):
    """The patches of images (n, c, d_1, …) as an array (n, c, k_1, …, out_1, …); `pval` fills the padding."""
    dims = img.shape[2:]
    dilate = as_tuple(dilate, len(dims))
    assert len(dims) == len(ksize) == len(stride) == len(pad)
    outs = [
        get_conv_outsize(n, k, s, p, cover_all, d)
        for n, k, s, p, d in zip(dims, ksize, stride, pad, dilate, strict=True)
    ]
    return _im2col(img, ksize, stride, pad, pval, outs, dilate)


def im2col_nd(img, ksize, stride, pad, cover_all=False, dilate=1):
    """As `im2col_nd_cpu`, with 0 in the padding."""
    return im2col_nd_cpu(img, ksize, stride, pad, 0, cover_all, dilate)


def col2im_nd(col, stride, pad, dims, dilate=1):
    """The images (n, c, d_1, …) that patches (n, c, k_1, …, out_1, …) add up to."""
    assert len(stride) == len(pad) == len(dims) == (col.ndim - 2) // 2
    return _col2im(col, stride, pad, dims, as_tuple(dilate, len(dims)))


im2col_nd_gpu = im2col_nd
col2im_nd_cpu = col2im_nd_gpu = col2im_nd
