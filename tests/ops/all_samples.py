"""The samples of all families."""

from compatgrad import _C
from tests.ops import (
    samples,
    samples_cells,
    samples_deform,
    samples_detection,
    samples_mx_linalg,
    samples_mx_loss,
    samples_mx_nn,
    samples_networks,
    samples_nn_arrays,
    samples_nn_elementwise,
    samples_nn_layers,
    samples_nn_norm,
    samples_regions,
)

FAMILIES = (
    samples,
    samples_networks,
    samples_cells,
    samples_nn_arrays,
    samples_nn_elementwise,
    samples_nn_layers,
    samples_nn_norm,
    samples_mx_linalg,
    samples_mx_loss,
    samples_mx_nn,
    samples_regions,
    samples_deform,
    samples_detection,
)
SAMPLES = [s for family in FAMILIES for s in family.SAMPLES]


def writes_inputs(sample):
    """Whether the op updates some of its inputs in place: running statistics, quantised weights."""
    updates = any(name == "update" for name, *_ in _C.op_info(sample.op)["params"])
    return sample.op in samples_nn_layers.WRITES or updates and sample.params.get("update", True)
