"""The part of Caffe's model format that `CaffeFunction` reads: protocol buffer messages, decoded and encoded.

Every message has one line per field below: number, name, type, and the default after "=". Types: int, bool,
float, double, str, or another message; "*" is repeated, "**" repeated and packed. Other fields are skipped.
"""

import struct

import numpy

_SCHEMA = {
    "NetParameter": "1 name str; 2 layers V1LayerParameter*; 100 layer LayerParameter*",
    "LayerParameter": """
        1 name str; 2 type str; 3 bottom str*; 4 top str*; 7 blobs BlobProto*; 10 phase int;
        104 concat_param ConcatParameter; 106 convolution_param ConvolutionParameter;
        108 dropout_param DropoutParameter; 110 eltwise_param EltwiseParameter;
        117 inner_product_param InnerProductParameter; 118 lrn_param LRNParameter;
        121 pooling_param PoolingParameter; 123 relu_param ReLUParameter;
        124 sigmoid_param SigmoidParameter; 125 softmax_param SoftmaxParameter;
        126 slice_param SliceParameter; 133 reshape_param ReshapeParameter;
        139 batch_norm_param BatchNormParameter; 142 scale_param ScaleParameter""",
    "V1LayerParameter": """
        2 bottom str*; 3 top str*; 4 name str; 5 type int; 6 blobs BlobProto*;
        9 concat_param ConcatParameter; 10 convolution_param ConvolutionParameter;
        12 dropout_param DropoutParameter; 17 inner_product_param InnerProductParameter;
        18 lrn_param LRNParameter; 19 pooling_param PoolingParameter; 24 eltwise_param EltwiseParameter;
        30 relu_param ReLUParameter; 31 slice_param SliceParameter; 38 sigmoid_param SigmoidParameter;
        39 softmax_param SoftmaxParameter""",
    "BlobProto": """
        1 num int; 2 channels int; 3 height int; 4 width int; 5 data float**; 6 diff float**;
        7 shape BlobShape; 8 double_data double**; 9 double_diff double**""",
    "BlobShape": "1 dim int**",
    "ConcatParameter": "1 concat_dim int =1; 2 axis int =1",
    "ConvolutionParameter": """
        1 num_output int; 2 bias_term bool =1; 3 pad int*; 4 kernel_size int*; 5 group int =1;
        6 stride int*; 9 pad_h int; 10 pad_w int; 11 kernel_h int; 12 kernel_w int; 13 stride_h int;
        14 stride_w int; 15 engine int; 16 axis int =1; 17 force_nd_im2col bool; 18 dilation int*""",
    "DropoutParameter": "1 dropout_ratio float =0.5",
    "InnerProductParameter": "1 num_output int; 2 bias_term bool =1; 5 axis int =1",
    "LRNParameter": """
        1 local_size int =5; 2 alpha float =1; 3 beta float =0.75; 4 norm_region int; 5 k float =1;
        6 engine int""",
    "PoolingParameter": """
        1 pool int; 2 kernel_size int; 3 stride int =1; 4 pad int; 5 kernel_h int; 6 kernel_w int;
        7 stride_h int; 8 stride_w int; 9 pad_h int; 10 pad_w int; 11 engine int; 12 global_pooling bool""",
    "ReLUParameter": "1 negative_slope float; 2 engine int",
    "ReshapeParameter": "1 shape BlobShape; 2 axis int; 3 num_axes int =-1",
    "BatchNormParameter": """
        1 use_global_stats bool; 2 moving_average_fraction float =0.999; 3 eps float =1e-5""",
    "EltwiseParameter": "1 operation int =1; 2 coeff float*; 3 stable_prod_grad bool =1",
    "ScaleParameter": "1 axis int =1; 2 num_axes int =1; 4 bias_term bool",
    "SliceParameter": "1 slice_dim int =1; 2 slice_point int*; 3 axis int =1",
    "SoftmaxParameter": "1 engine int; 2 axis int =1",
    "SigmoidParameter": "1 engine int",
}
_V1_TYPES = (
    "NONE ACCURACY BNLL CONCAT CONVOLUTION DATA DROPOUT EUCLIDEAN_LOSS FLATTEN HDF5_DATA HDF5_OUTPUT IM2COL "
    "IMAGE_DATA INFOGAIN_LOSS INNER_PRODUCT LRN MULTINOMIAL_LOGISTIC_LOSS POOLING RELU SIGMOID SOFTMAX "
    "SOFTMAX_LOSS SPLIT TANH WINDOW_DATA ELTWISE POWER SIGMOID_CROSS_ENTROPY_LOSS HINGE_LOSS MEMORY_DATA "
    "ARGMAX THRESHOLD DUMMY_DATA SLICE MVN ABSVAL SILENCE CONTRASTIVE_LOSS EXP DECONVOLUTION"
)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types
_ARRAYS = {"float": "<f4", "double": "<f8"}


