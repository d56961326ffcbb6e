"""The samples of all families."""

from compatgrad import _C
from tests.ops import (
    samples,
    samples_arrays,
    samples_attention,
    samples_cells,
    samples_deform,
    samples_detection,
    samples_elementwise,
    samples_geometry,
    samples_layers,
    samples_linalg,
    samples_loss,
    samples_networks,
    samples_normalization,
    samples_recurrent,
    samples_regions,
)

FAMILIES = (
    samples,
    samples_networks,
    samples_cells,
    samples_arrays,
    samples_attention,
    samples_elementwise,
    samples_layers,
    samples_normalization,
    samples_geometry,
    samples_linalg,
    samples_loss,
    samples_recurrent,
    samples_regions,
    samples_deform,
    samples_detection,
)
SAMPLES = [s for family in FAMILIES for s in family.SAMPLES]


def writes_inputs(sample):
    """Whether the op updates some of its inputs in place: running statistics, quantized weights."""
    updates = any(name == "update" for name, *_ in _C.op_info(sample.op)["params"])
    return sample.op in samples_layers.WRITES or updates and sample.params.get("update", True)
