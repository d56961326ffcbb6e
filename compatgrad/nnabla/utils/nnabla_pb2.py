"""The message classes of nnabla's files: NNablaProtoBuf, the contents of a whole file, and the classes of its
fields."""

from __future__ import annotations

from typing import Any

from compatgrad.formats.protobuf import DecodeError, Message, define, joined

from ._function_messages import ARGUMENTS

__all__ = ["DecodeError", "Message", "function_field"]

_SCHEMA = """
Shape: dim:int64*=1
Communicator:
Context: backends:string*=1 array_class:string=2 device_id:string=3 backend:string=4
 compute_backend:string=5
NNablaProtoBuf: version:string=1 global_config:GlobalConfig=2 training_config:TrainingConfig=10
 network:Network*=100 parameter:Parameter*=200 dataset:Dataset*=300 optimizer:Optimizer*=400
 monitor:Monitor*=500 executor:Executor*=600
GlobalConfig: default_context:Context=1
TrainingConfig: max_epoch:int64=1 iter_per_epoch:int64=2 save_best:bool=100 monitor_interval:int64=200
Network: name:string=1 batch_size:int64=10 repeat_info:RepeatInfo*=11 variable:Variable*=100
 function:Function*=200
RepeatInfo: id:string=1 times:int64=2
RepeatParameter: repeat_id:string=1 times:int64=2
RecurrentParameter: repeat_id:string=1 length:int64=2 axis:int64=3
Variable: name:string=1 type:string=2 repeat_id:string*=3 shape:Shape=20 initializer:Initializer=100
Initializer: type:string=2 multiplier:float=10
Parameter: variable_name:string=1 shape:Shape=20 data:float*=100 need_grad:bool=101
Dataset: name:string=1 type:string=2 uri:string=10 batch_size:int64=20 cache_dir:string=30
 overwrite_cache:bool=31 create_cache_explicitly:bool=32 shuffle:bool=100 no_image_normalization:bool=101
 variable:string*=200
Optimizer: name:string=1 order:int64=3 network_name:string=10 dataset_name:string*=20 solver:Solver=30
 update_interval:int64=40 data_variable:DataVariable*=50 generator_variable:GeneratorVariable*=60
 loss_variable:LossVariable*=70 parameter_variable:ParameterVariable*=80 start_iter:int64=100
 end_iter:int64=101
SolverStateParameter: shape:Shape=20 data:float*=100
SolverState: t:uint32=1 state_parameter:SolverStateParameter%=2
Solver: type:string=2 context:Context=10 weight_decay:float=20 states:SolverState%=40
 sgd_param:SgdParameter=100@parameter sgdw_param:SgdWParameter=101@parameter
 momentum_param:MomentumParameter=102@parameter lars_param:LarsParameter=103@parameter
 nesterov_param:NesterovParameter=104@parameter adadelta_param:AdadeltaParameter=105@parameter
 adagrad_param:AdagradParameter=106@parameter adabelief_param:AdaBeliefParameter=107@parameter
 rmsprop_param:RMSpropParameter=108@parameter rmsprop_graves_param:RMSpropGravesParameter=109@parameter
 adam_param:AdamParameter=110@parameter adamw_param:AdamWParameter=111@parameter
 adabound_param:AdaBoundParameter=112@parameter adamax_param:AdamaxParameter=113@parameter
 amsgrad_param:AMSGRADParameter=114@parameter amsbound_param:AMSBoundParameter=115@parameter
 lamb_param:LambParameter=116@parameter lion_param:LionParameter=117@parameter lr_scheduler_type:string=200
 polynomial_scheduler_param:PolynomialSchedulerParameter=210
 cosine_scheduler_param:CosineSchedulerParameter=211
 exponential_scheduler_param:ExponentialSchedulerParameter=212
 step_scheduler_param:StepSchedulerParameter=213 custom_scheduler_param:CustomSchedulerParameter=299
 lr_warmup_scheduler_type:string=300 linear_warmup_scheduler_param:LinearWarmupSchedulerParameter=310
 lr_decay:float=30 lr_decay_interval:int64=31
SgdParameter: lr:float=1
SgdWParameter: lr:float=1 momentum:float=2 wd:float=3
MomentumParameter: lr:float=1 momentum:float=2
LarsParameter: lr:float=1 momentum:float=2 coefficient:float=3 eps:float=4
NesterovParameter: lr:float=1 momentum:float=2
AdadeltaParameter: lr:float=1 decay:float=2 eps:float=3
AdagradParameter: lr:float=1 eps:float=2
AdaBeliefParameter: alpha:float=1 beta1:float=2 beta2:float=3 eps:float=4 wd:float=5 amsgrad:bool=6
 weight_decouple:bool=7 fixed_decay:bool=8 rectify:bool=9
RMSpropParameter: lr:float=1 decay:float=2 eps:float=3
RMSpropGravesParameter: lr:float=1 decay:float=2 momentum:float=3 eps:float=4
AdamParameter: alpha:float=1 beta1:float=2 beta2:float=3 eps:float=4
AdamWParameter: alpha:float=1 beta1:float=2 beta2:float=3 eps:float=4 wd:float=5
AdaBoundParameter: alpha:float=1 beta1:float=2 beta2:float=3 eps:float=4 final_lr:float=5 gamma:float=6
AdamaxParameter: alpha:float=1 beta1:float=2 beta2:float=3 eps:float=4
AMSGRADParameter: alpha:float=1 beta1:float=2 beta2:float=3 eps:float=4 bias_correction:bool=5
AMSBoundParameter: alpha:float=1 beta1:float=2 beta2:float=3 eps:float=4 final_lr:float=5 gamma:float=6
 bias_correction:bool=7
LambParameter: eta:float=1 beta1:float=2 beta2:float=3 gamma_l:float=4 gamma_u:float=5 eps:float=6
 bias_correction:bool=7
LionParameter: lr:float=1 beta1:float=2 beta2:float=3
PolynomialSchedulerParameter: max_iter:float=1 power:float=2
CosineSchedulerParameter: max_iter:float=1
ExponentialSchedulerParameter: gamma:float=1 iter_interval:int64=2
StepSchedulerParameter: gamma:float=1 iter_steps:int64*=2
CustomSchedulerParameter: max_iter:float=1 network_name:string=10 data_variable:DataVariable*=50
 output_variable:OutputVariable*=80
LinearWarmupSchedulerParameter: warmup_iter:int64=1
DataVariable: variable_name:string=1 data_name:string=3
GeneratorVariable: variable_name:string=1 type:string=2 multiplier:float=3
LossVariable: variable_name:string=1
ParameterVariable: variable_name:string=1 learning_rate_multiplier:float=2
Monitor: name:string=1 network_name:string=10 dataset_name:string*=20 data_variable:DataVariable*=50
 generator_variable:GeneratorVariable*=60 monitor_variable:MonitorVariable*=70
MonitorVariable: variable_name:string=1 type:string=2 data_name:string=3 multiplier:float=100
Executor: name:string=1 network_name:string=10 num_evaluations:int64=20 repeat_evaluation_type:string=21
 need_back_propagation:bool=30 data_variable:DataVariable*=50 generator_variable:GeneratorVariable*=60
 loss_variable:LossVariable*=70 output_variable:OutputVariable*=80 parameter_variable:ParameterVariable*=90
 no_image_normalization:bool=101
OutputVariable: variable_name:string=1 type:string=2 data_name:string=3
Function: name:string=1 type:string=2 repeat_id:string*=3 context:Context=10 input:string*=20
 output:string*=30 repeat_param:RepeatParameter=100 recurrent_param:RecurrentParameter=101
"""

