"""Memory of a training step of the convolutional example in torch, with all training images as one batch."""

import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

from tests.benchmarks import memory

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "chainer"))
import digits


def conv_bn(n_in, n_out):
    return nn.Sequential(nn.Conv2d(n_in, n_out, 3, padding=1, bias=False), nn.BatchNorm2d(n_out), nn.ELU())


class CNN(nn.Module):
    def __init__(self, width, n_out):
        super().__init__()
        self.conv1 = conv_bn(1, width)
        self.conv2 = conv_bn(width, 2 * width)
        self.conv3 = conv_bn(2 * width, 2 * width)
        self.fc = nn.Linear(2 * width * 2 * 2, n_out)

    def forward(self, x):
        h = F.max_pool2d(self.conv1(x), 2)
        h = self.conv2(h)
        h = F.avg_pool2d(self.conv3(h) + h, 2)
        return self.fc(h.flatten(1))


if __name__ == "__main__":
    torch.set_num_threads(1)
    (x, t), _ = digits.load(ndim=3)
    x, t = torch.from_numpy(x), torch.from_numpy(t).long()
    model = CNN(16, 10)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=5e-4)

    def step():
        loss = F.cross_entropy(model(x), t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    memory.report(step)
