"""Parts of error messages."""


def _format_array_props(arrays):
    return ", ".join(["None" if x is None else f"{x.shape}:{x.dtype.name}" for x in arrays])
