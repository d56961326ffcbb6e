"""`mx.kvstore.kvstore`: MXNet's module of KVStore, whose names are defined in `mx.kvstore` here."""

from . import KVStore as KVStore
from . import create as create
