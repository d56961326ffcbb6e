"""`export_testcase` writes a network in the format of ONNX's own tests, with inputs and outputs."""

from __future__ import annotations

import os
from typing import Any

from compatgrad.core.files import replacing
from compatgrad.onnx_chainer.export import export


def export_testcase(model: Any, args: Any, out_dir: Any, output_grad: bool = False, **kwargs: Any) -> None:
    """Writes `model.onnx` to the folder `out_dir`, and inputs and outputs to `test_data_set_0` in it, each to a file.
    This needs the packages onnx and onnxscript.

    Args:
        model: the network, as for `export`.
        args: the arguments for one call, as for `export`.
        out_dir: path of the folder, which is created if it does not exist.
        output_grad: writing gradients of the parameters is not supported; must be False.
        **kwargs: other arguments of `export`.

    Raises:
        ImportError: onnx or onnxscript is not installed.
        NotImplementedError: `output_grad` is True.
        ValueError: as for `export`.

    Example:
        >>> import os
        >>> x = np.ones((1, 2), np.float32)
        >>> onnx_chainer.export_testcase(L.Linear(2, 3), x, "net")  # doctest: +SKIP
        >>> sorted(os.listdir("net")), sorted(os.listdir("net/test_data_set_0"))  # doctest: +SKIP
        (['model.onnx', 'test_data_set_0'], ['input_0.pb', 'output_0.pb'])

    Source: `onnx_chainer.export_testcase` of Chainer 7.8.1.
    """
    if output_grad:
        raise NotImplementedError("onnx_chainer.export_testcase: output_grad: gradients are not written")
    os.makedirs(out_dir, exist_ok=True)
    _, inputs, outputs = export(
        model, args, os.path.join(out_dir, "model.onnx"), return_named_inout=True, no_testcase=True, **kwargs
    )
    from onnx import numpy_helper

    folder = os.path.join(out_dir, "test_data_set_0")
    os.makedirs(folder, exist_ok=True)
    for kind, variables in (("input", inputs), ("output", outputs)):
        for i, (name, x) in enumerate(variables.items()):
            with replacing(os.path.join(folder, f"{kind}_{i}.pb")) as f:
                f.write(numpy_helper.from_array(x.array, name).SerializeToString())
