"""The base classes of the networks for ImageNet."""

from __future__ import annotations

import functools
from typing import Any

from ...utils.nnp_graph import NnpNetworkPass
from ...variable import Variable
from .._base import TrainedNetwork, _result, read_names

__all__ = ["ImageNetBase"]


def _parts(classifier: str, pool: str, lastconv: str, relu: str, **others: str) -> dict[str, str]:
    """A `_KEY_VARIABLE`: the variables in which a network can end, by the values of `use_up_to`. `relu` is the variable
    for "lastconv+relu"."""
    return {"classifier": classifier, "pool": pool, "lastconv": lastconv, "lastconv+relu": relu, **others}


def _variant(network: type[Any], name: str, argument: Any, doc: str) -> type[Any]:
    """Makes a subclass of a network whose constructor takes no argument: it calls the network's with `argument`."""
    construct = functools.partialmethod(network.__init__, argument)
    return type(name, (network,), {"__init__": construct, "__doc__": doc, "__module__": network.__module__})


class ImageNetBase(TrainedNetwork):
    """A classifier of images into the 1000 categories of ImageNet.

    Subclasses name their file and the parts of it: the network, its input, the first function, which augments images,
    the last pooling, and the dropouts.

    Example:
        >>> from compatgrad.nnabla.models.imagenet import ResNet18
        >>> network = ResNet18()  # doctest: +SKIP
        >>> images = nn.Variable((8, *network.input_shape))  # doctest: +SKIP
        >>> features = network(images, use_up_to="pool", training=True)  # doctest: +SKIP
        >>> network.category_names[:2]  # doctest: +SKIP
        ['tench', 'goldfish']

    Source: `nnabla.models.imagenet.base.ImageNetBase` of nnabla 1.39.0.
    """

    _family = "imagenet"
    _file: str  # without ".nnp"
    _size = (3, 224, 224)
    _network = "Training"
    _input = "InputX"
    _augmentation = "ImageAugmentationX"
    _pooling: str | None = "AveragePooling"
    _pooling_is_type = False
    _dropouts: tuple[str, ...] = ()
    _normalizes = True

    def __init__(self) -> None:
        self._load(self._file)

    def _load(self, name: str) -> None:
        self._load_nnp(f"{name}.nnp", f"{name}/{name}.nnp")

    @property
    def category_names(self) -> list[str]:
        """The names of the 1000 categories, from category_names.txt in the folder of the models."""
        if not hasattr(self, "_category_names"):
            self._category_names = read_names("imagenet", "category_names.txt")
        return self._category_names

    def configure_global_average_pooling(
        self,
        callback: NnpNetworkPass,
        force_global_pooling: bool,
        check_global_pooling: bool,
        name: str,
        by_type: bool = False,
    ) -> None:
        """Either makes the pooling `name` pool over the whole image, or checks that it does, or does nothing. With
        `by_type`, `name` is a type, and all functions of this type are changed or checked. Where the check fails,
        building the network raises ValueError.
        """
        if force_global_pooling:
            callback.force_average_pooling_global(name, by_type=by_type)
        elif check_global_pooling:
            callback.check_average_pooling_global(name, by_type=by_type)

    def _names(self) -> dict[str, Any]:
        """Values of the {placeholders} in names of variables and functions."""
        return {}

    def _take_input(self, callback: NnpNetworkPass, x: Variable) -> None:
        callback.remove_and_rewire(self._augmentation)
        callback.set_variable(self._input, x)

    def _pass(self, x: Variable, training: bool, force: bool, check: bool, verbose: int) -> NnpNetworkPass:
        callback = NnpNetworkPass(verbose)
        self._take_input(callback, x)
        if self._pooling is not None:
            pooling = self._pooling.format(**self._names())
            self.configure_global_average_pooling(callback, force, check, pooling, self._pooling_is_type)
        if self._normalizes:
            callback.set_batch_normalization_batch_stat_all(training)
        if not training:
            for name in self._dropouts:
                callback.remove_and_rewire(name.format(**self._names()))
            callback.fix_parameters()
        return callback

    def __call__(
        self,
        input_var: Variable | None = None,
        use_from: None = None,
        use_up_to: str = "classifier",
        training: bool = False,
        force_global_pooling: bool = False,
        check_global_pooling: bool = True,
        returns_net: bool = False,
        verbose: int = 0,
    ) -> Any:
        """Builds the network on `input_var`, by default a new Variable for one image.

        use_up_to: the last part to build. training: uses batch statistics, dropout and parameters that need gradients.
        force_global_pooling: makes the last pooling global for images of any size. check_global_pooling: raises
            ValueError for images for which the last pooling would not be global. Returns the output or, with
            `returns_net`, the NnpNetwork.
        """
        assert use_from is None, "use_from is not supported: leave it None"
        x = self.get_input_var(input_var)
        callback = self._pass(x, training, force_global_pooling, check_global_pooling, verbose)
        self.use_up_to(use_up_to, callback, **self._names())
        return _result(self._built(self._network, x, callback), returns_net)


