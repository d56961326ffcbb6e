from compatgrad.chainer import link


class TheanoFunction(link.Link):
    """A Theano function as a link. Not available: RuntimeError without Theano, NotImplementedError with
    it."""

    def __init__(self, inputs, outputs):
        try:
            import theano  # noqa: F401
        except ImportError as e:
            raise RuntimeError(
                "theano is not installed on your environment. Install theano to activate theano function."
            ) from e
        raise NotImplementedError("chainer.links.TheanoFunction is not available in compatgrad.")
