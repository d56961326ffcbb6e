"""What real MXNet 1.9.1 gives for expressions of mx.np and mx.npx.

    PYTHON -m tests.golden.mxnet_np

PYTHON is an interpreter in which real MXNet runs. Records mxnet_np.json beside this file: expression -> [class, shape,
dtype, values], a list of these, or a Python value.
"""

import pathlib
import tempfile

import numpy as onp

from tests.golden import files

GOLDEN = pathlib.Path(__file__).with_name("mxnet_np.json")
NETWORK = GOLDEN.with_name("mxnet_np_net-symbol.json")

CREATED = """
np.array([1,2])|np.array(onp.array([1,2]))|np.array(onp.array([1.,2]))|np.array([True,False])|np.array(5)|np.array(i32)
np.array([i32,i32])|np.array([[1,2],[3,4]],dtype=int)|np.array([])|np.zeros((2,))|np.zeros(())|np.zeros(3,dtype=int)
np.ones((2,),dtype='bool')|np.full((2,),7)|np.full((2,),True)|np.full((2,),7.5)|np.arange(3)|np.arange(1,7,2,dtype='int32')
np.linspace(0,1,5)|np.eye(2)|np.identity(2)|np.empty((0,2))|np.zeros_like(i32)|np.ones_like(f64)|np.full_like(i32,3)
np.zeros_like(i32,dtype='float32')|np.logspace(0,2,3)|np.meshgrid(f32,f32)|np.tril(o)|np.indices((2,2))|np.diag(f32)
"""
ARITHMETIC = """
i8+i32|i32+i64|i32+f32|f16+f32|f32+f64|i32/i32|i32/f32|i32/2|i32*2|i32*2.5|i32+True|f32+1|f32**2|i32**2|2**i32|i32**f32
f32%2|i32%2|i32-1.5|1-i32|f32==f32|f32>0|i32==2|2<f32|m&m|m|~m|m^m|i32&1|-i32|abs(f32)|M@M.T|f32!=1|M+f32.sum()|f32>=f32
np.exp(f16)|np.exp(i32)|np.abs(i32)|np.floor(i32)|np.square(i32)|np.sign(f32)|np.log(i64)|np.maximum(f32,0)|np.cbrt(f32)
np.minimum(f32,0.5)|np.add(f32,i32)|np.mod(i32,2)|np.power(f32,2)|np.isnan(f32)|np.isfinite(f32)|np.clip(f32,0,1)
np.round(f32)|np.around(np.array([1.256]),2)|np.logical_not(f32)|np.equal(f32,1)|np.tanh(f32)|np.arctan2(f32,f32)
np.hypot(f32,f32)|np.degrees(f32)|np.rint(f32)|np.trunc(f32)|np.fix(f32)|np.true_divide(i32,i32)|np.reciprocal(i32)
np.greater(f32,0)|np.bitwise_and(i32,i32)|np.invert(i32)|np.where(f32>0,1,0)|np.where(f32>0,f32,1)
np.nan_to_num(np.array([1.,onp.nan]))|np.expm1(f32)|np.log1p(np.abs(f32))|np.sqrt(M)|np.fabs(f32)|np.negative(f32)
"""
REDUCED = """
f32.sum()|i32.sum()|i8.sum()|i32.mean()|f32.mean()|f16.sum()|i32.prod()|i32.max()|m.any()|m.all()|np.all(f32)|f32.argmax()
M.argmax(axis=1)|M.argmax(1)|np.argmin(M,axis=0)|np.argsort(f32)|np.sort(f32)|M.cumsum()|M.cumsum(axis=0)|np.cumsum(i32)
np.mean(M,axis=0)|np.mean(M,axis=(0,1),keepdims=True)|np.std(M)|np.var(M,axis=1,ddof=1)|np.linalg.norm(M)|M.min(axis=0)
np.linalg.norm(M,axis=1)|np.linalg.norm(f32,ord=1)|M.sum(axis=1,keepdims=True)|M.std()|M.var()|np.max(f32)|np.trace(M)
np.average(f32)|np.unique(np.array([1,2,1]))|np.nonzero(f32)|np.percentile(f32,50)|np.bincount(i64)|np.diff(f32)
np.unique(np.array([1,2,1]),return_counts=True,return_inverse=True)|np.argwhere(f32)|np.where(f32>0)|np.allclose(f32,f32)
np.dot(M,M.T)|np.dot(f32,f32)|np.matmul(M,M.T)|np.tensordot(M,M.T,1)|np.einsum('ij,kj->ik',M,M)|np.inner(f32,f32)
np.outer(f32,f32)|np.vdot(f32,f32)|np.linalg.det(np.eye(2))|np.linalg.solve(np.eye(2)*2,f32)|np.linalg.cholesky(np.eye(2))
np.tensordot(T,T,([0,2],[0,2]))|np.dot(T,np.ones((4,2)))|np.linalg.slogdet(np.eye(2)*2)|np.linalg.inv(np.eye(2)*2)|np.einsum('ii',M@M.T)
"""
MOVED = """
M.T|M.reshape(3,2)|M.reshape((-1,))|M.reshape(-1,2)|M[0]|M[0,1]|M[:,1]|M[M>2]|M[np.array([0,1])]|M[[0,1],[1,2]]|M[None]
M[...,0]|M[np.array([1,0],dtype='int32')]|M[1:,::2]|M[-1]|M[:,::-1]|T[:,0,[1,2]]|np.concatenate([f32,f32])|M[:,f3>1]
np.stack([f32,f32],axis=1)|np.vstack([f32,f32])|np.hstack([f32,f32])|np.split(np.arange(6),3)|np.split(np.arange(6),[2,3])
np.array_split(np.arange(5),2)|np.expand_dims(f32,0)|np.squeeze(np.ones((1,2)))|np.swapaxes(M,0,1)|np.moveaxis(T,0,2)
np.transpose(T,(1,2,0))|np.tile(f32,2)|np.tile(M,(2,1))|np.repeat(f32,2)|np.repeat(M,2,axis=1)|np.take(f32,np.array([1,0]))
np.flip(M,0)|np.broadcast_to(f32,(2,2))|np.pad(f32,(1,1))|np.pad(M,((1,1),(0,0)),mode='edge')|np.ravel(M)|M.flatten()
np.rot90(M)|np.roll(f32,1)|np.roll(M,1,axis=1)|np.append(f32,f32)|np.column_stack([f32,f32])|np.atleast_2d(f32)
np.dsplit(np.ones((1,2,2)),2)|np.take(M,np.array([1,5]),axis=1,mode='clip')|M.take(np.array([1]),axis=1)|M.transpose(1,0)
M.astype(int)|M.copy()|M.squeeze()|M.swapaxes(0,1)|M.repeat(2,axis=0)|M.broadcast_to((2,2,3))|M.tolist()|M.size|M.ndim|len(M)
M.as_nd_ndarray()|nd.ones(2).as_np_ndarray()|repr(M)|str(M)|repr(np.array(3.))|str(np.array(3.))|repr(i32)|repr(f64)
repr(np.zeros((0,2)))|float(np.array(3.))|bool(np.array(0))|np.array(2.5).item()|str(M.dtype)|np.shape(M)|np.ndim(M)|np.size(M)
"""
EXTENDED = """
npx.relu(f32)|npx.sigmoid(f32)|npx.softmax(M)|npx.log_softmax(M,axis=0)|npx.topk(M,k=2)|npx.topk(M,k=1,ret_typ='both')
npx.pick(M,np.array([0,1]))|npx.one_hot(np.array([0,1]),3)|npx.one_hot(i32,3)|npx.reshape(M,(-2,-2))|npx.reshape(T,(-2,-4))
npx.batch_dot(M.reshape(1,2,3),M.reshape(1,3,2))|npx.reshape(T,(-5,-2))|npx.reshape(T,(-6,1,2,-4))|npx.reshape(T,(-2,-1))
npx.arange_like(M)|npx.arange_like(M,axis=1)|npx.shape_array(M)|npx.gather_nd(M,np.array([[0,1],[1,2]]))|npx.nonzero(f32)
npx.sequence_mask(M,np.array([1,2,1]),use_sequence_length=True)|npx.smooth_l1(f32)|npx.leaky_relu(f32,act_type='leaky')
npx.fully_connected(M,o,num_hidden=2,no_bias=True)|npx.dropout(M)|npx.batch_flatten(T)|npx.embedding(np.array([0,1]),M,2,3)
npx.erf(f32)|npx.reshape_like(M,M.T)|npx.pooling(np.ones((1,1,4,4)),kernel=(2,2),stride=(2,2))|npx.activation(M,act_type='relu')
npx.convolution(np.ones((1,1,3,3)),np.ones((1,1,2,2)),kernel=(2,2),num_filter=1,no_bias=True)|npx.gamma(np.abs(f32))
npx.layer_norm(M,np.ones(3),np.zeros(3))|npx.num_gpus()>=0|npx.is_np_array()|npx.reshape(T,(-1,-5))|npx.reshape(T,(-4,1))
"""


