"""The tenth derivative of the sine, and by backward the eleventh."""

import nnabla as nn
import nnabla.functions as F
import numpy as np
from nnabla.backward_functions import show_registry

x = nn.Variable.from_numpy_array(np.random.randn(2, 2)).apply(need_grad=True)
x.grad.zero()

dnx = F.sin(x)
for _ in range(10):
    dnx = nn.grad([dnx], [x])[0]
dnx.forward()
print(np.allclose(dnx.d, -np.sin(x.d)))
dnx.backward()
print(np.allclose(x.g, -np.cos(x.d)))

show_registry()
