"""CenterNet: a ResNet with deconvolutions, for objects and for poses, and an hourglass network; focal and L1 losses."""

import types

import _mxnet
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


def train(run):
    run.path()
    _mxnet.streams()
    run.without("cv2", "numba", "utils.oracle_utils")
    from models import hourglass, losses, resnet

    rng = np.random.RandomState(1)
    opt = types.SimpleNamespace(
        mse_loss=False,
        reg_loss="l1",
        dense_wh=False,
        norm_wh=False,
        cat_spec_wh=False,
        eval_oracle_hm=False,
        eval_oracle_wh=False,
        eval_oracle_offset=False,
        reg_offset=True,
        hm_weight=1,
        wh_weight=0.1,
        off_weight=1,
        hm_hp=True,
        reg_hp_offset=True,
        hp_weight=1,
        hm_hp_weight=1,
        dense_hp=False,
        num_stacks=1,
    )
    objects = {"hm": 2, "wh": 2, "reg": 2}
    poses = {"hm": 1, "wh": 2, "hps": 6, "reg": 2, "hm_hp": 3, "hp_offset": 2}

    def heat(channels):
        """Heat maps, each with a peak of 1."""
        maps = rng.uniform(0, 0.6, (2, channels, 16, 16))
        maps.reshape(2, channels, -1)[:, :, 77] = 1
        return maps

    def places(attributes, count=3):
        return [rng.randint(0, 256, (2, count)), np.ones((2, count)), rng.uniform(0, 2, (2, count, attributes))]

    def training(net, loss, targets):
        images = mx.nd.array(rng.normal(size=(2, 3, 64, 64)))
        net.initialize()
        net(images)
        # initializes again in the order of the parameters, as all shapes are known
        net.initialize(mx.init.Xavier(), force_reinit=True)
        # at 0 a position is on the image's border, and rounding decides whether it is inside
        for p in net.collect_params(".*offset_bias").values():
            p.set_data(mx.nd.array(rng.uniform(0.1, 0.4, p.shape)))
        _mxnet.perturb(run, net)
        targets = [mx.nd.array(t) for t in targets]
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 5e-4})
        while True:
            with autograd.record():
                value = loss(net(images), *targets)
            value.backward()
            trainer.step(2, ignore_stale_grad=True)
            yield {"loss": _mxnet.mean(value)}

    def of_objects():
        inds, mask, scale = places(2)
        return [heat(2), scale, places(2)[2], inds, mask]

    def of_poses():
        inds, mask, scale = places(2)
        _, _, relative = places(6)
        map_inds, map_mask, map_offset = places(2, 9)
        return [
            inds,
            heat(1),
            scale,
            places(2)[2],
            mask,
            relative,
            np.ones((2, 3, 6)),
            heat(3),
            map_offset,
            map_inds,
            map_mask,
        ]

    def pose_net(heads):
        return resnet.PoseResNet(resnet.BasicBlockV1, [1, 1, 1, 1], heads, 8, [8, 8, 16, 24, 512])

    tower = hourglass.stacked_hourglass(
        1,
        1,
        [16, 16],
        [1, 1],
        objects,
        pre=hourglass.convolution(7, 16, 3, strides=4),
        conv_dim=16,
        make_hg_layer=hourglass.make_hg_layer,
        make_pool_layer=hourglass.make_pool_layer,
    )
    yield from run.together(
        objects=training(pose_net(objects), losses.CtdetLoss(opt), of_objects()),
        poses=training(pose_net(poses), losses.MultiPoseLoss(opt), of_poses()),
        hourglass=training(tower, losses.CtdetLoss(opt), of_objects()),
    )
