"""Horovod for MXNet: data parallel training, in which each process computes the gradients of its own batch and all use
their mean.

    import horovod.mxnet as hvd
    hvd.init()
    hvd.broadcast_parameters(net.collect_params())
    trainer = hvd.DistributedTrainer(net.collect_params(), "sgd", {"learning_rate": 0.01 * hvd.size()})
"""

from compatgrad.horovod.mxnet._training import DistributedOptimizer as DistributedOptimizer
from compatgrad.horovod.mxnet._training import DistributedTrainer as DistributedTrainer
from compatgrad.horovod.mxnet._training import broadcast_parameters as broadcast_parameters
from compatgrad.horovod.mxnet.compression import Compression as Compression
from compatgrad.horovod.mxnet.functions import allgather_object as allgather_object
from compatgrad.horovod.mxnet.functions import broadcast_object as broadcast_object
from compatgrad.horovod.mxnet.mpi_ops import Adasum as Adasum
from compatgrad.horovod.mxnet.mpi_ops import Average as Average
from compatgrad.horovod.mxnet.mpi_ops import Max as Max
from compatgrad.horovod.mxnet.mpi_ops import Min as Min
from compatgrad.horovod.mxnet.mpi_ops import ProcessSet as ProcessSet
from compatgrad.horovod.mxnet.mpi_ops import Product as Product
from compatgrad.horovod.mxnet.mpi_ops import Sum as Sum
from compatgrad.horovod.mxnet.mpi_ops import add_process_set as add_process_set
from compatgrad.horovod.mxnet.mpi_ops import allgather as allgather
from compatgrad.horovod.mxnet.mpi_ops import allreduce as allreduce
from compatgrad.horovod.mxnet.mpi_ops import allreduce_ as allreduce_
from compatgrad.horovod.mxnet.mpi_ops import alltoall as alltoall
from compatgrad.horovod.mxnet.mpi_ops import broadcast as broadcast
from compatgrad.horovod.mxnet.mpi_ops import broadcast_ as broadcast_
from compatgrad.horovod.mxnet.mpi_ops import ccl_built as ccl_built
from compatgrad.horovod.mxnet.mpi_ops import cross_rank as cross_rank
from compatgrad.horovod.mxnet.mpi_ops import cross_size as cross_size
from compatgrad.horovod.mxnet.mpi_ops import cuda_built as cuda_built
from compatgrad.horovod.mxnet.mpi_ops import ddl_built as ddl_built
from compatgrad.horovod.mxnet.mpi_ops import global_process_set as global_process_set
from compatgrad.horovod.mxnet.mpi_ops import gloo_built as gloo_built
from compatgrad.horovod.mxnet.mpi_ops import gloo_enabled as gloo_enabled
from compatgrad.horovod.mxnet.mpi_ops import grouped_allgather as grouped_allgather
from compatgrad.horovod.mxnet.mpi_ops import grouped_allreduce as grouped_allreduce
from compatgrad.horovod.mxnet.mpi_ops import grouped_allreduce_ as grouped_allreduce_
from compatgrad.horovod.mxnet.mpi_ops import grouped_reducescatter as grouped_reducescatter
from compatgrad.horovod.mxnet.mpi_ops import init as init
from compatgrad.horovod.mxnet.mpi_ops import is_initialized as is_initialized
from compatgrad.horovod.mxnet.mpi_ops import local_rank as local_rank
from compatgrad.horovod.mxnet.mpi_ops import local_size as local_size
from compatgrad.horovod.mxnet.mpi_ops import mpi_built as mpi_built
from compatgrad.horovod.mxnet.mpi_ops import mpi_enabled as mpi_enabled
from compatgrad.horovod.mxnet.mpi_ops import mpi_threads_supported as mpi_threads_supported
from compatgrad.horovod.mxnet.mpi_ops import nccl_built as nccl_built
from compatgrad.horovod.mxnet.mpi_ops import rank as rank
from compatgrad.horovod.mxnet.mpi_ops import reducescatter as reducescatter
from compatgrad.horovod.mxnet.mpi_ops import remove_process_set as remove_process_set
from compatgrad.horovod.mxnet.mpi_ops import rocm_built as rocm_built
from compatgrad.horovod.mxnet.mpi_ops import shutdown as shutdown
from compatgrad.horovod.mxnet.mpi_ops import size as size
from compatgrad.horovod.mxnet.mpi_ops import start_timeline as start_timeline
from compatgrad.horovod.mxnet.mpi_ops import stop_timeline as stop_timeline
