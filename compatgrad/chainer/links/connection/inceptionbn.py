from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D
from compatgrad.chainer.links.normalization.batch_normalization import BatchNormalization

if TYPE_CHECKING:
    from compatgrad.chainer._typing import DType, Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


class InceptionBN(link.Chain):
    """Inception module with batch normalization after each convolution: 1x1, 3x3 and twice 3x3 convolutions and pooling
    in parallel; their results are joined along the channels.

    Inputs are floating-point arrays of shape (batch, in_channels, height, width); the result has out1 + out3 + out33 +
    proj_pool channels.

    Args:
        in_channels: channels of the input.
        out1: channels of the 1x1 convolution; 0 leaves the branch out.
        proj3: channels before the 3x3 convolution.
        out3: channels of the 3x3 convolution.
        proj33: channels before the two 3x3 convolutions.
        out33: channels of the two 3x3 convolutions.
        pooltype: "max" or "avg".
        proj_pool: channels of the 1x1 convolution after pooling; None leaves the convolution out, and the branch has
            in_channels channels.
        stride: stride of the last convolution of each branch and of pooling; 1 unless `out1` is 0.
        conv_init: initializer of the convolutions' W; None is `LeCunNormal()`.
        dtype: of the parameters and statistics; None is `chainer.config.dtype`.

    Raises:
        NotImplementedError: `pooltype` is not "max" or "avg".
        AssertionError: `out1` > 0 with another stride than 1 or without `proj_pool`.

    Example:
        >>> link = L.InceptionBN(3, out1=2, proj3=1, out3=4, proj33=1, out33=3, pooltype="max", proj_pool=1)
        >>> link(np.zeros((1, 3, 8, 8), np.float32)).shape
        (1, 10, 8, 8)

    Source: `chainer.links.InceptionBN` of Chainer 7.8.1; Ioffe and Szegedy, 2015.
    """

    def __init__(
        self,
        in_channels: int,
        out1: int,
        proj3: int,
        out3: int,
        proj33: int,
        out33: int,
        pooltype: str,
        proj_pool: int | None = None,
        stride: int = 1,
        conv_init: Initializer = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.out1 = out1
        self.proj_pool = proj_pool
        self.stride = stride
        self.pooltype = pooltype
        if pooltype not in ("max", "avg"):
            raise NotImplementedError(f"InceptionBN: pooltype must be 'max' or 'avg', not {pooltype!r}")
        dtype = chainer.get_dtype(dtype)

        def conv(n_in, n_out, ksize, **kwargs):
            return Convolution2D(n_in, n_out, ksize, nobias=True, initialW=conv_init, **kwargs)

        with self.init_scope():
            self.proj3 = conv(in_channels, proj3, 1)
            self.conv3 = conv(proj3, out3, 3, pad=1, stride=stride)
            self.proj33 = conv(in_channels, proj33, 1)
            self.conv33a = conv(proj33, out33, 3, pad=1)
            self.conv33b = conv(out33, out33, 3, pad=1, stride=stride)
            self.proj3n = BatchNormalization(proj3, dtype=dtype)
            self.conv3n = BatchNormalization(out3, dtype=dtype)
            self.proj33n = BatchNormalization(proj33, dtype=dtype)
            self.conv33an = BatchNormalization(out33, dtype=dtype)
            self.conv33bn = BatchNormalization(out33, dtype=dtype)
            if out1 > 0:
                assert stride == 1, f"with out1 = {out1} the stride must be 1, not {stride}"
                assert proj_pool is not None, f"with out1 = {out1} proj_pool must be given"
                self.conv1 = conv(in_channels, out1, 1, stride=stride)
                self.conv1n = BatchNormalization(out1, dtype=dtype)
            if proj_pool is not None:
                self.poolp = conv(in_channels, proj_pool, 1)
                self.poolpn = BatchNormalization(proj_pool, dtype=dtype)

    def forward(self, x: VariableOrArray) -> Variable:
        """Concatenates the branches along the channels."""
        outs = []
        if self.out1 > 0:
            outs.append(F.relu(self.conv1n(self.conv1(x))))
        h3 = F.relu(self.proj3n(self.proj3(x)))
        outs.append(F.relu(self.conv3n(self.conv3(h3))))
        h33 = F.relu(self.proj33n(self.proj33(x)))
        h33 = F.relu(self.conv33an(self.conv33a(h33)))
        outs.append(F.relu(self.conv33bn(self.conv33b(h33))))
        if self.pooltype == "max":
            p = F.max_pooling_2d(x, 3, stride=self.stride, pad=1, cover_all=False)
        else:
            p = F.average_pooling_2d(x, 3, stride=self.stride, pad=1)
        if self.proj_pool is not None:
            p = F.relu(self.poolpn(self.poolp(p)))
        outs.append(p)
        return F.concat(outs, axis=1)
