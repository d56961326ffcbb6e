"""Batches of images, whose arrays are large: they are written into memory of earlier batches."""

import numpy as np
import pytest

from compatgrad.core.kept_memory import empty
from compatgrad.nnabla.logger import logger
from compatgrad.nnabla.utils.data_iterator import data_iterator_cache, data_iterator_csv_dataset, data_iterator_simple
from compatgrad.nnabla.utils.data_source_loader import load_image
from compatgrad.nnabla.utils.image_utils import imsave

SIDE = 128
RANDOM = np.random.RandomState(0)


@pytest.fixture(autouse=True)
def quiet():
    level = logger.level
    logger.setLevel("ERROR")
    yield
    logger.setLevel(level)


def batches_of(examples, size, count):
    with data_iterator_simple(lambda i: examples[i], len(examples), size) as batches:
        return [batches.next() for _ in range(count)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64", "bool", "float16"])
def test_batches_are_the_stacked_examples(dtype):
    examples = [((RANDOM.rand(3, 200, 210) * 9).astype(dtype), np.array([i])) for i in range(6)]
    examples[2] = (np.asfortranarray(examples[2][0]), examples[2][1])
    for i, (x, number) in enumerate(batches_of(examples, 3, 4)):
        at = [(3 * i + k) % 6 for k in range(3)]
        np.testing.assert_array_equal(x, np.array([examples[k][0] for k in at]), strict=True)
        assert x.flags.c_contiguous and x.flags.writeable and number.ravel().tolist() == at


def test_batches_that_the_program_keeps_stay_as_they_are():
    examples = [(np.full((3, SIDE, SIDE), i, np.float32),) for i in range(8)]
    kept = batches_of(examples, 4, 20)
    for i, (x,) in enumerate(kept):
        assert x[:, 0, 0, 0].tolist() == [4 * (i % 2) + k for k in range(4)]
        x += 1  # no other batch has this memory
    assert all(x.min() == x[0, 0, 0, 0] for (x,) in kept)


def test_dtypes_that_differ_are_promoted():
    examples = [(np.zeros((300, 300), dtype),) for dtype in ("float32", "float64", "float32", "float32")]
    (mixed,), (same,) = batches_of(examples, 2, 2)
    assert mixed.dtype == np.float64 and same.dtype == np.float32


def test_shapes_that_differ_are_refused():
    with pytest.raises(ValueError):
        batches_of([(np.zeros((300, 300)),), (np.zeros((300, 301)),)], 2, 1)


@pytest.mark.parametrize("side", [8, SIDE])
def test_images_of_tables_and_caches(tmp_path, side):
    pictures = RANDOM.randint(0, 256, (4, side, side, 3)).astype(np.uint8)
    for i, picture in enumerate(pictures):
        imsave(str(tmp_path / f"{i}.png"), picture)
    (tmp_path / "table.csv").write_text("x,y\n" + "".join(f"{i}.png,{i}\n" for i in range(4)))
    expected = pictures.transpose(0, 3, 1, 2)
    table, cache = str(tmp_path / "table.csv"), str(tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    for normalize in (True, False):
        with data_iterator_csv_dataset(table, 4, normalize=normalize, cache_dir=cache) as batches:
            x, y = batches.next()
        values = expected * (1.0 / 255.0) if normalize else expected
        np.testing.assert_array_equal(x, values, strict=True)
        assert y.ravel().tolist() == [0, 1, 2, 3]
    with data_iterator_cache(cache, 4) as batches:  # of bytes, which become floats
        x, _ = batches.next()
    np.testing.assert_array_equal(x, expected.astype(np.float32) * (1.0 / 255.0), strict=True)
    image = load_image(str(tmp_path / "1.png"), normalize=True)
    np.testing.assert_array_equal(image, expected[1] * (1.0 / 255.0), strict=True)


def test_numbers_of_bytes_in_a_cache(tmp_path):
    """Examples without an axis."""
    np.save(tmp_path / "cache_00000000_00000003.npy", np.array([0, 51, 255, 5], np.uint8))
    (tmp_path / "cache_index.csv").write_text("cache_00000000_00000003.npy,4\n")
    (tmp_path / "cache_info.csv").write_text("x\n")
    with data_iterator_cache(str(tmp_path), 4) as batches:
        np.testing.assert_array_equal(batches.next()[0], np.float32([0, 51, 255, 5]) * (1.0 / 255.0), strict=True)


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (300, 500), (1 << 18,)])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "bool"])
def test_arrays_without_values(shape, dtype):
    x = empty(shape, dtype)
    assert x.shape == shape and x.dtype == dtype and x.flags.c_contiguous and x.flags.writeable and x.flags.aligned
    x[...] = 1
    assert (x == 1).all()
