"""Words as numbers and as vectors."""

from . import embedding as embedding
from . import utils as utils
from . import vocab as vocab