class _Field:
    def __init__(self, text):
        number, self.name, kind, *default = text.split()
        self.number = int(number)
        self.kind = kind.rstrip("*")
        self.repeated = "*" in kind
        self.packed = "**" in kind
        self.is_message = self.kind in _SCHEMA
        if self.is_message:
            return
        convert = {"int": int, "bool": lambda x: bool(int(x)), "str": str}.get(self.kind, float)
        self.default = convert(default[0][1:]) if default else "" if self.kind == "str" else convert(0)
        if self.kind == "float":
            self.default = float(numpy.float32(self.default))


class _Messages(list):
    def __init__(self, kind):
        self._kind = kind

    def add(self):
        self.append(self._kind())
        return self[-1]


class Message:
    """A message: fields are attributes, repeated ones lists; a field that is not set has its default."""

    def __init__(self):
        self.__dict__["_values"] = {}

    def __getattr__(self, name):
        field = type(self)._fields.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        if name in self._values:
            return self._values[name]
        if not field.repeated and not field.is_message:
            return field.default
        kind = _messages.get(field.kind)
        value = (_Messages(kind) if kind else []) if field.repeated else kind()
        return self._values.setdefault(name, value)

    def __setattr__(self, name, value):
        if name not in type(self)._fields:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        self._values[name] = value

    def HasField(self, name):
        """Whether a value was set or read."""
        return name in self._values

    def SerializeToString(self):
        """The message as bytes."""
        out = bytearray()
        for name, value in self._values.items():
            field = type(self)._fields[name]
            if field.packed:
                _put(out, field.number, _BYTES, _pack(field.kind, value))
            else:
                for item in value if field.repeated else [value]:
                    _put_item(out, field, item)
        return bytes(out)

    def MergeFromString(self, data):
        """Adds the fields of encoded bytes. ValueError where they are cut off or no message."""
        data, at = memoryview(data), 0
        while at < len(data):
            key, at = _varint(data, at)
            wire = key & 7
            if wire == _VARINT:
                value, at = _varint(data, at)
            else:
                if wire == _BYTES:
                    n, at = _varint(data, at)
                elif wire in (_FIXED32, _FIXED64):
                    n = 4 if wire == _FIXED32 else 8
                else:
                    raise ValueError(f"no {type(self).__name__}: unknown wire type {wire}")
                value, at = data[at : at + n], at + n
                if at > len(data):
                    raise ValueError(f"{type(self).__name__}: the data is cut off")
            field = type(self)._numbers.get(key >> 3)
            if field is not None:
                self._take(field, wire, value)

    def _take(self, field, wire, value):
        if field.is_message:
            target = getattr(self, field.name)
            (target.add() if field.repeated else target).MergeFromString(value)
            return
        if field.repeated and wire == _BYTES and field.kind != "str":
            old = self._values.get(field.name)
            new = _unpack(field.kind, value)
            self._values[field.name] = new if old is None or len(old) == 0 else [*old, *new]
            return
        if field.kind == "str":
            value = bytes(value).decode()
        elif field.kind in _ARRAYS:
            (value,) = struct.unpack(_ARRAYS[field.kind][0] + ("f" if field.kind == "float" else "d"), value)
        elif field.kind == "bool":
            value = bool(value)
        else:
            value = _signed(value)
        if field.repeated:
            getattr(self, field.name).append(value)
        else:
            self._values[field.name] = value


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("the data is cut off, or no protocol buffer")


def _put_varint(out, value):
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _put(out, number, wire, content):
    _put_varint(out, number << 3 | wire)
    if wire == _BYTES:
        _put_varint(out, len(content))
    out += content


def _put_item(out, field, item):
    if field.is_message:
        _put(out, field.number, _BYTES, item.SerializeToString())
    elif field.kind == "str":
        _put(out, field.number, _BYTES, item.encode())
    elif field.kind in _ARRAYS:
        wire = _FIXED32 if field.kind == "float" else _FIXED64
        _put(out, field.number, wire, _pack(field.kind, [item]))
    else:
        _put(out, field.number, _VARINT, _pack(field.kind, [item]))


def _pack(kind, values):
    if kind in _ARRAYS:
        return numpy.asarray(values, _ARRAYS[kind]).tobytes()
    out = bytearray()
    for value in values:
        _put_varint(out, int(value))
    return out


def _unpack(kind, data):
    if kind in _ARRAYS:
        return numpy.frombuffer(data, _ARRAYS[kind])
    values, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(_signed(value))
    return values


def _message_class(name, text):
    fields = [_Field(line) for line in text.split(";")]
    tables = {"_fields": {f.name: f for f in fields}, "_numbers": {f.number: f for f in fields}}
    return type(name, (Message,), tables)


_messages = {name: _message_class(name, text) for name, text in _SCHEMA.items()}
globals().update(_messages)
for _number, _name in enumerate(_V1_TYPES.split()):
    setattr(_messages["V1LayerParameter"], _name, _number)
