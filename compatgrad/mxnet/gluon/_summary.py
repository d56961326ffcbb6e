"""The table that `Block.summary` prints."""

from ..ndarray import NDArray
from .utils import HookHandle


def print_summary(root, inputs):
    """Runs `root` on `inputs` and prints a row per block: its class, output shape and number of parameters.

    AssertionError if a block is hybridized.
    """
    rows = [("Input", _shapes(inputs), 0)]
    counts = {"total": 0, "trainable": 0, "shared": 0}
    seen = set()
    handles: list[HookHandle] = []

    def add_row(block, _, outputs):
        number = 0
        for param in block.params.values():
            size = param.data().size
            number += size
            counts["trainable"] += size if param.grad_req != "null" else 0
            counts["shared"] += size if param in seen else 0
            seen.add(param)
        counts["total"] += number
        rows.append((f"{type(block).__name__}-{len(rows)}", _shapes(outputs), number))

    def watch(block):
        assert not getattr(block, "_active", False), f'"{block.name}" must not be hybridized to print summary.'
        if block._has_a_row:
            handles.append(block.register_forward_hook(add_row))

    try:
        root.apply(watch)
        root(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    thin, thick = "-" * 80, "=" * 80
    print(thin)
    for row in (("Layer (type)", "Output Shape", "Param #"), *rows):
        print("{:>20}  {:>42} {:>15}".format(*row))
        if row[2] == "Param #":
            print(thick)
    print(thick)
    print("Parameters in forward computation graph, duplicate included")
    print(f"   Total params: {counts['total']}")
    print(f"   Trainable params: {counts['trainable']}")
    print(f"   Non-trainable params: {counts['total'] - counts['trainable']}")
    print(f"Shared params in forward computation graph: {counts['shared']}")
    print(f"Unique parameters in model: {counts['total'] - counts['shared']}")
    print(thin)


def _shapes(values):
    """Shapes of (nested) arrays as text: a tuple, or several with commas between."""

    def shape(value):
        if isinstance(value, (list, tuple)):
            return [shape(v) for v in value]
        return value.shape if isinstance(value, NDArray) else value

    shapes = shape(values)
    return str(shapes)[1:-1] if isinstance(shapes, list) else str(shapes)
