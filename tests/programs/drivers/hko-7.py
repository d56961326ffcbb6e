"""Encoders and forecasters: trajectory GRUs, and convolutional GRUs with dynamic filters, by the program's step."""

import os.path
import unittest.mock

import _mxnet
import mxnet as mx
import numpy as np

SMALL = {
    "FEATMAP_SIZE": [16, 8], "FIRST_CONV": (4, 3, 1, 1), "LAST_DECONV": (4, 3, 1, 1), "DOWNSAMPLE": [(3, 2, 1)],
    "UPSAMPLE": [(4, 2, 1)], "HAS_MASK": False}  # fmt: skip
BLOCKS = {"STACK_NUM": [1, 1], "NUM_FILTER": [6, 8], "H2H_KERNEL": [(3, 3)] * 2, "L": [3, 3]}


def train(run):
    run.path()
    run.path("experiments", "movingmnist")
    run.without("yaml")
    _mxnet.streams()
    with unittest.mock.patch.object(os.path, "exists", return_value=True):  # imports check folders of data sets
        from nowcasting.config import cfg
    from mnist_rnn_factory import MovingMNISTFactory
    from nowcasting.encoder_forecaster import EncoderForecasterStates, encoder_forecaster_build_networks, train_step

    cfg.MOVINGMNIST.IMG_SIZE = 16
    cfg.MODEL.TRAIN.update(BATCH_SIZE=2, LR=1e-3, GRAD_CLIP=1.0)
    cfg.MODEL.ENCODER_FORECASTER.update(SMALL)
    frames = mx.nd.array(np.random.RandomState(1).uniform(size=(6, 2, 1, 16, 16)))

    def training(layer, out):
        cfg.MODEL.ENCODER_FORECASTER.RNN_BLOCKS.update(BLOCKS, LAYER_TYPE=[layer] * 2)
        cfg.MODEL.OUT_TYPE = out
        factory = MovingMNISTFactory(batch_size=2, in_seq_len=3, out_seq_len=3)
        encoder, forecaster, loss = encoder_forecaster_build_networks(factory=factory, context=[mx.cpu()])
        _mxnet.perturb(run, encoder, forecaster)
        states = EncoderForecasterStates(factory=factory, ctx=mx.cpu())
        states.reset_all()
        while True:
            cfg.MODEL.OUT_TYPE = out
            states, losses = train_step(
                batch_size=2,
                encoder_net=encoder,
                forecaster_net=forecaster,
                loss_net=loss,
                init_states=states,
                data_nd=frames[:3],
                gt_nd=frames[3:],
                mask_nd=None,
            )
            yield losses

    yield from run.together(trajectory=training("TrajGRU", "direct"), filters=training("ConvGRU", "DFN"))
