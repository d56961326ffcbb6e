"""`mx.kvstore.base`: what stores offer, under the name of the file that has it in MXNet."""

from . import KVStoreBase as KVStoreBase
from . import create as create