def expressions():
    """All expressions."""
    text = CREATED + ARITHMETIC + REDUCED + MOVED + EXTENDED
    return [e for line in text.split("\n") if line for e in line.split("|") if e]


def names(mx):
    """The names that expressions use."""
    np = mx.np
    a = np.array
    return {
        "np": np, "npx": mx.npx, "nd": mx.nd, "onp": onp,
        "i8": a([1, 2], dtype="int8"), "i32": a([1, 2], dtype="int32"), "i64": a([3, 4], dtype="int64"),
        "f16": a([1, 2], dtype="float16"), "f32": a([1, -2.5]), "f64": a([1, 2], dtype="float64"),
        "m": a([True, False], dtype="bool"), "M": np.arange(6).reshape(2, 3), "o": np.ones((2, 3)),
        "T": np.arange(24).reshape(2, 3, 4), "f3": a([1.0, 2.0, 3.0]),
    }  # fmt: skip


def shown(mx, x):
    """A value as JSON keeps it."""
    if isinstance(x, mx.nd.NDArray):
        return [type(x).__name__, list(x.shape), onp.dtype(x.dtype).name, x.asnumpy().tolist()]
    if isinstance(x, (list, tuple)):
        return [shown(mx, v) for v in x]
    return x.item() if isinstance(x, onp.generic) else x


