"""Functions of older nnabla versions, which have moved to other modules."""
