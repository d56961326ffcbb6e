"""CUDA kernels of `conv_nd` for any number of axes, as arguments of ``cuda.elementwise``.

Axis a has input size d_a, output size out_a, kernel size k_a, stride s_a, padding p_a and dilation di_a.
"""

from __future__ import annotations

from compatgrad.chainer.backends import cuda


def _names(prefix, ndim):
    return [f"{prefix}_{a}" for a in range(ndim)]


def _arguments(ndim):
    names = [name for prefix in ("d", "out", "k", "s", "p", "di") for name in _names(prefix, ndim)]
    return "".join([f", int32 {name}" for name in names])


def _unravel(names, sizes):
    """CUDA code that splits the flat index ``rest`` into one index per size, the last axis fastest; the quotient stays
    in ``rest``."""
    return [
        f"const int {name} = rest % {size}; rest /= {size};"
        for name, size in zip(reversed(names), reversed(sizes), strict=True)
    ]


def _ravel(start, names, sizes):
    index = start
    for name, size in zip(names, sizes, strict=True):
        index = f"({index}) * {size} + {name}"
    return index


class Im2colNDKernel:
    """Makes the CUDA kernel of `im2col_nd` for a number of axes: each element of the patches is read from the image, or
    is 0 in the padding.

    Example:
        >>> in_params, out_params, code, name = chainer.utils.conv_nd_kernel.Im2colNDKernel.generate(1)
        >>> in_params, out_params, name
        ('raw T img, int32 d_0, int32 out_0, int32 k_0, int32 s_0, int32 p_0, int32 di_0', 'T col', 'im2col_1d')

    Source: `chainer.utils.conv_nd_kernel.Im2colNDKernel` of Chainer 7.8.1.
    """

    def _generate(self, ndim):
        taps, places, coordinates = _names("kx", ndim), _names("o", ndim), _names("x", ndim)
        lines = ["int rest = i;"]
        lines += _unravel(taps + places, _names("k", ndim) + _names("out", ndim))
        for a in range(ndim):
            lines.append(f"const int x_{a} = kx_{a} * di_{a} + o_{a} * s_{a} - p_{a};")
        inside = " && ".join([f"0 <= {x} && {x} < d_{a}" for a, x in enumerate(coordinates)])
        lines.append(f"col = {inside} ? img[{_ravel('rest', coordinates, _names('d', ndim))}] : (T)0;")
        return f"raw T img{_arguments(ndim)}", "T col", "\n".join(lines), f"im2col_{ndim}d"

    @staticmethod
    @cuda.memoize()
    def generate(ndim: int) -> tuple[str, str, str, str]:
        """The parameters, the output, the code and the name of the kernel for `ndim` axes: arguments of
        `cuda.elementwise`.
        """
        return _im2col_nd_kernel._generate(ndim)


class Col2imNDKernel:
    """Makes the CUDA kernel of `col2im_nd` for a number of axes: each element of the image is the sum of the elements
    of the patches that were read from it.

    Example:
        >>> in_params, out_params, code, name = chainer.utils.conv_nd_kernel.Col2imNDKernel.generate(1)
        >>> in_params, out_params, name
        ('raw T col, int32 d_0, int32 out_0, int32 k_0, int32 s_0, int32 p_0, int32 di_0', 'T img', 'col2im_1d')

    Source: `chainer.utils.conv_nd_kernel.Col2imNDKernel` of Chainer 7.8.1.
    """

    def _generate(self, ndim):
        lines = ["int rest = i;"]
        lines += _unravel(_names("x", ndim), _names("d", ndim))
        lines.append("T sum = 0;")
        for a in range(ndim):
            lines += [
                f"for (int kx_{a} = 0; kx_{a} < k_{a}; ++kx_{a}) {{",
                f"const int start_{a} = x_{a} + p_{a} - kx_{a} * di_{a};",
                f"const int o_{a} = start_{a} / s_{a};",
                f"if (start_{a} < 0 || start_{a} % s_{a} != 0 || o_{a} >= out_{a}) continue;",
            ]
        names = _names("kx", ndim) + _names("o", ndim)
        lines.append(f"sum += col[{_ravel('rest', names, _names('k', ndim) + _names('out', ndim))}];")
        lines += ["}"] * ndim + ["img = sum;"]
        return f"raw T col{_arguments(ndim)}", "T img", "\n".join(lines), f"col2im_{ndim}d"

    @staticmethod
    @cuda.memoize()
    def generate(ndim: int) -> tuple[str, str, str, str]:
        """The parameters, the output, the code and the name of the kernel for `ndim` axes: arguments of
        `cuda.elementwise`.
        """
        return _col2im_nd_kernel._generate(ndim)


_im2col_nd_kernel = Im2colNDKernel()
_col2im_nd_kernel = Col2imNDKernel()
