"""A classifier whose loss also holds the norms of its parameters' gradients."""

import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import numpy as np
from nnabla.ext_utils import get_extension_context

nn.set_default_context(get_extension_context("cudnn"))

images = nn.Variable.from_numpy_array(np.random.randn(4, 3, 32, 32))
labels = nn.Variable.from_numpy_array(np.random.randint(0, 10, 4).reshape(4, 1))

h = images
for maps, name in [(8, "conv1"), (16, "conv2")]:
    h = F.max_pooling(F.relu(PF.convolution(h, maps, (3, 3), (1, 1), name=name)), (2, 2))
loss = F.mean(F.softmax_cross_entropy(PF.affine(h, 10, name="pred"), labels))

grads = nn.grad([loss], nn.get_parameters().values())
target = 0
loss += sum([(F.sum(g**2) ** 0.5 - target) ** 2 for g in grads])
loss.forward()
loss.backward()
