"""An extension that checks whether a training has diverged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.training import extension

if TYPE_CHECKING:
    from compatgrad.chainer.training.trainer import Trainer


class FailOnNonNumber(extension.Extension):
    """Ends a training that has diverged: each call checks all parameters of the updater's optimizers, which takes time;
    `trigger` of `Trainer.extend` says how often it is called.

    Raises:
        RuntimeError: when called, a parameter holds NaN or an infinity; the message names it.

    Example:
        >>> from types import SimpleNamespace
        >>> opt = chainer.optimizers.SGD().setup(L.Linear(2, 1, initialW=np.nan))
        >>> trainer = SimpleNamespace(updater=SimpleNamespace(get_all_optimizers=lambda: {"main": opt}))
        >>> chainer.training.extensions.FailOnNonNumber()(trainer)
        Traceback (most recent call last):
          ...
        RuntimeError: Kill the process since parameters in optimizer 'main' diverge: /W is not finite.

    Source: `chainer.training.extensions.FailOnNonNumber` of Chainer 7.8.1.
    """

    def __call__(self, trainer: Trainer) -> None:
        for name, optimizer in trainer.updater.get_all_optimizers().items():
            isfinite = optimizer.target.xp.isfinite
            for param_name, param in optimizer.target.namedparams():
                if not isfinite(param.array).all():
                    raise RuntimeError(
                        f"Kill the process since parameters in optimizer '{name}' diverge: {param_name} is not finite."
                    )
