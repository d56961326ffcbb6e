"""`mx.kvstore.kvstore`: the store under the name of the file that has it in MXNet."""

from . import KVStore as KVStore
from . import create as create
