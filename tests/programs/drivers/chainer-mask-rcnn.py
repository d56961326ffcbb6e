"""Mask R-CNN on a narrow ResNet with its training chain, on synthetic boxes, with a stand-in for `cv2.resize`."""

import re
import sys
import types

import _chainer
import chainer
import numpy as np


def resize(image, size):
    """Resize by nearest pixels."""
    rows, columns = ((np.arange(n) + 0.5) * m / n for n, m in zip(size[::-1], image.shape[:2], strict=True))
    return image[rows.astype("i")][:, columns.astype("i")]


def train(run):
    run.path()
    sys.path.insert(0, str(run.repo.parent / "chainer+chainercv"))
    sys.modules["cv2"] = types.SimpleNamespace(resize=resize)
    _chainer.uninstalled()
    # Chainer 7's variables cannot be iterated over
    run.sources(lambda text: re.sub(r"F\.concat\((rpn_\w+), axis=0\)", r"F.concat(list(\1), axis=0)", text))
    run.without(
        "chainercv.utils.bbox._nms_gpu_post",
        "fcn",
        "fcn.datasets",
        "fcn.datasets.voc",
        "skimage",
        "skimage.color",
        "skimage.io",
        "skimage.segmentation",
        "tqdm",
        "pycocotools",
        "pycocotools.coco",
        "pycocotools.cocoeval",
        "pycocotools.mask",
    )
    from chainer.links.model.vision import resnet
    from chainer_mask_rcnn import models
    from chainer_mask_rcnn.links import AffineChannel2D
    from chainer_mask_rcnn.models import mask_rcnn_resnet, region_proposal_network, resnet_extractor
    from chainercv.links.model.faster_rcnn.utils.anchor_target_creator import AnchorTargetCreator

    narrow = _chainer.Narrow(32)
    build = resnet.BuildingBlock.__init__

    def init(self, layers, channels, *sizes, **kwargs):
        channels = channels if channels == 64 else narrow.divide(channels)  # the first convolution keeps its channels
        build(self, layers, channels, *map(narrow.divide, sizes), **kwargs)

    resnet.BuildingBlock.__init__ = init
    mask_rcnn_resnet.L = region_proposal_network.L = narrow
    resnet_extractor.ResNet50Extractor.download = lambda self: None
    chainer.serializers.load_npz = lambda path, link: None  # skips loading trained weights

    model = models.MaskRCNNResNet(
        50,
        3,
        pretrained_model="none",
        anchor_scales=(1, 2),
        rpn_hidden=128,
        proposal_creator_params={"min_size": 0, "n_train_pre_nms": 60, "n_train_post_nms": 20},
    )
    for p in model.params():
        if p.ndim > 1 and not p.array.any():
            p.array[...] = np.random.normal(0, np.sqrt(2 / p[0].size), p.shape)
    for link in model.links():
        if isinstance(link, AffineChannel2D):
            link.W.array[...] *= 0.5  # keeps activations bounded through sixteen blocks, as trained weights would
    chain = models.MaskRCNNTrainChain(
        model,
        anchor_target_creator=AnchorTargetCreator(n_sample=32),
        proposal_target_creator=models.utils.ProposalTargetCreator(n_sample=6),
    )
    run.perturb(_chainer.arrays(chain))
    optimizer = chainer.optimizers.MomentumSGD(lr=0.01, momentum=0.9).setup(chain)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(rate=0.0001))
    for link in (model.extractor.conv1, model.extractor.bn1, model.extractor.res2):
        link.disable_update()
    rng = np.random.RandomState(1)
    size = 64

    def example():
        image = rng.normal(0, 1, (3, size, size)).astype(run.dtype)
        boxes, masks = [], np.zeros((2, size, size), "i")
        for mask in masks:
            y, x = rng.randint(0, size - 34, 2)
            h, w = rng.randint(16, 34, 2)
            boxes.append((y, x, y + h, x + w))
            mask[y : y + h, x : x + w] = 1
            image[:, y : y + h, x : x + w] += 2
        return image, np.array(boxes, run.dtype), rng.randint(0, 3, 2).astype("i"), masks

    reporter = chainer.Reporter()
    reporter.add_observer("main", chain)
    while True:
        images, boxes, labels, masks = zip(*[example()], strict=True)
        observation = {}
        with reporter.scope(observation):
            optimizer.update(chain, np.stack(images), boxes, labels, masks, np.ones(1, run.dtype))
        yield {key: _chainer.number(value) for key, value in observation.items()}
