"""A transformer for translation, BERT with its two losses, and the AWD language model with its regularizers."""

import _mxnet
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


def train(run):
    run.path("src")
    run.without("gluonnlp.data.fast_bert_tokenizer")  # a compiled module that no model uses
    _mxnet.streams()
    import gluonnlp as nlp

    rng = np.random.RandomState(1)

    def training(net, forward, optimizer, options, x):
        net.initialize(mx.init.Xavier())
        net(*x)
        _mxnet.no_dropout(net)
        _mxnet.perturb(run, net)
        trainer = gluon.Trainer(net.collect_params(), optimizer, options)
        while True:
            with autograd.record():
                losses = forward(net)
                autograd.backward(list(losses.values()))
            trainer.step(1)
            yield {name: _mxnet.mean(loss) for name, loss in losses.items()}

    def words(*shape):
        return mx.nd.array(rng.randint(4, 20, shape))

    def translation():
        vocab = nlp.Vocab(nlp.data.count_tokens(map(str, range(16))))
        encoder, decoder, ahead = nlp.model.transformer.get_transformer_encoder_decoder(
            units=16, hidden_size=32, num_layers=2, num_heads=4, max_src_length=12, max_tgt_length=12
        )
        net = nlp.model.translation.NMTModel(
            vocab, vocab, encoder, decoder, ahead, embed_size=16, share_embed=True, tie_weights=True
        )
        smooth = nlp.loss.LabelSmoothing(epsilon=0.1, units=len(vocab))
        loss = nlp.loss.MaskedSoftmaxCELoss(sparse_label=False)
        source, target, lengths = words(3, 7), words(3, 6), mx.nd.array([7, 5, 4])

        def forward(net):
            out, _ = net(source, target[:, :-1], lengths, lengths - 2)
            return {"loss": loss(out, smooth(target[:, 1:]), lengths - 2).mean()}

        return training(
            net,
            forward,
            "adam",
            {"learning_rate": 1e-3, "beta2": 0.98, "epsilon": 1e-9},
            (source, target[:, :-1], lengths, lengths - 2),
        )

    def bert():
        encoder = nlp.model.BERTEncoder(num_layers=2, units=16, hidden_size=32, max_length=12, num_heads=4)
        net = nlp.model.BERTModel(encoder, vocab_size=20, token_type_vocab_size=2, units=16, embed_size=16)
        x = words(3, 8), mx.nd.array(rng.randint(0, 2, (3, 8))), mx.nd.array([8, 6, 4]), mx.nd.array([[1, 3]] * 3)
        masked, following = words(3, 2), mx.nd.array([0, 1, 0])
        loss = gluon.loss.SoftmaxCELoss()

        def forward(net):
            _, _, classified, decoded = net(*x)
            return {
                "masked": loss(decoded.reshape((-1, 20)), masked.reshape((-1,))).mean(),
                "following": loss(classified, following).mean(),
            }

        return training(net, forward, "bertadam", {"learning_rate": 1e-3, "wd": 0.01}, x)

    def language():
        net = nlp.model.train.AWDRNN(
            "lstm",
            20,
            embed_size=12,
            hidden_size=16,
            num_layers=2,
            dropout=0,
            weight_drop=0,
            drop_h=0,
            drop_i=0,
            drop_e=0,
        )
        text = words(9, 4)
        state = net.begin_state(4)
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        alpha, beta = nlp.loss.ActivationRegularizationLoss(2), nlp.loss.TemporalActivationRegularizationLoss(1)

        def forward(net):
            out, _, raw, dropped = net(text[:-1], state)
            return {
                "loss": loss(out.reshape((-1, 20)), text[1:].reshape((-1,))).mean(),
                "alpha": alpha(*dropped),
                "beta": beta(*raw),
            }

        return training(net, forward, "sgd", {"learning_rate": 0.5, "wd": 1e-5}, (text[:-1], state))

    yield from run.together(translation=translation(), bert=bert(), language=language())
