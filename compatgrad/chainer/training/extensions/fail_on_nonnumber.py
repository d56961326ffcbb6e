"""The check that a training has not diverged."""

from compatgrad.chainer.training import extension


class FailOnNonNumber(extension.Extension):
    """Raises RuntimeError, which ends the training, where a parameter holds NaN or an infinity."""

    def __call__(self, trainer):
        for name, optimizer in trainer.updater.get_all_optimizers().items():
            isfinite = optimizer.target.xp.isfinite
            for param_name, param in optimizer.target.namedparams():
                if not isfinite(param.array).all():
                    raise RuntimeError(
                        f"Kill the process since parameters in optimizer '{name}' diverge: {param_name} is not finite."
                    )
