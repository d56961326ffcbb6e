"""What the reader of `.params` files adds to the tests of MXNet's files."""

import torch

from compatgrad.formats import params


def test_sparse_arrays_become_dense(tmp_path):
    indptr, columns = torch.tensor([0, 2, 2, 3]), torch.tensor([0, 2, 1])
    arrays = [
        params.Stored((3, 3), torch.tensor([1.0, 2, 3]), "csr", [indptr, columns]),
        params.Stored((3, 2), torch.tensor([[1.0, 2]]), "row_sparse", [torch.tensor([2])]),
        params.Stored((2,), torch.tensor([1, 2])),
    ]
    path = str(tmp_path / "a.params")
    params.write(path, arrays, ["csr", "rows", "dense"])
    found, names = params.read(path)
    assert names == ["csr", "rows", "dense"]
    assert [params.dense(a).tolist() for a in found] == [
        [[1, 0, 2], [0, 0, 0], [0, 3, 0]],
        [[0, 0], [0, 0], [1, 2]],
        [1, 2],
    ]


def test_a_csr_array_with_room_for_more_values(tmp_path):
    """The last values and columns belong to no row; IndexError."""
    indptr, columns = torch.tensor([0, 1]), torch.tensor([1, 0])
    path = str(tmp_path / "a.params")
    params.write(path, [params.Stored((1, 2), torch.tensor([5.0, 7]), "csr", [indptr, columns])], [])
    assert params.dense(params.read(path)[0][0]).tolist() == [[0, 5]]
