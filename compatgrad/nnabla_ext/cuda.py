"""The GPU extension. Without a GPU its contexts mean the CPU."""

import torch

from compatgrad.nnabla._init import preferred
from compatgrad.nnabla.context import Context


def make_context(libraries, device_id, type_config):
    """The context of `libraries`, best first, at a precision: "float", "half" or "mixed_half"."""
    if type_config not in ("float", "half", "mixed_half"):
        raise ValueError(f"{libraries[0]}.context: type_config must be float, half or mixed_half, got {type_config!r}")
    kinds = ("float",) if type_config == "float" else (type_config, "float")
    backends = [f"{library}:{kind}" for library in libraries for kind in kinds]
    return Context([*backends, "cpu:float"], array_classes()[0], str(device_id))


def context(device_id="0", type_config="float", **kw):
    """The GPU's Context: device_id is the GPU's number, type_config "float", "half" or "mixed_half"."""
    return make_context(["cuda"], device_id, type_config)


def array_classes():
    """Names of array classes, kept for programs that read them."""
    return preferred("CudaCachedArray", ["CudaArray"])


def clear_memory_cache():
    """Gives the GPU memory that is not in use back."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def get_device_count():
    """The number of GPUs."""
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def get_devices():
    """The ids of the GPUs, a list of str."""
    return [str(i) for i in range(get_device_count())]


def device_synchronize(device="0"):
    """Waits until the GPU `device` has finished."""
    if torch.cuda.is_available():
        torch.cuda.synchronize(int(device or 0))


def synchronize(device_id="0", **kw):
    """Waits until the GPU has finished."""
    device_synchronize(device_id)
