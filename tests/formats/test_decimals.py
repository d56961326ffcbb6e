"""Tables of plain decimals are parsed as `float` parses each number, and everything else is left to others."""

import random

import numpy as np
import pytest

from compatgrad.formats import decimals


def expected(text):
    return np.array([[float(word) for word in line.split(",")] for line in text.decode().splitlines()])


def same(text, dtype=np.float64):
    found = decimals.table(text, dtype)
    assert found is not None, text
    want = expected(text).astype(dtype)
    np.testing.assert_array_equal(found, want, strict=True)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(want))


@pytest.mark.parametrize(
    "text",
    [
        b"1", b"1\n", b"1,2\n3,4", b"1,2\r\n3,4\r\n", b"-1,-.5,5.,0.0,-0,-0.0\n", b"12345678,0.1234567890123456\n",
        b"0.3,0.1,2.675,1.005\n", b"99999999.9999999\n", b"00012,0.50\n", b"9007199.254740991,0.9007199254740991\n",
    ],
)  # fmt: skip
def test_numbers(text):
    same(text)
    same(text, np.float32)


@pytest.mark.parametrize("dots", [0.0, 0.5, 1.0])
def test_random_tables(dots):
    rng = random.Random(0)

    def number():
        whole = "".join(rng.choices("0123456789", k=rng.randint(0, 6)))
        fraction = "".join(rng.choices("0123456789", k=rng.randint(0, 9)))
        if rng.random() < dots:
            return rng.choice(["-", ""]) + (f"{whole}.{fraction}" if whole or fraction else "0.")
        return rng.choice(["-", "", ""]) + (whole or "7")

    for _ in range(300):
        width = rng.randint(1, 5)
        lines = [",".join(number() for _ in range(width)) for _ in range(rng.randint(1, 6))]
        same("\n".join(lines).encode())


def test_long_tables_in_parts(monkeypatch):
    text = b"".join(b"%d,-%d.%d,.%03d\n" % (i, i, i % 7, i % 1000) for i in range(2000))
    for size in (1, 7, 1000, 1 << 18):
        monkeypatch.setattr(decimals, "_PART_BYTES", size)
        if size == 1:
            text, whole = text[:500].rpartition(b"\n")[0], text
            same(text)
            text = whole
        else:
            same(text)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\n", b"1,\n", b",1\n", b"1\n\n2\n", b"1,2\n3\n", b"1\n2,3\n", b"1,2\n3\n4,5,6\n", b"1e3\n", b"nan,1\n",
        b" 1\n", b"1, 2\n", b"+1\n", b"--1\n", b"1-\n", b"1-2\n", b"-\n", b".\n", b"-.\n", b"1.2.3\n", b"1..2,3\n",
        b"1.2.3,4\n", b"1,2.3.4\n", b"#1\n", b"1;2\n", b"\xef\xbb\xbf1\n", b"123456789\n", b"1.12345678901234567\n",
        b"9.9999999999999999\n", b"99999999.99999999\n", b"1\r2\n", b"'1'\n", b"\x00\n", b"1\n\x1f\x8b\n",
    ],
)  # fmt: skip
def test_what_is_left_to_others(text):
    assert decimals.table(text, np.float64) is None


def test_an_exception_in_one_part_of_many(monkeypatch):
    monkeypatch.setattr(decimals, "_PART_BYTES", 8)
    assert decimals.table(b"1,2\n" * 50 + b"1,x\n" + b"1,2\n" * 50, np.float32) is None
    assert decimals.table(b"1,2\n" * 50 + b"1,2,3\n", np.float32) is None