class WithLayers(ImageNetBase):
    """A network that exists with several numbers of layers, in a file for each. Subclasses set these numbers,
    `_layers`.

    Args:
        num_layers: one of these numbers. Raises AssertionError for another number.

    Example:
        >>> from compatgrad.nnabla.models.imagenet import ResNet
        >>> ResNet(50).num_layers  # doctest: +SKIP
        50

    Source: compatgrad's own base of `nnabla.models.imagenet.ResNet`, `ResNeXt` and `VGG` of nnabla 1.39.0.
    """

    _layers: tuple[int, ...]

    def __init__(self, num_layers: int) -> None:
        *most, last = self._layers
        offered = f"{', '.join(map(str, most))} or {last}"
        assert num_layers in self._layers, f"num_layers must be {offered}, not {num_layers}"
        self.num_layers = num_layers
        self._load(f"{self._file}-{num_layers}")


class WithAuxTower(ImageNetBase):
    """A network with auxiliary classifiers (towers) on intermediate layers, which help it to learn. A call with
    `with_aux_tower` also returns their outputs. Subclasses set `_losses`, the functions after the towers' outputs,
    `_towers`, all functions of the towers, and `_branches`, which for each tower has the key of its output and the key
    of the variable before it.

    Example:
        >>> from compatgrad.nnabla.models.imagenet import InceptionV3
        >>> y, tower = InceptionV3()(training=True, with_aux_tower=True)  # doctest: +SKIP

    Source: compatgrad's own base of `nnabla.models.imagenet.GoogLeNet` and `InceptionV3` of nnabla 1.39.0.
    """

    _branches: tuple[tuple[str, str], ...]
    _losses: tuple[str, ...]
    _towers: tuple[str, ...]

    def __call__(
        self,
        input_var: Variable | None = None,
        use_from: None = None,
        use_up_to: str = "classifier",
        training: bool = False,
        force_global_pooling: bool = False,
        check_global_pooling: bool = True,
        returns_net: bool = False,
        verbose: int = 0,
        with_aux_tower: bool = False,
    ) -> Any:
        """Builds the network like other networks. with_aux_tower: includes the auxiliary classifiers, in training only,
        and returns a list of all outputs.
        """
        assert training or not with_aux_tower, "with_aux_tower is for training=True"
        x = self.get_input_var(input_var)
        callback = self._pass(x, training, force_global_pooling, check_global_pooling, verbose)
        for output, before in self._branches:
            self.use_up_to(output if with_aux_tower else before, callback)
        callback.drop_function(*(self._losses if with_aux_tower else self._towers))
        self.use_up_to(use_up_to, callback)
        net = self._built(self._network, x, callback)
        return list(net.outputs.values()) if with_aux_tower and not returns_net else _result(net, returns_net)
