"""Extensions for the trainers of several processes."""

from compatgrad.chainermn.extensions._multi_node_snapshot import multi_node_snapshot  # noqa: F401
from compatgrad.chainermn.extensions.allreduce_persistent import AllreducePersistent  # noqa: F401
from compatgrad.chainermn.extensions.checkpoint import create_multi_node_checkpointer  # noqa: F401
from compatgrad.chainermn.extensions.multi_node_early_stopping_trigger import MultiNodeEarlyStoppingTrigger  # noqa: F401
from compatgrad.chainermn.extensions.multi_node_evaluator import (  # noqa: F401
    GenericMultiNodeEvaluator,
    create_multi_node_evaluator,
)
from compatgrad.chainermn.extensions.observation_aggregator import ObservationAggregator  # noqa: F401
