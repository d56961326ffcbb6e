"""One network made of a Chainer link, an nnabla parametric function, a torch layer and a Gluon block, and one
optimizer.

    python -m compatgrad run examples/mixed/train_four_frameworks.py

Variables pass from one framework to the next in one graph, which `interop.as_torch_module` makes a torch.nn.Module with
the parameters of all parts. Before the training, the gradient with respect to every element of every parameter is
compared with the change of the loss when that element is moved a little. After each epoch the network is tested on
digits that it has not seen.
"""

import chainer.functions as F
import chainer.links as L
import digits
import mxnet as mx
import nnabla as nn
import nnabla.functions as NF
import nnabla.parametric_functions as PF
import options
import torch
from mxnet import gluon
from torch.utils.data import DataLoader, TensorDataset

from compatgrad import interop


class Network:
    """Scores (n, 10) of images (n, 1, 8, 8): one graph through four frameworks.

    All functions are smooth, as finite differences require.
    """

    def __init__(self):
        self.link = L.Convolution2D(1, 8, ksize=3)
        self.layer = torch.nn.Linear(32, 16)
        self.block = gluon.nn.HybridSequential()
        self.block.add(gluon.nn.LayerNorm(in_channels=16), gluon.nn.Dense(10, in_units=16))
        self.block.initialize(mx.init.Xavier())

    def __call__(self, x):
        h = F.average_pooling_2d(F.tanh(self.link(x)), 2)  # (n, 8, 3, 3), in Chainer
        h = NF.tanh(PF.convolution(h, 8, (2, 2)))  # (n, 8, 2, 2), in nnabla
        h = interop.call(self.layer, F.reshape(h, (-1, 32)))  # (n, 16), in torch
        return self.block(F.tanh(h))

    def parameters(self):
        """The parameters of the three frontends, by name."""
        found = {f"chainer{path}": p for path, p in self.link.namedparams()}
        found |= {f"nnabla/{name}": p for name, p in nn.get_parameters().items()}
        found |= {f"gluon/{name}": p.data() for name, p in self.block._collect_params_with_prefix().items()}
        return found


def build():
    """The network as a torch module, whose parameters share memory with those of all four frameworks."""
    network = Network()
    network(mx.nd.zeros((1, 1, 8, 8)))  # nnabla creates parameters at the first call
    model = interop.as_torch_module(network, network.parameters(), frontend="mxnet")
    model.add_module("torch", network.layer)
    return model


def loss_of(model, x, t):
    return torch.nn.functional.cross_entropy(model(x).double(), t)  # double keeps small differences


def deviation(p, loss, step):
    """How far the gradient in `p.grad` is from central differences, relative to its largest element.

    Not relative to each element, because the rounding error of the differences is about the same for all elements.
    """
    differences = torch.empty(p.numel(), dtype=torch.float64)
    flat = p.detach().view(-1)  # shares the memory of the parameter of any framework
    for i, old in enumerate(flat.tolist()):
        ends = []
        for distance in (-step, step):
            flat[i] = old + distance
            ends.append((flat[i].item(), loss()))
        flat[i] = old
        (a, low), (b, high) = ends
        differences[i] = (high - low) / (b - a)
    return ((p.grad.view(-1) - differences).abs().max() / differences.abs().max()).item()


def check_gradients(model, x, t, step, tolerance):
    """Compares the gradients of all parameters with finite differences; returns the largest deviation."""
    model.zero_grad()
    loss_of(model, x, t).backward()

    @torch.no_grad()
    def loss():
        return loss_of(model, x, t).item()

    worst = 0.0
    print(f"{'parameter':<28}{'elements':>9}{'|gradient|':>12}{'deviation':>11}")
    for name, p in model.named_parameters():
        worst = max(worst, found := deviation(p, loss, step))
        print(f"{name:<28}{p.numel():>9}{p.grad.norm().item():>12.5f}{found:>11.1e}")
        if found > tolerance:
            raise SystemExit(f"the gradient by {name} is not that of finite differences: {found:.1e} apart")
    return worst


def train(model, data, test_data, args):
    """Trains all parameters by one optimizer; returns the curves."""
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(TensorDataset(*data), args.batchsize, shuffle=True, drop_last=True)
    curves = {"loss": [], "test accuracy": []}
    print("epoch      loss  test accuracy")
    for epoch in range(1, args.epoch + 1):
        losses = []
        for x, t in loader:
            optimizer.zero_grad()
            loss = loss_of(model, x, t)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        x, t = test_data
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == t).float().mean().item()
        curves["loss"].append(sum(losses) / len(losses))
        curves["test accuracy"].append(accuracy)
        print(f"{epoch:5d}  {curves['loss'][-1]:8.5f}  {accuracy:13.3f}", flush=True)
    return curves


def main():
    p = options.parser(__doc__, epoch=10, batchsize=50, lr=0.005)
    p.add_argument("--step", type=float, default=0.005, help="step of the finite differences")
    p.add_argument("--tolerance", type=float, default=0.001, help="largest deviation from finite differences")
    args = p.parse_args()
    options.start(args)
    mx.random.seed(args.seed)
    nn.random.seed(args.seed)
    nn.set_auto_forward(True)

    data, test_data = [(torch.from_numpy(x), torch.from_numpy(t).long()) for x, t in digits.arrays()]
    model = build()
    worst = check_gradients(model, data[0][:10], data[1][:10], args.step, args.tolerance)
    print(f"gradients by all parameters: {worst:.1e} from finite differences at most")
    curves = train(model, data, test_data, args)
    if args.plot:
        options.plot(args.plot, curves)


if __name__ == "__main__":
    main()
