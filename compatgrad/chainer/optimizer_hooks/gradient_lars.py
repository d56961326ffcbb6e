from compatgrad.chainer.backend import using_device


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
        data = param.data
        grad = None if data is None else param.grad
        if grad is None:
            return
        with using_device(param.device):
            xp = param.device.xp
            # as wide as NumPy 1 has it: in half precision eps is 0, and the ratio more than there is
            data_norm = xp.linalg.norm(data).astype(float)
            ratio = data_norm / (self.eps + xp.linalg.norm(grad).astype(float) + self.weight_decay * data_norm)
            wide = xp.float32 if grad.dtype == xp.float16 else grad.dtype
            rate = xp.where(data_norm > self.threshold, ratio, 1.0).astype(wide)
            grad += self.weight_decay * data
            grad *= rate
