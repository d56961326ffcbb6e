"""Downloads of the frontends from a server that stops early."""

import http.server
import importlib
import os
import sys
import threading

import pytest

from compatgrad.formats.downloads import fetch
from compatgrad.mxnet.gluon import utils as mxnet_utils

chainer_download = importlib.import_module("compatgrad.chainer.dataset.download")
nnabla_download = importlib.import_module("compatgrad.nnabla.utils.download")
CONTENT = b"0123456789"


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        if self.path != "/unsaid":
            self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:4] if self.path == "/short" else CONTENT)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def chainer(url, folder):
    chainer_download.set_dataset_root(str(folder))
    return chainer_download.cached_download(url)


def nnabla(url, folder):
    nnabla_download.download(url, str(folder / "file"), open_file=False)
    return folder / "file"


def mxnet(url, folder):
    return mxnet_utils.download(url, str(folder / "file"), retries=2)


def plain(url, folder):
    fetch(url, str(folder / "file"))
    return folder / "file"


@pytest.mark.parametrize("download", [chainer, nnabla, mxnet, plain])
def test_a_file_is_there_whole_or_not_at_all(server, tmp_path, monkeypatch, download):
    monkeypatch.setitem(sys.modules, "requests", None)
    monkeypatch.setattr(chainer_download, "_dataset_root", "")
    with pytest.raises(OSError, match=r"\b4\b.* 10 bytes"):
        download(server + "/short", tmp_path)
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == []
    for path in ("/whole", "/unsaid"):
        with open(download(server + path, tmp_path), "rb") as file:
            assert file.read() == CONTENT


def test_a_file_that_cannot_be_had_anew_stays(server, tmp_path):
    fetch(server + "/whole", str(tmp_path / "file"))
    with pytest.raises(OSError):
        fetch(server + "/short", str(tmp_path / "file"))
    assert (tmp_path / "file").read_bytes() == CONTENT and os.listdir(tmp_path) == ["file"]


def test_progress(server, tmp_path):
    told = []
    fetch(server + "/whole", str(tmp_path / "file"), lambda *numbers: told.append(numbers))
    fetch(server + "/unsaid", str(tmp_path / "file"), lambda *numbers: told.append(numbers))
    assert told == [(10, 10), (10, 0)]
