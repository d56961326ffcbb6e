"""Damaged copies of files: the same for the same seed, with every Python."""

import gzip
import io
import random
import re
import struct
import zipfile

_NUMBERS = [0, 1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**64 - 1]
_WORDS = ["0", "-1", "1", "7", "4294967296", "-9223372036854775808", "99999999999999999999", "nan", "inf", "1e999", "",
          "null", "true", "[]", "{}", "\0", "\u00e9", "x" * 300, "[" * 2000, "{" * 2000]  # fmt: skip


def mutant(content, seed):
    """A damaged copy of a file; of archives mostly one whose checksums are right."""
    draw = random.Random(seed)
    if content[:4] == b"PK\x03\x04" and draw.random() < 0.7:
        return _archive(content, draw)
    if content[:2] == b"\x1f\x8b" and draw.random() < 0.7:
        return gzip.compress(_damaged(gzip.decompress(content), draw), 1, mtime=0)
    return _damaged(content, draw)


def _archive(content, draw):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    at = draw.randrange(len(members))
    name, inner = members[at]
    what = draw.random()
    if what < 0.8:
        members[at] = name, _damaged(inner, draw)
    elif what < 0.87:
        del members[at]
    elif what < 0.94:
        members[at] = name, members[draw.randrange(len(members))][1]
    else:
        members.append((draw.choice(["../x", "/x", "x.npy", "x.h5", "x.nntxt", "x.protobuf"]), inner))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name, inner in members:
            archive.writestr(zipfile.ZipInfo(name), inner)
    return out.getvalue()


def _is_text(content):
    return b"\0" not in content[:2000] and sum(32 <= c < 127 or c in b"\r\n\t" for c in content[:2000]) > 0.95 * min(
        2000, len(content)
    )


def _damaged(content, draw):
    damaged = bytearray(content)
    for _ in range(draw.choice([1, 1, 1, 1, 2, 3, 8])):
        if _is_text(bytes(damaged)) and draw.random() < 0.6:
            damaged = _words(damaged, draw)
        else:
            _bytes(damaged, draw)
    return bytes(damaged)


def _words(damaged, draw):
    words = list(re.finditer(rb"-?\d+(?:\.\d+)?|[A-Za-z_]+|\S", bytes(damaged)))
    if not words:
        return damaged
    begin, end = draw.choice(words).span()
    if draw.random() < 0.4:
        other = draw.choice(words).group()
    else:
        other = draw.choice(_WORDS).encode()
    return damaged[:begin] + other + damaged[end:]


def _bytes(damaged, draw):
    size = len(damaged)
    what = draw.randrange(8)
    if not size or what == 0:
        damaged[draw.randrange(size + 1) : draw.randrange(size + 1)] = bytes(draw.randrange(256) for _ in range(4))
        return
    at = draw.randrange(size)
    if what == 1:
        damaged[at] ^= 1 << draw.randrange(8)
    elif what == 2:
        damaged[at] = draw.choice([0, 1, 127, 128, 255])
    elif what in (3, 4):
        width, code = draw.choice([(1, "B"), (2, "H"), (4, "I"), (8, "Q")])
        order = draw.choice("<>")
        number = draw.choice(_NUMBERS) % (1 << 8 * width)
        damaged[at : at + width] = struct.pack(order + code, number)
    elif what == 5:
        del damaged[at:]
    elif what == 6:
        del damaged[at : at + draw.choice([1, 2, 4, 8, 64])]
    else:
        damaged[at:at] = damaged[draw.randrange(size) :][: draw.choice([1, 4, 16, 200])]
