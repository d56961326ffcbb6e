"""The same large networks as torch programs.

`large_torch best`: with channels last, fused attention and fused optimizers. `large_torch cuda`: on a GPU.
"""

import sys
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from tests.benchmarks import large
from tests.benchmarks.worker import THREADS, serve

BEST = "best" in sys.argv[1:]
DEVICE = "cuda" if "cuda" in sys.argv[1:] else "cpu"
FUSED = {"fused": True} if BEST else {}
LAYOUT = torch.channels_last if BEST else torch.contiguous_format


def floats(*shape):
    x = torch.rand(*shape, device=DEVICE)
    return x.to(memory_format=LAYOUT) if x.dim() == 4 else x


def labels(n_classes, *shape):
    return torch.randint(0, n_classes, shape, device=DEVICE)


def on_device(model):
    return model.to(DEVICE, memory_format=LAYOUT)


def adam(model, rate=1e-3, beta1=0.9):
    return torch.optim.Adam(model.parameters(), rate, (beta1, 0.999), **FUSED)


def momentum(model):
    return torch.optim.SGD(model.parameters(), large.RATE, momentum=0.9, **FUSED)


def update(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def inference(model, x):
    model.eval()

    def step():
        with torch.inference_mode():
            return model(x)

    return step


def supervised(mode, model, optimizer, x, t):
    model = on_device(model)
    if mode == "infer":
        return inference(model, x)
    optimizer = optimizer(model)
    return lambda: update(optimizer, F.cross_entropy(model(x), t))


def classifier(mode, batch, model):
    x, t = floats(batch, 3, large.SIZE, large.SIZE), labels(large.CLASSES, batch)
    return supervised(mode, model, momentum, x, t)


def conv_bn(n_in, n_out, ksize, stride=1, pad=0, groups=1, activation=nn.ReLU):
    """A convolution without bias, batch normalization and an activation."""
    conv = nn.Conv2d(n_in, n_out, ksize, stride, pad, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(n_out), *([activation(inplace=True)] if activation else []))


class Residual(nn.Module):
    def __init__(self, n_in, n_mid, n_out, stride, bottleneck):
        super().__init__()
        if bottleneck:
            self.layers = nn.Sequential(
                conv_bn(n_in, n_mid, 1, stride),
                conv_bn(n_mid, n_mid, 3, pad=1),
                conv_bn(n_mid, n_out, 1, activation=None),
            )
        else:
            self.layers = nn.Sequential(
                conv_bn(n_in, n_mid, 3, stride, 1), conv_bn(n_mid, n_out, 3, pad=1, activation=None)
            )
        same = n_in == n_out and stride == 1
        self.shortcut = nn.Identity() if same else conv_bn(n_in, n_out, 1, stride, activation=None)

    def forward(self, x):
        return F.relu(self.layers(x) + self.shortcut(x), inplace=True)


def global_pooling():
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())


def resnet(mode, batch, name):
    blocks, bottleneck = large.STAGES[name]
    layers = [conv_bn(3, 64, 7, 2, 3), nn.MaxPool2d(3, 2, 1)]
    n_in = 64
    for i, (channels, count) in enumerate(zip(large.CHANNELS, blocks, strict=True)):
        n_out = 4 * channels if bottleneck else channels
        for j in range(count):
            layers.append(Residual(n_in, channels, n_out, 2 if i and not j else 1, bottleneck))
            n_in = n_out
    return classifier(mode, batch, nn.Sequential(*layers, global_pooling(), nn.Linear(n_in, large.CLASSES)))


resnet18, resnet50 = partial(resnet, name="resnet18"), partial(resnet, name="resnet50")


