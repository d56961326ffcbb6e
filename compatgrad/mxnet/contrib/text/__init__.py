"""Text: vocabularies, which number tokens, and embeddings, which give them vectors."""

from . import embedding as embedding
from . import utils as utils
from . import vocab as vocab
