import compatgrad.chainer as chainer


class GradientLARS:
    """Layer-wise adaptive rate scaling (You, Gitman, Ginsburg 2017).

    Adds weight decay to each gradient and scales it by the ratio of the norms of parameter and gradient,
    where the norm of the parameter is above `threshold`.
    """

    name = "GradientLARS"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, threshold=1e-2, weight_decay=0.0, eps=1e-9):
        self.threshold = threshold
        self.weight_decay = weight_decay
        self.eps = eps

    def __call__(self, rule, param):
        data, grad = param.data, param.grad
        if data is None or grad is None:
            return
        with chainer.using_device(param.device):
            xp = param.device.xp
            data_norm = xp.linalg.norm(data)
            ratio = data_norm / (self.eps + xp.linalg.norm(grad) + self.weight_decay * data_norm)
            rate = xp.where(data_norm > self.threshold, ratio, 1.0).astype(grad.dtype)
            grad += self.weight_decay * data
            grad *= rate
