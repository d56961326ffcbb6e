"""Memory layouts of arrays: all are channel-first here. Mirrors ``chainer.memory_layouts``."""

CUDNN_CHANNEL_FIRST_X = None
CUDNN_CHANNEL_FIRST_W = None
CUDNN_CHANNEL_LAST_X = "CUDNN_CHANNEL_LAST_X"
CUDNN_CHANNEL_LAST_W = "CUDNN_CHANNEL_LAST_W"


def _check_layout(layout):
    if layout is not None:
        raise NotImplementedError(
            f"chainer.memory_layouts: layout {layout!r} is not supported, only channel-first (None) is"
        )


def get_raw_shape(arr_or_var):
    """The shape of an array or Variable as it is stored."""
    return arr_or_var.shape


def get_semantic_shape(arr_or_var, *, assumed_layout=None):
    """The shape of an array or Variable, channels first. Raises NotImplementedError for another layout."""
    _check_layout(assumed_layout)
    return arr_or_var.shape