_function_fields: dict[str, str] = {}


def function_field(type_name: str) -> str | None:
    """The name of the field of Function messages that holds the arguments of a function type.

    Args:
        type_name: the function type, such as "Affine".

    Returns:
        The field's name, or None for an unknown type.

    Raises:
        TypeError: `type_name` is not hashable.

    Example:
        >>> from compatgrad.nnabla.utils.nnabla_pb2 import function_field
        >>> function_field("Affine")
        'affine_param'

    Source: compatgrad's own.
    """
    return _function_fields.get(type_name)


def _schema() -> str:
    """The schema with a message type for the arguments of each function type, and a field of Function for each."""
    lines, fields = [], []
    for line in joined(ARGUMENTS.strip().splitlines()):
        type_name, name, number, *arguments = line.split()
        numbered = " ".join(f"{argument}={i}" for i, argument in enumerate(arguments, 1))
        lines.append(f"{type_name}Parameter: {numbered}")
        fields.append(f"{name}_param:{type_name}Parameter={number}@parameter")
        _function_fields[type_name] = f"{name}_param"
    base = _SCHEMA.strip().splitlines()
    at = next(i for i, line in enumerate(base) if line.startswith("Function:")) + 1
    return "\n".join(base[:at] + [" " + " ".join(fields)] + base[at:] + lines)


_classes = define(_schema(), __name__, source="`nnabla.utils.nnabla_pb2.{name}` of nnabla 1.39.0.")
globals().update(_classes)
__all__ += list(_classes)


def __getattr__(name: str) -> Any:
    if name == "DESCRIPTOR":  # the descriptor of Google's protobuf package, if that is installed
        return _classes["NNablaProtoBuf"].DESCRIPTOR.file
    from compatgrad.names.absent import no_attribute

    raise no_attribute(__name__, name)
