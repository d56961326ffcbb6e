"""`mx.kvstore.base`: MXNet's module of KVStoreBase, whose names are defined in `mx.kvstore` here."""

from . import KVStoreBase as KVStoreBase
from . import create as create
