"""The names at the top of ``chainer``."""

import importlib

import pytest

from tests.chainer.subject import ORIGINAL, chainer

NAMES = """
AbstractSerializer Chain ChainList DebugMode Deserializer DeviceResident DictSummary Fallback Function
FunctionAdapter FunctionHook FunctionNode GradientMethod Initializer Link LinkHook Optimizer Parameter
Reporter Sequential Serializer Summary UpdateRule Variable as_array as_variable backend backends backward
chainerx computational_graph config configuration cuda dataset datasets device_resident
disable_experimental_feature_warning force_backprop_mode function function_hook function_hooks function_node
functions get_array_types get_compute_mode get_cpu_array_types get_current_reporter get_device get_dtype
get_function_hooks global_config grad graph_optimizations initializer initializers is_arrays_compatible
is_debug iterators kl_divergence link link_hook links memory_layouts mixed16 no_backprop_mode optimizer
optimizer_hooks optimizers print_runtime_info report report_scope reporter sequential serializer serializers
set_debug should_use_cudnn should_use_cudnn_tensor_core static_code static_graph training types using_config
using_device utils variable warnings Distribution cross_entropy distribution distributions register_kl
__version__
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_name(name):
    try:
        value = getattr(chainer, name)
    except NotImplementedError as e:
        assert not ORIGINAL and f"chainer.{name} " in str(e)
    else:
        assert value is not None


def test_unknown_name():
    assert not hasattr(chainer, "unheard_of")
    with pytest.raises(ImportError):
        importlib.import_module(chainer.__name__ + ".unheard_of")


def test_what_the_names_mean():
    assert chainer.__version__ == "7.8.1"
    assert repr(chainer.Fallback) == "Fallback"
    assert chainer.disable_experimental_feature_warning is False
    assert not chainer.get_function_hooks() and not chainer._get_link_hooks()
    with chainer.FunctionHook() as hook:
        assert list(chainer.get_function_hooks().values()) == [hook]
    assert not chainer.get_function_hooks()
    assert chainer.chainerx.is_available() is False
    with pytest.raises(RuntimeError, match="chainerx"):
        chainer.chainerx.ndarray()
