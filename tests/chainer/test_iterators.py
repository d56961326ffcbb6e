"""Iterators: order, epochs, snapshots, threads and processes."""

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer

iterators, S = chainer.iterators, chainer.serializers
ours_only = pytest.mark.skipif(ORIGINAL, reason="the original fails or hangs here")


def serial(*args, **kwargs):
    return iterators.SerialIterator(*args, **kwargs)


def threads(*args, **kwargs):
    return iterators.MultithreadIterator(*args, n_threads=2, **kwargs)


def processes(*args, **kwargs):
    return iterators.MultiprocessIterator(*args, n_processes=2, **kwargs)


every = pytest.mark.parametrize("make", [serial, threads, processes])


@every
def test_epochs(make):
    it = make([1, 2, 3, 4, 5], 2, shuffle=False)
    assert it.repeat and it.batch_size == 2 and it.previous_epoch_detail is None and it.epoch_detail == 0
    seen = []
    for _ in range(5):
        batch = it.next()
        seen.append((batch, it.epoch, it.is_new_epoch, it.current_position, it.epoch_detail))
    assert seen == [
        ([1, 2], 0, False, 2, 0.4),
        ([3, 4], 0, False, 4, 0.8),
        ([5, 1], 1, True, 1, 1.2),
        ([2, 3], 1, False, 3, 1.6),
        ([4, 5], 2, True, 0, 2.0),
    ]
    assert it.previous_epoch_detail == 1.6
    it.finalize()
    it.finalize()


@every
def test_end_and_reset(make):
    with make([1, 2, 3], 2, repeat=False, shuffle=False) as it:
        for _ in range(2):
            assert list(it) == [[1, 2], [3]]
            assert it.epoch_detail == 1 and it.is_new_epoch
            with pytest.raises(StopIteration):
                it.next()
            it.reset()
            assert it.epoch == 0 and it.previous_epoch_detail is None


@every
def test_batches_larger_than_the_dataset(make):
    with make([1, 2, 3], 7, shuffle=False) as it:
        assert it.next() == [1, 2, 3, 1, 2, 3, 1] and it.epoch == 2 and it.current_position == 1
    with make([1, 2, 3], 7, shuffle=False, repeat=False) as it:
        assert list(it) == [[1, 2, 3]]


@ours_only
@every
def test_empty_dataset(make):
    with make([], 7, shuffle=False) as it, pytest.raises(ValueError, match="positive"):
        it.next()
    with make([], 7, shuffle=False, repeat=False) as it:
        assert list(it) == [[]] and it.epoch_detail == 1


@every
def test_order_is_that_of_numpys_generator(make):
    np.random.seed(4)
    with make(list(range(5)), 5) as it:
        batch = it.next()
    np.random.seed(4)
    assert batch == np.random.permutation(5).tolist()


def test_draws_of_a_serial_iterator():
    np.random.seed(4)
    it = serial(list(range(5)), 3)
    batches = [it.next() for _ in range(4)]
    next_draw = np.random.rand()
    np.random.seed(4)
    orders = np.concatenate([np.random.permutation(5) for _ in range(3)]).tolist()
    assert sum(batches, []) == orders[:12]
    assert np.random.rand() == next_draw


@every
def test_order_sampler(make):
    def sampler(order, position):
        calls.append((list(order), position))
        return np.array([2, 0, 0])

    calls = []
    with make("abc", 2, order_sampler=sampler) as it:
        assert it.next() == ["c", "a"] and it.next() == ["a", "c"]
        assert calls[:2] == [([0, 1, 2], 0), ([2, 0, 0], 2)]
    with pytest.raises(ValueError, match="shuffle"):
        make("abc", 2, shuffle=True, order_sampler=sampler)
    with pytest.raises(NotImplementedError):
        iterators.OrderSampler()(None, 0)


@every
def test_order_sampler_that_changes_the_length(make):
    sizes = iter([3, 2, 1, 1, 1, 1])
    with make("abc", 3, order_sampler=lambda order, position: np.arange(next(sizes))) as it:
        with pytest.raises(ValueError, match="size of order"):
            it.next()


@every
@pytest.mark.parametrize("options", [{}, {"shuffle": False}])
@pytest.mark.parametrize("load", [serial, threads, processes])
def test_snapshots(make, load, options):
    if ORIGINAL and (make is not load or (make is processes and options)):
        pytest.skip("the original cannot")
    with make(list(range(10)), 3, **options) as it, load(list(range(10)), 3, **options) as other:
        for _ in range(4):
            it.next()
        target = {}
        it.serialize(S.DictionarySerializer(target))
        other.serialize(S.NpzDeserializer(target))
        assert (other.epoch, other.current_position, other.is_new_epoch) == (1, 2, True)
        assert other.previous_epoch_detail == it.previous_epoch_detail == 0.9
        for _ in range(2):
            assert other.next() == it.next()


@every
def test_snapshots_of_chainer_1(make):
    if ORIGINAL and make is threads:
        pytest.skip("the original cannot")
    it, target = make(list(range(6)), 2), {}
    it.next()
    it.serialize(S.DictionarySerializer(target))
    del target["previous_epoch_detail"]
    it.serialize(S.NpzDeserializer(target))
    assert it.previous_epoch_detail == pytest.approx(0)
    it.finalize()


def test_loading_does_not_write_into_a_running_order():
    it, target = serial(list(range(6)), 2), {}
    order = it._state.order
    serial(list(range(6)), 2).serialize(S.DictionarySerializer(target))
    kept = order.copy()
    it.serialize(S.NpzDeserializer(target))
    assert ORIGINAL or (order == kept).all()


