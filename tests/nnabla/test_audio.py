"""Reading, writing and resizing sounds as arrays."""

import io
import wave

import numpy as np
import pytest

from compatgrad.nnabla.utils import audio_utils

RNG = np.random.RandomState(0)


@pytest.fixture(params=["wave", "pydub"], autouse=True)
def backend(request):
    if request.param not in audio_utils.get_available_backends():
        pytest.skip("pydub is not installed")
    before = audio_utils.get_backend()
    audio_utils.set_backend(request.param)
    yield request.param
    audio_utils.set_backend(before)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32])
@pytest.mark.parametrize("channel_first", [False, True])
def test_what_is_saved_is_read(tmp_path, dtype, channel_first):
    limits = np.iinfo(dtype)
    sound = RNG.randint(limits.min, limits.max, (50, 2)).astype(dtype)
    path = str(tmp_path / "new" / "sound.wav")
    audio_utils.ausave(path, sound.T if channel_first else sound, channel_first=channel_first, frame_rate=8000)
    found = audio_utils.auread(path, channel_first=channel_first)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, sound.T if channel_first else sound)
    with wave.open(path) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (8000, 2, np.dtype(dtype).itemsize)


def test_raw_files(tmp_path):
    sound = RNG.randint(-100, 100, (20, 2)).astype(np.int16)
    path = tmp_path / "sound.raw"
    path.write_bytes(sound.tobytes())
    how = {"sample_width": 2, "frame_rate": 8000, "channels": 2}
    np.testing.assert_array_equal(audio_utils.auread(str(path), raw_format_param=how), sound)
    with pytest.raises(ValueError, match="raw_format_param"):
        audio_utils.auread(str(path))


def test_three_bytes(tmp_path, backend):
    if backend == "pydub":
        pytest.skip("for Python's reader")
    path = str(tmp_path / "sound.wav")
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(3)
        file.setframerate(8000)
        file.writeframes(b"\x01\x00\x00\xff\xff\xff")
    np.testing.assert_array_equal(audio_utils.auread(path), [[256], [-256]])


@pytest.mark.parametrize("size", [(100, 2), (25, 1), (50, 1)])
def test_other_sizes(size):
    sound = np.repeat((1000 * np.sin(np.arange(50) / 8)).astype(np.int16)[:, None], 2, axis=1)
    result = audio_utils.auresize(sound, size)
    assert abs(len(result) - size[0]) < 2 and result.shape[1] == size[1] and result.dtype == np.int16
    expected = 1000 * np.sin(np.arange(len(result)) * 50 / size[0] / 8)
    assert np.abs(result[5:-5, 0] - expected[5:-5]).max() < 60
    with pytest.raises(ValueError, match="3 channels cannot become 2|mono"):
        audio_utils.auresize(np.zeros((4, 3), np.int16), (4, 2))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.float32])
def test_scales(dtype):
    scaled = audio_utils.minmax_auto_scale(RNG.randn(20, 2), dtype)
    limits = np.finfo(dtype) if dtype == np.float32 else np.iinfo(dtype)
    assert scaled.dtype == dtype and scaled.min() == limits.min and scaled.max() == limits.max
    np.testing.assert_array_equal(audio_utils.minmax_auto_scale(np.full((3, 1), 5.0), np.int16), np.iinfo(np.int16).max)


def test_wrong_sounds(tmp_path):
    for path, sound, what in (
        ("a.mp3", np.zeros((2, 2), np.int16), r"saved as \.wav"),
        ("a.wav", np.zeros((2, 2)), "4 bytes"),
        ("a.wav", np.zeros((2, 2), np.float32), "float value"),
        ("a.wav", np.zeros(2, np.int16), r"\(samples, channels\)"),
        ("a.wav", [1, 2], "must be an array"),
    ):
        with pytest.raises(ValueError, match=what):
            audio_utils.ausave(str(tmp_path / path), sound)
    with pytest.raises(ValueError, match="is not installed"):
        audio_utils.set_backend("nobody")
    with pytest.raises(ValueError, match="4 bytes"):
        audio_utils.minmax_auto_scale(np.zeros(3), np.float64)
    (tmp_path / "a.ogg").write_bytes(b"")
    with pytest.raises(ValueError, match=r"\.ogg"):
        audio_utils.auread(str(tmp_path / "a.ogg"))


def test_open_files():
    file = io.BytesIO()
    file.name = "sound.wav"
    sound = RNG.randint(-100, 100, (20, 1)).astype(np.int16)
    audio_utils.auwrite(file, sound)
    file.seek(0)
    np.testing.assert_array_equal(audio_utils.auload(file), sound)


def test_errors_name_damaged_sounds(tmp_path):
    for content in (b"", b"RIFFjunkjunk", b"RIFF\x24\x00\x00\x00WAVEfmt "):
        path = tmp_path / "bad.wav"
        path.write_bytes(content)
        with pytest.raises((ValueError, OSError), match="bad.wav"):
            audio_utils.auread(str(path))
    sound = np.zeros((4, 1), np.int16)
    for size in ((0, 1), (4, 0), (-1, 1)):
        with pytest.raises(ValueError, match="cannot become"):
            audio_utils.auresize(sound, size)
    with pytest.raises(ValueError, match="shape .samples, channels., not .4,"):
        audio_utils.auresize(np.zeros(4, np.int16), (4, 1))
