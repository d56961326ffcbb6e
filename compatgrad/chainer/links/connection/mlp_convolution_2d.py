from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_NO_WSCALE = (
    "wscale is not supported anymore. Use conv_init and bias_init argument to change the scale of initial parameters."
)


class MLPConvolution2D(link.ChainList):
    """A convolution followed by 1x1 convolutions with `activation` between them: a small network applied at each
    position of the image. The first convolution is child 0. Inputs are floating-point arrays of shape (batch,
    in_channels, height, width).

    Args:
        in_channels: channels of the input; None takes them from the first input.
        out_channels: channels of each convolution; the length is the number of convolutions.
        ksize: height and width of the first filter, one number for both or a pair.
        stride: step of the first convolution, one number or a pair.
        pad: zeros around the input of the first convolution.
        activation: function between the convolutions, from Variable to Variable.
        *args: none; in older Chainer versions `wscale` stood here.
        **kwargs: `conv_init` and `bias_init`, the initializers of all W and all biases (None: `LeCunNormal()` and 0).

    Raises:
        TypeError: more positional arguments.
        AssertionError: `out_channels` is empty.

    Example:
        >>> link = L.MLPConvolution2D(3, (8, 8, 4), 5)
        >>> link(np.zeros((1, 3, 9, 9), np.float32)).shape, len(link)
        ((1, 4, 5, 5), 3)

    Source: `chainer.links.MLPConvolution2D` of Chainer 7.8.1; Lin et al., 2014.
    """

    def __init__(
        self,
        in_channels: int | None,
        out_channels: Sequence[int],
        ksize: IntOrInts | None = None,
        stride: IntOrInts = 1,
        pad: IntOrInts = 0,
        activation: Callable[..., Any] = F.relu,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if args:
            raise TypeError(_NO_WSCALE)
        argument.check_unexpected_kwargs(kwargs, wscale=_NO_WSCALE)
        conv_init, bias_init = argument.parse_kwargs(kwargs, ("conv_init", None), ("bias_init", None))
        if ksize is None:
            out_channels, ksize, in_channels = in_channels, out_channels, None
        assert len(out_channels) > 0, "out_channels is empty; one number for each layer was expected"
        init = {"initialW": conv_init, "initial_bias": bias_init}
        convs = [Convolution2D(in_channels, out_channels[0], ksize, stride, pad, **init)]
        for n_in, n_out in zip(out_channels, out_channels[1:], strict=False):
            convs.append(Convolution2D(n_in, n_out, 1, **init))
        super().__init__(*convs)
        self.activation = activation

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the convolutions to (batch, channels, height, width)."""
        for conv in self[:-1]:
            x = self.activation(conv(x))
        return self[-1](x)
