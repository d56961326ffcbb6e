"""The transformer, its batches and its schedule of the learning rate, on synthetic sentences."""

import _chainer
import _sentences
import chainer


def train(run):
    run.path()
    run.without("nltk", "nltk.translate", "progressbar", "six")
    _chainer.double(run)
    import net
    from subfuncs import VaswaniRule
    from train import seq2seq_pad_concat_convert

    model = net.Transformer(2, 20, 20, 16, h=2, dropout=0.1, max_length=50, use_label_smoothing=True)
    run.perturb(_chainer.arrays(model))
    optimizer = chainer.optimizers.Adam(alpha=5e-5, beta1=0.9, beta2=0.98, eps=1e-9).setup(model)
    iterator = chainer.iterators.SerialIterator(_sentences.pairs(64, 20), 8)
    updater = chainer.training.StandardUpdater(iterator, optimizer, converter=seq2seq_pad_concat_convert, device=-1)
    trainer = chainer.training.Trainer(updater, (1000, "epoch"))
    rule = VaswaniRule("alpha", d=16, warmup_steps=20)
    if hasattr(rule, "initialize"):
        rule.initialize(trainer)
    for values in _chainer.updates(updater, model):
        rule(trainer)
        yield dict(values, alpha=optimizer.alpha)
