import nnabla as nn
import nnabla.functions as F
import nnabla.parametric_functions as PF
import nnabla.solvers as S
import numpy as np

x, t = nn.Variable((9, 6)), nn.Variable((9, 1))
h = F.dropout(F.relu(PF.affine(x, 12, name="l1")), 0.3)
h = F.dropout(F.tanh(PF.affine(h, 12, name="l2")), 0.3)
loss = F.mean(F.softmax_cross_entropy(PF.affine(h, 3, name="l3"), t))
solver = S.Momentum(0.1)
solver.set_parameters(nn.get_parameters())
rng = np.random.RandomState(0)
for _ in range(3):
    x.d, t.d = rng.rand(9, 6), rng.randint(0, 3, (9, 1))
    loss.forward(clear_no_need_grad=True)
    solver.zero_grad()
    loss.backward(clear_buffer=True)
    solver.update()
