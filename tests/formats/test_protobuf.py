"""The reader of protocol buffers, with schemas of its own; those of nnabla and Caffe are tested with their files."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

from compatgrad.formats import prototext
from compatgrad.formats.protobuf import MAX_DEPTH, DecodeError, define

SCHEMA = """
All: int64:int64=1 int32:int32=2 uint32:uint32=3 bool:bool=4 float:float=5 double:double=6 string:string=7 all:All=8
 int64s:int64*=11 int32s:int32*=12 uint32s:uint32*=13 bools:bool*=14 floats:float*=15 doubles:double*=16
 strings:string*=17 alls:All*=18 named:All%=19
"""
All = define(SCHEMA.strip(), __name__)["All"]
Old = define("Old: axis:int32=1=-1 name:string=2 rate:float=3=0.1 inner:Old=4 numbers:uint32*=5", __name__, "proto2")[
    "Old"
]
TEN = b"\xff" * 9  # and one byte more: a number of ten bytes, the longest


def read(data, kind=All):
    message = kind()
    message.ParseFromString(data)
    return message


def full():
    message = All(int64=-(2**63), int32=-1, uint32=2**32 - 1, bool=True, float=0.5, double=1e300, string="é")
    message.int64s.extend([1, -1])
    message.int32s.extend([-(2**31), 5])
    message.uint32s.extend([0, 2**32 - 1])
    message.bools.extend([True, False])
    message.floats.extend([0.1])
    message.doubles.extend([0.1])
    message.strings.extend(["", "b"])
    message.alls.add(int32=3)
    message.named["k"].all.SetInParent()
    return message


def test_every_kind_comes_back():
    message = full()
    for other in (
        read(message.SerializeToString()),
        prototext.merge(str(message), All()),
        copy.deepcopy(message),
        pickle.loads(pickle.dumps(message)),
    ):
        assert other == message and str(other) == str(message)
        assert (other.int64, other.int32, other.uint32) == (-(2**63), -1, 2**32 - 1)
        assert other.int32s == [-(2**31), 5] and other.named["k"].HasField("all")


def test_numbers_one_by_one_are_those_packed():
    assert read(b"\x58\x07\x58\x08").int64s == read(b"\x5a\x02\x07\x08").int64s == [7, 8]


def test_optional_fields_know_whether_they_were_set():
    message = Old()
    assert (message.axis, message.rate) == (-1, float(np.float32(0.1))) and not message.HasField("axis")
    assert not message.inner.HasField("axis") and not message.HasField("inner") and message.SerializeToString() == b""
    message.axis = -1
    assert message.HasField("axis") and read(message.SerializeToString(), Old).HasField("axis")
    plain = All(int32=0)
    assert plain.SerializeToString() == b""


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_what_is_cut_off(cut):
    data = All(all=full()).SerializeToString()
    with pytest.raises(DecodeError):
        read(data[:-cut])


@pytest.mark.parametrize(
    "data, words",
    [
        (b"\x3a\xff\xff\xff\xff\x7f", "of its 34359738367 bytes"),  # a string of 32 GiB
        (b"\x5a" + TEN + b"\x01", "bytes"),
        (b"\x08" + b"\xff" * 10 + b"\x01", "64 bits"),
        (b"\x08\xff", "end within a number"),
        (b"\x38\x05", "'string' has wire type 0"),  # five zeros, in a reader that does not look
        (b"\x38\xff\xff\xff\xff\x7f", "'string' has wire type 0"),
        (b"\x40\x05", "'all' has wire type 0"),
        (b"\x2d\x00\x00", "has 2 of its 4 bytes"),
        (b"\x29" + bytes(8), "'float' has wire type 1"),
        (b"\x0a\x01\x05", "'int64' has wire type 2"),
        (b"\x7a\x03abc", "not a multiple of the size of a value"),
        (b"\x3a\x01\xff", "not UTF-8"),
        (b"\x9a\x01\x03\x0a\x01\xff", "not UTF-8"),
        (b"\x0b\x0c", "unknown wire type 3"),
        (b"\x02\x00", "0 is not a valid field number"),
        (b"\x80\x80\x80\x80\x80\x01\x01", "not a valid field number"),
    ],
)
def test_hostile_bytes(data, words):
    message = All(int32=1)
    tracemalloc.start()
    with pytest.raises(DecodeError, match=words):
        message.ParseFromString(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
    assert message == All(int32=1)  # as it was


def test_numbers_beyond_64_bits_lose_the_rest():
    """As in Google's readers; OverflowError came out of a packed field."""
    for data in (b"\x58" + TEN + b"\x7f", b"\x5a\x0a" + TEN + b"\x7f"):
        assert read(data).int64s == [-1]
    assert read(b"\x10" + TEN + b"\x7f\x18" + TEN + b"\x7f") == All(int32=-1, uint32=2**32 - 1)


def nested(depth):
    data = b""
    for _ in range(depth):
        size = bytearray()
        n = len(data)
        while n > 127:
            size.append(n & 127 | 128)
            n >>= 7
        data = b"\x42" + bytes([*size, n]) + data
    return data


def test_messages_in_one_another():
    read(nested(MAX_DEPTH))
    prototext.merge("all {" * MAX_DEPTH + "}" * MAX_DEPTH, All())
    for depth in (MAX_DEPTH + 1, 20_000):
        with pytest.raises(DecodeError, match="more than 100 deep"):
            read(nested(depth))
        with pytest.raises(DecodeError, match="more than 100 deep"):
            prototext.merge("all {" * depth + "}" * depth, All())


def test_memory_is_in_proportion():
    """Two bytes make an empty message."""
    data = b"\x92\x01\x00" * 50_000
    tracemalloc.start()
    message = read(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(message.alls) == 50_000 and peak < 100 * len(data)


@pytest.mark.parametrize("text", ["int64: 99999999999999999999", "int32s: [1, 2147483648]", "uint32: -1", "bool: 2"])
def test_numbers_too_large_in_text(text):
    with pytest.raises(DecodeError, match="line 1"):
        prototext.merge(text, All())


def test_values_that_a_field_does_not_take():
    message = All()
    for name, value, error in (("int32", 2**31, ValueError), ("uint32", -1, ValueError), ("int64", "a", TypeError)):
        with pytest.raises(error, match=name):
            setattr(message, name, value)
    assert message == All()
