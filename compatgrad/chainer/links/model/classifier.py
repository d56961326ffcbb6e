import compatgrad.chainer.functions as F
from compatgrad.chainer import link, reporter


class Classifier(link.Chain):
    """Loss and accuracy of a predictor, which it reports as `loss` and `accuracy`.

    `label_key` says which positional (int) or keyword (str) argument is the label: TypeError for another
    type, ValueError where the call lacks it.
    """

    compute_accuracy = True

    def __init__(self, predictor, lossfun=F.softmax_cross_entropy, accfun=F.accuracy, label_key=-1):
        if not isinstance(label_key, (int, str)):
            raise TypeError(f"label_key must be int or str, but is {type(label_key)}")
        super().__init__()
        self.lossfun = lossfun
        self.accfun = accfun
        self.y = None
        self.loss = None
        self.accuracy = None
        self.label_key = label_key
        with self.init_scope():
            self.predictor = predictor

    def forward(self, *args, **kwargs):
        """The loss of the prediction; prediction, loss and accuracy stay in `y`, `loss` and `accuracy`."""
        key = self.label_key
        if isinstance(key, int):
            if not -len(args) <= key < len(args):
                raise ValueError(f"Label key {key} is out of bounds")
            args = list(args)
            t = args.pop(key)
        else:
            if key not in kwargs:
                raise ValueError(f'Label key "{key}" is not found')
            t = kwargs.pop(key)
        self.y = self.loss = self.accuracy = None
        self.y = self.predictor(*args, **kwargs)
        self.loss = self.lossfun(self.y, t)
        reporter.report({"loss": self.loss}, self)
        if self.compute_accuracy:
            self.accuracy = self.accfun(self.y, t)
            reporter.report({"accuracy": self.accuracy}, self)
        return self.loss