def vgg16(mode, batch):
    layers, n_in = [], 3
    for channels, count in large.VGG16:
        for _ in range(count):
            layers += [nn.Conv2d(n_in, channels, 3, padding=1), nn.ReLU(inplace=True)]
            n_in = channels
        layers.append(nn.MaxPool2d(2))
    layers += [nn.Flatten(), nn.Linear(n_in * (large.SIZE // 32) ** 2, 4096), nn.ReLU(inplace=True), nn.Dropout()]
    layers += [nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4096, large.CLASSES)]
    return classifier(mode, batch, nn.Sequential(*layers))


class InvertedResidual(nn.Module):
    def __init__(self, n_in, n_out, expansion, stride):
        super().__init__()
        self.residual = n_in == n_out and stride == 1
        n_mid = n_in * expansion
        self.layers = nn.Sequential(
            *([] if expansion == 1 else [conv_bn(n_in, n_mid, 1, activation=nn.ReLU6)]),
            conv_bn(n_mid, n_mid, 3, stride, 1, groups=n_mid, activation=nn.ReLU6),
            conv_bn(n_mid, n_out, 1, activation=None),
        )

    def forward(self, x):
        h = self.layers(x)
        return h + x if self.residual else h


def mobilenet2(mode, batch):
    layers, n_in = [conv_bn(3, 32, 3, 2, 1, activation=nn.ReLU6)], 32
    for expansion, channels, count, stride in large.MOBILENET2:
        for i in range(count):
            layers.append(InvertedResidual(n_in, channels, expansion, 1 if i else stride))
            n_in = channels
    layers += [conv_bn(n_in, 1280, 1, activation=nn.ReLU6), global_pooling(), nn.Linear(1280, large.CLASSES)]
    return classifier(mode, batch, nn.Sequential(*layers))


class UNet(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down, self.up, self.back = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        n_in = 3
        for n in channels:
            self.down.append(nn.Sequential(conv_bn(n_in, n, 3, pad=1), conv_bn(n, n, 3, pad=1)))
            n_in = n
        for n in channels[-2::-1]:
            self.up.append(nn.ConvTranspose2d(2 * n, n, 2, 2))
            self.back.append(nn.Sequential(conv_bn(2 * n, n, 3, pad=1), conv_bn(n, n, 3, pad=1)))
        self.out = nn.Conv2d(n, large.SEGMENTS, 1)

    def forward(self, x):
        kept = []
        for down in self.down:
            x = down(F.max_pool2d(kept[-1], 2) if kept else x)
            kept.append(x)
        kept.pop()
        for up, back in zip(self.up, self.back, strict=True):
            x = back(torch.cat((kept.pop(), up(x)), 1))
        return self.out(x)


def unet(mode, batch):
    x, t = floats(batch, 3, large.SIZE, large.SIZE), labels(large.SEGMENTS, batch, large.SIZE, large.SIZE)
    return supervised(mode, UNet(large.UNET), adam, x, t)


def generator(channels):
    layers = [nn.Linear(large.NOISE, channels[0] * 16), nn.Unflatten(1, (channels[0], 4, 4))]
    layers += [nn.BatchNorm2d(channels[0]), nn.ReLU(inplace=True)]
    for n_in, n_out in zip(channels, channels[1:], strict=False):
        layers.append(nn.ConvTranspose2d(n_in, n_out, 4, 2, 1, bias=False))
        layers += [nn.BatchNorm2d(n_out), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.ConvTranspose2d(channels[-1], 3, 4, 2, 1), nn.Tanh())


def discriminator(channels):
    layers = [nn.Conv2d(3, channels[-1], 4, 2, 1), nn.LeakyReLU(0.2, inplace=True)]
    for n_out, n_in in zip(channels[-2::-1], channels[:0:-1], strict=True):
        layers += [nn.Conv2d(n_in, n_out, 4, 2, 1, bias=False), nn.BatchNorm2d(n_out), nn.LeakyReLU(0.2, inplace=True)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels[0] * 16, 1))


def dcgan(mode, batch):
    gen = on_device(generator(large.GENERATOR))
    x, z = floats(batch, 3, large.SIZE, large.SIZE), floats(batch, large.NOISE)
    if mode == "infer":
        return inference(gen, z)
    dis = on_device(discriminator(large.GENERATOR))
    gen_optimizer, dis_optimizer = adam(gen, 2e-4, 0.5), adam(dis, 2e-4, 0.5)

    def step():
        made = gen(z)
        loss = F.softplus(-dis(x)).mean() + F.softplus(dis(made.detach())).mean()
        update(dis_optimizer, loss)
        update(gen_optimizer, F.softplus(-dis(made)).mean())

    return step


class GatedLayer(nn.Module):
    """A dilated convolution over the samples before each one, a gate, and convolutions to the next layer and out."""

    def __init__(self, units, skip, dilation):
        super().__init__()
        self.conv = nn.Conv1d(units, 2 * units, 2, padding=dilation, dilation=dilation)
        self.on, self.skip = nn.Conv1d(units, units, 1), nn.Conv1d(units, skip, 1)

    def forward(self, x):
        a, b = self.conv(x)[:, :, : x.shape[2]].chunk(2, 1)
        h = torch.tanh(a) * torch.sigmoid(b)
        return x + self.on(h), self.skip(h)


class WaveNet(nn.Module):
    def __init__(self, units, skip, levels, dilations):
        super().__init__()
        self.first = nn.Conv1d(levels, units, 2, padding=1)
        self.layers = nn.ModuleList(GatedLayer(units, skip, d) for d in dilations)
        self.out1, self.out2 = nn.Conv1d(skip, skip, 1), nn.Conv1d(skip, levels, 1)

    def forward(self, x):
        h, total = self.first(x)[:, :, : x.shape[2]], 0
        for layer in self.layers:
            h, skip = layer(h)
            total = total + skip
        return self.out2(F.relu(self.out1(F.relu(total))))


def wavenet(mode, batch):
    shape = dict(large.WAVENET)
    length, levels = shape.pop("length"), shape["levels"]
    x = F.one_hot(labels(levels, batch, length), levels).float().transpose(1, 2).contiguous()
    return supervised(mode, WaveNet(**shape), lambda model: adam(model, 1e-4), x, labels(levels, batch, length))


class Attention(nn.Module):
    def __init__(self, units, heads, mask):
        super().__init__()
        self.heads, self.causal = heads, mask is not None
        self.qkv, self.out = nn.Linear(units, 3 * units), nn.Linear(units, units)
        self.register_buffer("mask", mask)

    def forward(self, x, batch):
        depth = x.shape[1] // self.heads
        q, k, v = self.qkv(x).view(batch, -1, 3, self.heads, depth).permute(2, 0, 3, 1, 4)
        if BEST:
            h = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-1, -2) * depth**-0.5
            h = (scores + self.mask if self.causal else scores).softmax(-1) @ v
        return self.out(h.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    """A layer of a transformer: `first`: normalize what attention and perceptron read, not the sums."""

    def __init__(self, units, heads, activation, mask=None, first=False):
        super().__init__()
        self.first = first
        self.attention = Attention(units, heads, mask)
        self.perceptron = nn.Sequential(nn.Linear(units, 4 * units), activation(), nn.Linear(4 * units, units))
        self.norm1, self.norm2 = nn.LayerNorm(units), nn.LayerNorm(units)

    def forward(self, x, batch):
        if self.first:
            x = x + self.attention(self.norm1(x), batch)
            return x + self.perceptron(self.norm2(x))
        x = self.norm1(x + self.attention(x, batch))
        return self.norm2(x + self.perceptron(x))


class Transformer(nn.Module):
    def __init__(self, vocabulary, length, units, heads, layers):
        super().__init__()
        mask = torch.triu(torch.full((length, length), -1e9), 1)
        self.embed = nn.Embedding(vocabulary, units)
        self.layers = nn.ModuleList(Layer(units, heads, nn.ReLU, mask, True) for _ in range(layers))
        self.out = nn.Linear(units, vocabulary)

    def forward(self, x):
        h = self.embed(x).flatten(0, 1)
        for layer in self.layers:
            h = layer(h, len(x))
        return self.out(h)


def transformer(mode, batch):
    vocabulary, length = large.TRANSFORMER["vocabulary"], large.TRANSFORMER["length"]
    x, t = labels(vocabulary, batch, length), labels(vocabulary, batch * length)
    return supervised(mode, Transformer(**large.TRANSFORMER), adam, x, t)


class Bert(nn.Module):
    def __init__(self, vocabulary, length, units, heads, layers):
        super().__init__()
        self.register_buffer("positions", torch.arange(length))
        self.word, self.kind, self.position = (nn.Embedding(n, units) for n in (vocabulary, 2, length))
        self.norm = nn.LayerNorm(units)
        self.layers = nn.ModuleList(Layer(units, heads, nn.GELU) for _ in range(layers))
        self.pool, self.out = nn.Linear(units, units), nn.Linear(units, 2)

    def forward(self, inputs):
        x, kinds = inputs
        h = self.word(x) + self.kind(kinds) + self.position(self.positions)
        h = self.norm(h.flatten(0, 1))
        for layer in self.layers:
            h = layer(h, len(x))
        first = h.view(*x.shape, -1)[:, 0]
        return self.out(torch.tanh(self.pool(first)))


def bert(mode, batch):
    length = large.BERT["length"]
    x = labels(large.BERT["vocabulary"], batch, length), labels(2, batch, length)
    return supervised(mode, Bert(**large.BERT), lambda model: adam(model, 1e-4), x, labels(2, batch))


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    serve(large.programs(globals()), finish=torch.cuda.synchronize if DEVICE == "cuda" else None, warm=large.WARM)
