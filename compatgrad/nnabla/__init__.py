"""nnabla's API on compatgrad's engine. Mirrors ``nnabla`` 1.39.0."""

# ruff: noqa: F401, I001
# The imported names are nnabla's API; modules that others import come first.

from compatgrad._importing import CollectorPause as _CollectorPause
from compatgrad.names.absent import speak as _speak

with _CollectorPause():
    _speak(__name__)

    from compatgrad.nnabla.logger import logger
    from compatgrad.nnabla import _init
    from compatgrad.nnabla._init import (
        add_available_context,
        array_classes,
        available_contexts,
        prefer_cached_array,
        reset_array_preference,
    )
    from compatgrad.nnabla._version import __author__, __build_number__, __email__, __version__
    from compatgrad.nnabla.context import Context, context_scope, get_current_context, set_default_context
    from compatgrad.nnabla._nd_array import NdArray
    from compatgrad.nnabla.variable import Variable
    from compatgrad.nnabla import _methods, _variable, function
    from compatgrad.nnabla.parameter import (
        clear_parameters,
        get_current_parameter_scope,
        get_parameters,
        load_parameters,
        no_grad,
        parameter_scope,
        save_parameters,
    )
    from compatgrad.nnabla.auto_forward import auto_forward, get_auto_forward, set_auto_forward
    from compatgrad.nnabla.recompute import get_global_recompute, recompute, recompute_fn, set_global_recompute
    from compatgrad.nnabla._computation_graph import forward_all
    from compatgrad.nnabla.grad import grad
    from compatgrad.nnabla.callback import (
        set_function_post_hook,
        set_function_pre_hook,
        unset_function_post_hook,
        unset_function_pre_hook,
    )
    from compatgrad.nnabla.solver import (
        set_solver_post_hook,
        set_solver_pre_hook,
        unset_solver_post_hook,
        unset_solver_pre_hook,
    )
    from compatgrad.nnabla.random import seed
    from compatgrad.nnabla import function_bases
    from compatgrad.nnabla.core import graph_def
    from compatgrad.nnabla.core.graph_def import ProtoVariable
    from compatgrad.nnabla.core.module import Module
    from compatgrad.nnabla.core.sequential import Sequential
    from compatgrad.nnabla import _adapter, communicator, dtypes, normalization_functions
    from compatgrad.nnabla.utils import rnn as _rnn  # nn.utils.rnn is there after `import nnabla`
