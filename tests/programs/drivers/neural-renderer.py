"""The differentiable renderer: a mesh's vertices and textures are fitted to synthetic images.

Its CUDA kernels are compiled as C++ for the CPU (`_kernels.py`).
"""

import re

import _chainer
import _kernels
import chainer
import numpy as np


def train(run):
    _chainer.numpy_for_cupy()
    chainer.cuda.elementwise = _kernels.elementwise
    run.path("neural_renderer")  # Python 2 imported modules from the importer's own folder
    run.path()
    run.path("examples")
    run.without("skimage", "skimage.io", "tqdm", "scipy.misc")
    if run.dtype == "float64":
        run.sources(lambda text: re.sub(r"\bfloat\b(?=[*\s])", "double", text))
    import example2
    import example3
    import neural_renderer
    import optimizers
    import rasterize
    import scipy.misc

    rasterize.Rasterize.forward_cpu = rasterize.Rasterize.forward_gpu
    rasterize.Rasterize.backward_cpu = rasterize.Rasterize.backward_gpu
    optimizers.AdamRule.update_core_cpu = optimizers.AdamRule.update_core_gpu
    size = 32
    y, x = np.mgrid[:size, :size]
    disc = ((x - 17) ** 2 + (y - 13) ** 2 < 90)[:, :, None] * np.array([255, 160, 40])
    scipy.misc.imread = lambda name: disc.astype("u1")
    angles = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    with open("mesh.obj", "w") as file:  # a closed surface of two rings and two poles
        points = [(np.cos(a), h, np.sin(a)) for h in (-0.4, 0.5) for a in angles] + [(0, -1, 0), (0, 1, 0)]
        file.writelines("v {} {} {}\n".format(*p) for p in points)
        for n in range(8):
            a, b = n + 1, (n + 1) % 8 + 1
            for face in ((a, b, a + 8), (b, b + 8, a + 8), (b, a, 17), (a + 8, b + 8, 18)):
                file.write("f {} {} {}\n".format(*face))

    def training(kind, optimizer, image_size):
        model = kind("mesh.obj", "image.png")
        model.renderer.image_size = image_size
        run.perturb(_chainer.arrays(model))
        optimizer = optimizer.setup(model)
        while True:
            model.cleargrads()
            loss = model()
            loss.backward()
            optimizer.update()
            yield {"loss": loss.array}

    yield from run.together(
        vertices=training(example2.Model, chainer.optimizers.Adam(0.01), size),
        textures=training(example3.Model, neural_renderer.Adam(alpha=0.1, beta1=0.5), size),
    )
