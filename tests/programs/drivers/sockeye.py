"""Transformers, one of them with source factors and a length task, with the program's parallel model and losses."""

import _mxnet
import mxnet as mx
import numpy as np


def train(run):
    run.path()
    run.without("portalocker", "sacrebleu")
    _mxnet.streams()
    from mxnet import gluon
    from sockeye import constants, data_io, encoder, layers, loss, model, training, transformer

    rng = np.random.RandomState(1)

    def training_of(decoder, length_task, **options):
        block = transformer.TransformerConfig(
            model_size=16,
            attention_heads=2,
            feed_forward_num_hidden=24,
            act_type="relu",
            num_layers=2,
            dropout_attention=0.0,
            dropout_act=0.0,
            dropout_prepost=0.0,
            positional_embedding_type="fixed",
            preprocess_sequence="n",
            postprocess_sequence="dr",
            max_seq_len_source=10,
            max_seq_len_target=10,
            decoder_type=decoder,
            **options,
        )
        embed = encoder.EmbeddingConfig(20, 16, 0.0)
        config = model.ModelConfig(
            config_data=data_io.DataConfig(None, 10, 10, 1, 1),
            vocab_source_size=20,
            vocab_target_size=20,
            config_embed_source=embed,
            config_embed_target=embed,
            config_encoder=block,
            config_decoder=block,
            config_length_task=layers.LengthRatioConfig(num_layers=1, weight=1.0) if length_task else None,
        )
        net = model.SockeyeModel(config)
        net.initialize(mx.init.Xavier(magnitude=3.0))
        words = mx.nd.array(rng.randint(4, 20, (3, 7, 1)))
        inputs = words, mx.nd.array([7, 5, 4]), mx.nd.array(rng.randint(4, 20, (3, 6, 1))), mx.nd.array([6, 4, 3])
        labels = {
            constants.TARGET_LABEL_NAME: mx.nd.array(rng.randint(4, 20, (3, 6)) * (np.arange(6) < 4)),
            constants.LENRATIO_LABEL_NAME: mx.nd.array([0.8, 1.1, 0.9]),
        }
        losses = [
            loss.CrossEntropyLossWithoutSoftmaxOutput(label_smoothing=0.1, num_labels=20)
            if length_task
            else loss.CrossEntropyLoss(label_smoothing=0.1)
        ]
        losses += (
            [loss.MSELoss(name="length", output_name=constants.LENRATIO_NAME, label_name=constants.LENRATIO_LABEL_NAME)]
            if length_task
            else []
        )
        net(*inputs)
        net.hybridize()
        _mxnet.perturb(run, net)
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 2e-3})
        parallel = training.ParallelModel(net, losses, trainer)
        while True:
            values = parallel.forward_backward((inputs, labels))
            trainer.step(1)
            yield {name: _mxnet.mean(value[0] / value[1]) for name, value in zip("ab", values, strict=False)}

    yield from run.together(
        transformer=training_of(constants.TRANSFORMER_TYPE, False),
        ssru=training_of(constants.SSRU_TRANSFORMER, True, use_glu=True),
    )
