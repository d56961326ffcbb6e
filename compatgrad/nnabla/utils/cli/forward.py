"""``infer`` and ``forward``: run a network of a file on data from files."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from compatgrad.core.files import replacing

from ...logger import logger
from .. import callback
from .. import load as loading
from ..data_iterator import data_iterator_cache, data_iterator_csv_dataset
from ..data_source_loader import FileReader
from ..image_utils import imsave
from ..progress import configure_progress, progress
from ._steps import adds, assign, command
from .utility import compute_full_path, is_float

__all__ = ["add_forward_command", "add_infer_command", "infer"]


def _evaluated(executor: Any) -> list[np.ndarray]:
    """The outputs of an executor, combined over its evaluations: their mean, the last one, or their standard
    deviation."""
    sums: list[Any] = []
    squares: list[Any] = []
    for i in range(executor.num_evaluations):
        executor.forward_target.forward(clear_buffer=True)
        if executor.need_back_propagation:
            executor.backward_target.backward(clear_buffer=True)
        values = [np.array(v.variable_instance.d) for v in executor.output_assign]
        if i == 0 or executor.repeat_evaluation_type == "last":
            sums, squares = values, [v**2 for v in values]
        else:
            sums = [a + b for a, b in zip(sums, values, strict=True)]
            squares = [a + b**2 for a, b in zip(squares, values, strict=True)]
    count = executor.num_evaluations
    if executor.repeat_evaluation_type == "last":
        return sums
    if executor.repeat_evaluation_type == "std":
        return [np.nan_to_num(np.sqrt(q / count - (s / count) ** 2)) for q, s in zip(squares, sums, strict=True)]
    return [s / count for s in sums]


class _Results:
    """Collects the outputs for each example, as numbers or as names of files, which it writes below `outdir`: matrices
    to .csv files, images to .png files (with other numbers of channels than 1 or 3, each channel to its own file).
    """

    def __init__(self, outdir: str, result_outdir: str, as_files: bool) -> None:
        self.outdir, self.result_outdir, self.as_files = outdir, result_outdir, as_files
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.dims: list[int] = []

    def _note(self, kind: str, name: str, example: np.ndarray) -> None:
        vtype, dim = kind, 0
        if not kind:
            if example.ndim == 2:
                vtype, dim = ".csv", 1
            elif example.ndim == 3:
                vtype, dim = ".png", 1 if example.shape[0] in (1, 3) else example.shape[0]
            else:
                vtype, dim = "col", int(example.size)
        self.names.append(name)
        self.kinds.append(vtype)
        self.dims.append(dim)

    def rows(self, index: int, executors: Sequence[Any], values: Sequence[Sequence[np.ndarray]]) -> list[list[Any]]:
        """Yields the row of results for each example of a batch, whose first example has the number `index`."""
        rows: list[list[Any]] = []
        at = 0
        for executor, arrays in zip(executors, values, strict=True):
            for (kind, name), array in zip(executor.output_assign.values(), arrays, strict=True):
                for i, example in enumerate(array):
                    example = np.asarray(example)
                    if len(self.dims) <= at:
                        self._note(kind, name, example)
                    if len(rows) <= i:
                        rows.append([])
                    if self.kinds[at] == "col" or not self.as_files:
                        rows[i] += list(example.ravel())
                    else:
                        rows[i] += [self._write(at, k, index + i, example) for k in range(self.dims[at])]
                at += 1
        return rows

    def _write(self, output: int, k: int, index: int, example: np.ndarray) -> str:
        part = f"{k}_" if self.dims[output] > 1 else ""
        name = os.path.join(f"{output}_{index // 1000:04d}", f"{part}{index}{self.kinds[output]}")
        path = os.path.join(self.outdir, self.result_outdir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if self.kinds[output] in (".bmp", ".jpeg", ".jpg", ".png", ".gif", ".tif"):
            image = example.reshape(example.shape[-3:]).astype(np.float32) * 255
            if image.shape[0] == 3:
                image = image.transpose(1, 2, 0)
            else:
                image = image[k if image.shape[0] > 1 else 0]
            imsave(path, image.clip(0, 255).astype(np.uint8))
        else:
            with replacing(path, "w") as file:
                csv.writer(file, lineterminator="\n").writerows(example)
        return os.path.join(".", self.result_outdir, name)


def _run(executors: Sequence[Any], data: Any) -> list[list[np.ndarray]]:
    values = []
    for executor in executors:
        assign(executor.dataset_assign, executor.generator_assign, data, f"executor {executor.proto.name!r}")
        values.append(_evaluated(executor))
    return values


def infer(info: Any, input_data: Sequence[np.ndarray]) -> tuple[Any, list[list[Any]]]:
    """Runs the networks of a file on arrays.

    Args:
        info: the result of `nnabla.utils.load.load`.
        input_data: an array for each input of the executors, in order.

    Returns:
        An object with the `names`, `types` and `dims` of the outputs, and for each example the numbers of all outputs.

    Raises:
        ValueError: the number of arrays, or of elements of an array, is wrong.

    Example:
        >>> from compatgrad.nnabla.utils.cli.forward import infer
        >>> from compatgrad.nnabla.utils.load import load
        >>> from compatgrad.nnabla.utils.save import save
        >>> x = nn.Variable((2, 3))
        >>> network = {"name": "net", "batch_size": 2, "names": {"x": x}, "outputs": {"y": F.sum(x, axis=1)}}
        >>> executor = {"name": "run", "network": "net", "data": ["x"], "output": ["y"]}
        >>> save("net.nnp", {"networks": [network], "executors": [executor]})
        >>> found, rows = infer(load(["net.nnp"], prepare_data_iterator=False), [np.arange(6.0)])
        >>> found.names, [[float(n) for n in row] for row in rows]
        (['y'], [[3.0], [12.0]])

    Source: `nnabla.utils.cli.forward.infer` of nnabla 1.39.0.
    """
    executors = list(info.executors.values())
    wanted = [(v, name) for e in executors for v, name in e.dataset_assign.items()]
    if len(wanted) != len(input_data):
        names = ", ".join(name for _, name in wanted)
        raise ValueError(f"infer: got {len(input_data)} inputs; the network has {len(wanted)}: {names}")
    data = {}
    for (v, name), x in zip(wanted, input_data, strict=True):
        shape = v.variable_instance.shape
        if np.size(x) != np.prod(shape):
            expected = f"{np.prod(shape)} numbers, of shape {shape}"
            raise ValueError(f"infer: input {name!r}: expected {expected}, got {np.size(x)}")
        data[name] = np.asarray(x).reshape(shape)
    results = _Results("", "", False)
    rows = results.rows(0, executors, _run(executors, data))
    return SimpleNamespace(names=results.names, types=results.kinds, dims=results.dims), rows


def _load(args: Any) -> Any:
    files = [args.config] + ([args.param] if args.param else [])
    return loading.load(files, prepare_data_iterator=False, batch_size=args.batch_size if args.batch_size > 0 else None)


@command
def infer_command(args: Any) -> bool:
    """Runs a network on binary files, and writes the outputs of each example to binary files of float32.

    Returns:
        Whether it succeeded; False, with a message, where the type of the data is unknown.

    Example:
        nnabla_cli infer -c net.nnp -o result -b 1 x.bin
    """
    types = {"uint8": np.uint8, "int32": np.int32, "float32": np.float32}
    if args.data_type not in types:
        logger.critical('Type is one of ("uint8", "int32" or "float32").')
        return False
    inputs = []
    for name in args.inputs:
        kind = args.data_type
        if kind == "float32":  # the name of a file may contain another type
            kind = next((k for k in ("int32", "uint8") if k in name), kind)
        inputs.append(np.fromfile(name, types[kind]))
    _, rows = infer(_load(args), inputs)
    for i, row in enumerate(rows):
        if args.output is not None:
            np.array(row, np.float32).tofile(f"{args.output}_{i}.bin")
    return True


def _csv_rows(path: str) -> list[list[str]]:
    with FileReader(path).open(textmode=True, encoding="utf-8-sig") as file:
        return [row for row in csv.reader(file) if row]


def _read_dataset(args: Any) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a data set, in the order of its iterator."""
    if args.dataset.endswith(".csv"):
        header, *rows = _csv_rows(args.dataset)
        root = os.path.abspath(os.path.dirname(args.dataset)) if args.replace_path else "."
        return header, [
            [x if header[i][0] == "#" or is_float(x) else compute_full_path(root, x) for i, x in enumerate(row)]
            for row in rows
        ]
    header, *rows = _csv_rows(os.path.join(args.dataset, "original.csv"))
    order = os.path.join(args.dataset, "order.csv")
    if os.path.exists(order):
        places = {int(row[0]): int(row[1]) for row in _csv_rows(order)}
        rows = [rows[places[i]] for i in range(len(rows))]
    return header, rows


