"""What the hooks that replace a link's weight during its forward have in common."""

from compatgrad.chainer.link_hook import LinkHook


class WeightHook(LinkHook):
    """Puts `_replacement` of the weight in its place while the link runs.

    Outside, the attribute is always the parameter itself: that is what optimizers and serializers see. It
    belongs to one link and is no context manager (NotImplementedError).
    """

    def __init__(self, weight_name, name):
        self.weight_name = weight_name
        if name is not None:
            self.name = name

    def __enter__(self):
        raise NotImplementedError(f"{self.name} is added to a link by add_hook; it is not a context manager.")

    def __exit__(self, *args):
        raise NotImplementedError(f"{self.name} is not a context manager.")

    def added(self, link):
        if not hasattr(link, self.weight_name):
            raise ValueError(f"Weight {self.weight_name!r} does not exist!")

    def _initialize_weight(self, link, x):
        """Gives the weight a shape, if it has none yet, by the link's first input `x`."""
        if getattr(link, self.weight_name).tensor is None:
            if x is None:
                raise ValueError(f"Weight {self.weight_name!r} has no shape yet, and there is no input to tell it.")
            link._initialize_params(x.shape[1])

    def _replacement(self, link):
        raise NotImplementedError

    def forward_preprocess(self, cb_args):
        link = cb_args.link
        self._initialize_weight(link, cb_args.args[0])
        replacement = self._replacement(link)
        self.original_weight = getattr(link, self.weight_name)
        setattr(link, self.weight_name, replacement)

    def forward_postprocess(self, cb_args):
        setattr(cb_args.link, self.weight_name, self.original_weight)
