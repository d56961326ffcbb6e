"""A dataset of nothing, of the length of another."""


def create_empty_dataset(dataset):
    """As many empty tuples as `dataset` has examples: for the processes of a network that read none."""
    return [()] * len(dataset)