@command
def forward_command(args: Any) -> bool:
    """Runs a network on a data set, and writes the data set as a .csv file with the outputs in additional columns.

    Example:
        nnabla_cli forward -c net.nnp -d data.csv -o results
    """
    kind = os.path.splitext(args.dataset)[1]
    if kind not in (".csv", ".cache"):
        raise ValueError(f"forward: the data set {args.dataset!r} is neither .csv nor .cache")
    os.makedirs(args.outdir, exist_ok=True)
    callback.update_status(args)
    configure_progress(os.path.join(args.outdir, "progress.txt"))
    info = _load(args)
    executors = list(info.executors.values())
    normalize = all(not e.no_image_normalization for e in executors)
    for dataset in info.datasets.values():
        if args.dataset in (dataset.uri, dataset.cache_dir):
            normalize = normalize and dataset.normalize
    header, rows = _read_dataset(args)
    batch = args.batch_size if args.batch_size > 0 else executors[0].network.batch_size
    options: dict[str, Any] = {"uri": args.dataset, "batch_size": batch, "shuffle": False, "normalize": normalize}
    if kind == ".csv":
        iterator = data_iterator_csv_dataset(**options, with_memory_cache=False, with_file_cache=False)
    else:
        iterator = data_iterator_cache(**options)
    results = _Results(args.outdir, args.result_outdir, True)
    callback.update_status(("data.max", len(rows)))
    callback.update_status(("data.current", 0))
    callback.update_status("processing", True)
    with replacing(os.path.join(args.outdir, args.outfile), "w", encoding="utf-8") as file, iterator as data:
        writer = csv.writer(file, lineterminator="\n")
        index = 0
        while index < data.size:
            batch_data = dict(zip(data.variables, data.next(), strict=True))
            found = results.rows(index, executors, _run(executors, batch_data))
            if index == 0:
                writer.writerow(header + _columns(results, executors[-1]))
            for row, outputs in zip(rows[index:], found, strict=False):
                writer.writerow([*row, *map(str, outputs)])
            index += len(found)
            callback.update_status(("data.current", min(index, len(rows))))
            callback.update_forward_time()
            callback.update_status()
            logger.log(99, f"data {min(index, len(rows))} / {len(rows)}")
    callback.process_evaluation_result(args.outdir, os.path.join(args.outdir, args.outfile))
    logger.log(99, "Forward Completed.")
    progress(None)
    columns = header + _columns(results, executors[-1])
    callback.update_status(("output_result.csv_header", ",".join(columns)))
    callback.update_status(("output_result.column_num", len(columns)))
    callback.update_status(("output_result.data_num", len(rows)))
    callback.update_status("finished")
    return True


