"""contrib: texts, variance reduction (SVRG), DataLoaders for modules; libraries and CUDA sources are refused."""

import zipfile
from collections import Counter

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet.contrib import text
from compatgrad.mxnet.contrib.svrg_optimization import SVRGModule


def test_counting_and_numbering_tokens():
    counter = text.utils.count_tokens_from_str(" Life is great ! \n life is good . \n", to_lower=True)
    assert counter == Counter({"life": 2, "is": 2, "great": 1, "!": 1, "good": 1, ".": 1})
    again = text.utils.count_tokens_from_str("a,b;a", ",", ";", counter_to_update=Counter(a=1))
    assert again == Counter(a=3, b=1)
    vocab = text.vocab.Vocabulary(counter, most_freq_count=3, reserved_tokens=["<pad>", "is"])
    assert vocab.idx_to_token == ["<unk>", "<pad>", "is", "life", "!", "."] and len(vocab) == 6
    assert text.vocab.Vocabulary(counter, min_freq=2).idx_to_token == ["<unk>", "is", "life"]
    assert vocab.to_indices(["life", "other"]) == [3, 0] and vocab.to_indices("is") == 2
    assert vocab.to_tokens([1, 3]) == ["<pad>", "life"] and vocab.to_tokens(0) == "<unk>"
    with pytest.raises(ValueError, match="Token index 9"):
        vocab.to_tokens(9)
    with pytest.raises(AssertionError, match="duplicate"):
        text.vocab.Vocabulary(reserved_tokens=["a", "a"])


def test_vectors_of_words(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("2 3\na 1 2 3\nb 4 5 6\na 7 8 9\n<unk> 0 0 1\n")
    with pytest.warns(UserWarning, match="duplicate"):
        e = text.embedding.CustomEmbedding(str(path))
    assert e.idx_to_token == ["<unk>", "a", "b"] and e.vec_len == 3
    np.testing.assert_array_equal(e.get_vecs_by_tokens(["b", "other"]).asnumpy(), [[4, 5, 6], [0, 0, 1]])
    assert e.get_vecs_by_tokens("A", lower_case_backup=True).asnumpy().tolist() == [1, 2, 3]
    e.update_token_vectors("a", mx.nd.array([3, 3, 3]))
    e.update_token_vectors(["b"], mx.nd.array([[2, 2, 2]]))
    assert e.idx_to_vec.asnumpy().tolist() == [[0, 0, 1], [3, 3, 3], [2, 2, 2]]
    with pytest.raises(ValueError, match="Token c is unknown"):
        e.update_token_vectors("c", mx.nd.array([3, 3, 3]))
    vocab = text.vocab.Vocabulary(Counter(["b", "c"]))
    both = text.embedding.CompositeEmbedding(vocab, [e, e])
    assert both.idx_to_vec.asnumpy().tolist() == [[0, 0, 1] * 2, [2, 2, 2] * 2, [0, 0, 1] * 2]
    assert "glove.6B.50d.txt" in text.embedding.get_pretrained_file_names("glove")
    assert len(text.embedding.get_pretrained_file_names("fasttext")) == 327
    with pytest.raises(KeyError, match="Cannot find pretrained file x"):
        text.embedding.create("fasttext", pretrained_file_name="x")
    assert text.embedding.GloVe._get_download_file_name("glove.6B.50d.txt") == "glove.6B.zip"
    assert text.embedding.GloVe._get_download_file_name("glove.twitter.27B.25d.txt") == "glove.twitter.27B.zip"


def test_a_text_for_language_models(tmp_path, monkeypatch):
    content = " \n a b c \n\n b a \n"
    sha1 = __import__("hashlib").sha1(content.encode()).hexdigest()
    kind = mx.gluon.contrib.data.text.WikiText2
    monkeypatch.setattr(kind, "_files", {"train": ("wiki.train.tokens", sha1)})
    archive = tmp_path / "wikitext-2-v1.zip"
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("wikitext-2/wiki.train.tokens", content)
    monkeypatch.setattr(mx.gluon.contrib.data.text, "download", lambda url, path, sha1_hash: str(archive))
    data = kind(root=str(tmp_path), seq_len=2)
    assert len(data) == 3 and data.vocabulary.idx_to_token == ["<unk>", "<eos>", "a", "b", "c"]
    assert [[x.asnumpy().tolist() for x in pair] for pair in (data[0], data[1])] == [
        [[2, 3], [3, 4]],
        [[4, 1], [1, 3]],
    ]
    assert data.frequencies["a"] == 2


def regression(freq=1, contexts=None):
    rng = np.random.RandomState(0)
    x = rng.randn(24, 3).astype("float32")
    y = x @ np.array([1.0, -2.0, 0.5], "float32")
    it = mx.io.NDArrayIter(x, y, 8, label_name="label")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(net, mx.sym.var("label"), name="out")
    return it, SVRGModule(net, label_names=["label"], context=contexts or mx.cpu(), update_freq=freq)


@pytest.mark.parametrize("contexts", [None, [mx.cpu(0), mx.cpu(1)]])
def test_variance_reduced_gradients(contexts):
    it, mod = regression(contexts=contexts)
    mod.fit(it, eval_metric="mse", num_epoch=30, optimizer_params={"learning_rate": 0.3})
    assert dict(mod.score(it, "mse"))["mse"] < 1e-2
    if contexts is None:
        # where the full gradients were taken, SVRG's gradient of any batch is the mean over all batches
        mod.update_full_grads(it)
        it.reset()
        mod.forward_backward(next(it))
        full = mod._param_dict[0]["fc_weight"].asnumpy()
        mod._update_svrg_gradients()
        np.testing.assert_allclose(mod._exec_group.grad_arrays[0][0].asnumpy(), full, rtol=1e-5, atol=1e-6)
        mod.update_full_grads(it)
        np.testing.assert_array_equal(mod._param_dict[0]["fc_weight"].asnumpy(), full)


def test_how_often_full_gradients_are_taken():
    with pytest.raises(ValueError, match="positive"):
        regression(0)
    with pytest.raises(TypeError, match="integer"):
        regression(1.5)


def test_a_module_takes_a_data_loader():
    x, y = np.arange(10, dtype="float32").reshape(5, 2), np.arange(5, dtype="float32")
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x, y), 2)
    it = mx.contrib.io.DataLoaderIter(loader)
    assert it.provide_data[0].shape == (2, 2) and it.provide_label[0].name == "softmax_label"
    for _ in range(2):
        batches = list(it)
        assert [b.pad for b in batches] == [0, 0, 1]
        assert batches[2].data[0].asnumpy().tolist() == [[8, 9], [0, 0]]
        it.reset()


def test_what_needs_the_c_interface_says_so(tmp_path):
    library = tmp_path / "ops.so"
    library.write_bytes(b"")
    with pytest.raises(mx.MXNetError, match="CustomOp"):
        mx.library.load(str(library))
    with pytest.raises(mx.MXNetError, match="does NOT exist"):
        mx.library.load("/no/such/file.so")
    with pytest.raises(mx.MXNetError, match="RawKernel"):
        mx.rtc.CudaModule("source")


def test_vocabularies_and_files_of_vectors_at_their_ends(tmp_path):
    counts = Counter("a b b".split())
    for most, found in ((None, ["b", "a"]), (-1, ["b", "a"]), (0, []), (1, ["b"])):
        assert text.vocab.Vocabulary(counts, most_freq_count=most).idx_to_token == ["<unk>", *found]
    path = tmp_path / "empty.txt"
    path.write_text("")
    with pytest.raises(TypeError, match="empty.txt has no vectors"):
        text.embedding.CustomEmbedding(str(path))
