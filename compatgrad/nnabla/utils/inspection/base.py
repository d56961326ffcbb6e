"""The base class of what gives hooks."""


class FunctionHookCallbackBase:
    """A subclass defines `pre_hook` and `post_hook`, functions to be called around each function of a pass."""

    @property
    def pre_hook(self):
        """What is called before."""
        raise NotImplementedError(f"{type(self).__name__} defines no pre_hook")

    @property
    def post_hook(self):
        """What is called after."""
        raise NotImplementedError(f"{type(self).__name__} defines no post_hook")