def _columns(results: _Results, last: Any) -> list[str]:
    names = []
    for name, dim in zip(results.names, results.dims, strict=True):
        if dim == 1:
            names.append("Uncertainty(Std)" if last.repeat_evaluation_type == "std" else name)
        else:
            names += [f"{name}__{d}" for d in range(dim)]
    return names


@adds("infer -c net.nnp -o result x.bin", "infer_command", inputs=["x.bin"])
def add_infer_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("infer", help="run a network on binary files")
    parser.add_argument("-c", "--config", required=True, help=".nnp or .nntxt file")
    parser.add_argument("-o", "--output", help="prefix of the names of the files to write, one for each output")
    parser.add_argument("-p", "--param", help="file of parameters")
    parser.add_argument("-t", "--data_type", default="float32", help="uint8, int32 or float32")
    parser.add_argument(
        "-b", "--batch_size", type=int, default=1, help="samples per batch (1); -1 takes the number from the .nnp file"
    )
    parser.add_argument("inputs", nargs="+")
    parser.set_defaults(func=infer_command)


@adds("forward -c net.nnp -d data.csv -o out", "forward_command", outfile="output_result.csv")
def add_forward_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("forward", help="run a network on a data set")
    parser.add_argument("-c", "--config", required=True, help=".nnp or .nntxt file")
    parser.add_argument("-p", "--param", help="file of parameters")
    parser.add_argument("-d", "--dataset", required=True, help="data set, .csv or .cache")
    parser.add_argument("-o", "--outdir", required=True, help="folder for the results")
    parser.add_argument("-f", "--outfile", default="output_result.csv", help="name of the file of results")
    parser.add_argument("--replace_path", action="store_true", help="write absolute paths of the files in the data set")
    parser.add_argument(
        "--result_outdir", default="", help="folder below OUTDIR for outputs that are written as files, such as images"
    )
    parser.add_argument(
        "-b",
        "--batch_size",
        type=int,
        default=-1,
        help="samples per batch; -1, the default, takes the number from the .nnp file",
    )
    parser.set_defaults(func=forward_command)