def evaluated(mx):
    """expression -> its value."""
    mx.npx.set_np()
    try:
        return {e: shown(mx, eval(e, names(mx))) for e in expressions()}
    finally:
        mx.npx.reset_np()


def mixture(mx):
    """A network of mx.np's operators, whose graph is in mxnet_np_net-symbol.json."""

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.d = mx.gluon.nn.Dense(3, in_units=4)

        def hybrid_forward(self, F, x):
            y = self.d(x)
            z = F.np.concatenate([y, F.np.exp(y) * 2 - 1], axis=1)
            s = F.np.sum(z * z, axis=-1, keepdims=True)
            y = F.np.dot(F.np.where(z > 0.5, z, 0.0), F.np.ones((6, 2))) + F.np.mean(s)
            y = y + F.np.split(z, 3, axis=1)[1] + x[:, 1:3] + F.npx.relu(x[0, 0]) + F.np.clip(x, 0, 1).max()
            return y + F.np.expand_dims(F.np.einsum("ij,ij->i", x, x), 1)

    return Net()


def save_network(mx):
    """Write the graph of `mixture`."""
    mx.npx.set_np()
    net = mixture(mx)
    net.initialize(mx.init.Constant(0.1))
    net.hybridize()
    net(mx.np.ones((2, 4)))
    with tempfile.TemporaryDirectory() as folder:
        net.export(f"{folder}/net")
        NETWORK.write_text(pathlib.Path(folder, "net-symbol.json").read_text())


if __name__ == "__main__":
    import mxnet

    save_network(mxnet)
    files.write(GOLDEN, evaluated(mxnet), files.versions("mxnet"))