@every
def test_copies(make):
    it = make([1, 2, 3, 4, 5], 2, repeat=False, shuffle=False)
    other = copy.copy(it)
    assert it.next() == other.next() == [1, 2]
    it.finalize()
    assert list(other) == [[3, 4], [5]]
    other.finalize()


@every
def test_errors_of_the_dataset(make):
    class Bad(list):
        def __getitem__(self, i):
            if i == 2:
                raise KeyError("broken")
            return list.__getitem__(self, i)

    if ORIGINAL and make is processes:
        pytest.skip("the original hangs")
    with make(Bad([0, 1, 2, 3, 4, 5]), 2, shuffle=False, repeat=False) as it:
        assert it.next() == [0, 1]
        with pytest.raises(KeyError, match="broken"):
            it.next()
        assert it.next() == [4, 5]


# processes

EXAMPLES = {
    "number": lambda i: i,
    "array": lambda i: np.full((2, 3), i, np.float32),
    "tuple": lambda i: (i, np.full((i + 1,), i), np.array([{"i": i}], dtype=object)),
    "list": lambda i: [np.zeros((0, 2)), np.asfortranarray(np.full((2, 3), i))],
    "dict": lambda i: {"a": np.full(3, i, ">f4"), "b": str(i)},
}


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("shared_mem", [None, 30, 100000])
def test_examples_of_processes(kind, shared_mem):
    if ORIGINAL and kind == "tuple":
        pytest.skip("the original cannot share arrays of objects")
    examples = [EXAMPLES[kind](i) for i in range(7)]
    with processes(examples, 3, shuffle=False, repeat=False, shared_mem=shared_mem) as it:
        result = [example for batch in it for example in batch]
    for actual, expected in zip(result, examples, strict=True):
        assert type(actual) is type(expected)
        np.testing.assert_equal(actual, expected)


@ours_only
def test_pickle_of_a_process_iterator():
    it = processes(list(range(6)), 2)
    it.next()
    other = pickle.loads(pickle.dumps(it))
    assert other.next() == it.next() and other.epoch_detail == it.epoch_detail
    for i in (it, other):
        i.finalize()
    with pytest.raises(NotImplementedError, match="finalized"):
        it.reset()


def test_reset_in_the_middle():
    with processes(list(range(100)), 2, shuffle=False, n_prefetch=3) as it:
        for n in range(1, 5):
            assert [it.next() for _ in range(n)] == [[2 * i, 2 * i + 1] for i in range(n)]
            it.reset()


class Slow:
    def __init__(self, at, seconds):
        self.at, self.seconds = at, seconds

    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == self.at:
            time.sleep(self.seconds)
        return i


@pytest.mark.parametrize("at", [0, 4])
def test_timeout(at):
    with processes(Slow(at, 1), 2, shuffle=False, repeat=False, dataset_timeout=0.2) as it:
        with pytest.warns(iterators.MultiprocessIterator.TimeoutWarning, match="Stalled"):
            assert list(it) == [[0, 1], [2, 3], [4, 5]]
    with processes(Slow(at, 0.3), 2, shuffle=False, repeat=False, dataset_timeout=None) as it:
        with warnings.catch_warnings():
            warnings.simplefilter("error", iterators.MultiprocessIterator.TimeoutWarning)
            assert list(it) == [[0, 1], [2, 3], [4, 5]]


@ours_only
def test_finalize_while_a_worker_is_stuck():
    it = processes(Slow(4, 1000), 2, shuffle=False)
    it.next()
    it.next()
    start = time.monotonic()
    it.finalize()
    assert time.monotonic() - start < 5


SCRIPT = """
    import gc, multiprocessing, sys, threading
    import {chainer} as chainer

    def make():
        it = chainer.iterators.MultiprocessIterator(list(range(50)), 5, n_processes=2)
        it.next()
        return it

    if __name__ == '__main__':
        case = sys.argv[1]
        if case == 'global':
            it = make()
        elif case == 'collected':
            it = make()
            it.cycle = it
            del it
            gc.collect()
            for thread in threading.enumerate():
                if thread.name == 'prefetch_loop':
                    thread.join(10)
            assert not multiprocessing.active_children()
        elif case == 'error':
            it = make()
            raise KeyError
        print('end', flush=True)
"""


@ours_only
@pytest.mark.parametrize("case", ["global", "collected", "error"])
def test_exit_leaves_nothing_behind(tmp_path, case):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(SCRIPT.format(chainer=chainer.__name__)))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, str(path), case], capture_output=True, text=True, timeout=60, env=env)
    if case == "error":
        assert run.returncode == 1 and run.stderr.rstrip().endswith("KeyError")
    else:
        assert (run.returncode, run.stdout, run.stderr) == (0, "end\n", "")


def test_dali_iterator():
    class Pipeline:
        batch_size = 3
        built = 0

        def build(self):
            self.built += 1

        def epoch_size(self):
            return {"reader": 5}

        def run(self):
            return "batch"

    pipeline = Pipeline()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        it = iterators.DaliIterator(pipeline)
        once = iterators.DaliIterator(pipeline, repeat=False)
    assert [(it.next(), it.epoch, it.current_position, it.is_new_epoch) for _ in range(2)] == [
        ("batch", 0, 3, False),
        ("batch", 1, 1, True),
    ]
    assert it.previous_epoch_detail == 0.6 and pipeline.built == 1
    assert list(once) == ["batch", "batch"]
