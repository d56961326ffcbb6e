"""Caffe's protocol buffer messages, as far as `CaffeFunction` and `exporters.caffe` use them. Reading skips all other
fields.
"""

from compatgrad.formats.protobuf import define

_SCHEMA = """
NetParameter: name:string=1 layers:V1LayerParameter*=2 layer:LayerParameter*=100
LayerParameter: name:string=1 type:string=2 bottom:string*=3 top:string*=4 blobs:BlobProto*=7 phase:int32=10
 concat_param:ConcatParameter=104 convolution_param:ConvolutionParameter=106 dropout_param:DropoutParameter=108
 eltwise_param:EltwiseParameter=110 inner_product_param:InnerProductParameter=117 lrn_param:LRNParameter=118
 pooling_param:PoolingParameter=121 relu_param:ReLUParameter=123 sigmoid_param:SigmoidParameter=124
 softmax_param:SoftmaxParameter=125 slice_param:SliceParameter=126 reshape_param:ReshapeParameter=133
 batch_norm_param:BatchNormParameter=139 scale_param:ScaleParameter=142
V1LayerParameter: bottom:string*=2 top:string*=3 name:string=4 type:int32=5 blobs:BlobProto*=6
 concat_param:ConcatParameter=9 convolution_param:ConvolutionParameter=10 dropout_param:DropoutParameter=12
 inner_product_param:InnerProductParameter=17 lrn_param:LRNParameter=18 pooling_param:PoolingParameter=19
 eltwise_param:EltwiseParameter=24 relu_param:ReLUParameter=30 slice_param:SliceParameter=31
 sigmoid_param:SigmoidParameter=38 softmax_param:SoftmaxParameter=39
BlobProto: num:int32=1 channels:int32=2 height:int32=3 width:int32=4 data:float*=5 diff:float*=6 shape:BlobShape=7
 double_data:double*=8 double_diff:double*=9
BlobShape: dim:int64*=1
ConcatParameter: concat_dim:uint32=1=1 axis:int32=2=1
ConvolutionParameter: num_output:uint32=1 bias_term:bool=2=1 pad:uint32*=3 kernel_size:uint32*=4 group:uint32=5=1
 stride:uint32*=6 pad_h:uint32=9 pad_w:uint32=10 kernel_h:uint32=11 kernel_w:uint32=12 stride_h:uint32=13
 stride_w:uint32=14 engine:int32=15 axis:int32=16=1 force_nd_im2col:bool=17 dilation:uint32*=18
DropoutParameter: dropout_ratio:float=1=0.5
InnerProductParameter: num_output:uint32=1 bias_term:bool=2=1 axis:int32=5=1
LRNParameter: local_size:uint32=1=5 alpha:float=2=1 beta:float=3=0.75 norm_region:int32=4 k:float=5=1 engine:int32=6
PoolingParameter: pool:int32=1 kernel_size:uint32=2 stride:uint32=3=1 pad:uint32=4 kernel_h:uint32=5 kernel_w:uint32=6
 stride_h:uint32=7 stride_w:uint32=8 pad_h:uint32=9 pad_w:uint32=10 engine:int32=11 global_pooling:bool=12
ReLUParameter: negative_slope:float=1 engine:int32=2
ReshapeParameter: shape:BlobShape=1 axis:int32=2 num_axes:int32=3=-1
BatchNormParameter: use_global_stats:bool=1 moving_average_fraction:float=2=0.999 eps:float=3=1e-5
EltwiseParameter: operation:int32=1=1 coeff:float*=2 stable_prod_grad:bool=3=1
ScaleParameter: axis:int32=1=1 num_axes:int32=2=1 bias_term:bool=4
SliceParameter: slice_dim:uint32=1=1 slice_point:uint32*=2 axis:int32=3=1
SoftmaxParameter: engine:int32=1 axis:int32=2=1
SigmoidParameter: engine:int32=1
"""
_V1_TYPES = (
    "NONE ACCURACY BNLL CONCAT CONVOLUTION DATA DROPOUT EUCLIDEAN_LOSS FLATTEN HDF5_DATA HDF5_OUTPUT IM2COL "
    "IMAGE_DATA INFOGAIN_LOSS INNER_PRODUCT LRN MULTINOMIAL_LOGISTIC_LOSS POOLING RELU SIGMOID SOFTMAX "
    "SOFTMAX_LOSS SPLIT TANH WINDOW_DATA ELTWISE POWER SIGMOID_CROSS_ENTROPY_LOSS HINGE_LOSS MEMORY_DATA "
    "ARGMAX THRESHOLD DUMMY_DATA SLICE MVN ABSVAL SILENCE CONTRASTIVE_LOSS EXP DECONVOLUTION"
)

TRAIN, TEST = 0, 1
_SOURCE = "`chainer.links.caffe.protobuf3.caffe_pb2.{name}` of Chainer 7.8.1."
_classes = define(_SCHEMA.strip(), __name__, "proto2", _SOURCE)
globals().update(_classes)
for _number, _name in enumerate(_V1_TYPES.split()):
    setattr(_classes["V1LayerParameter"], _name, _number)
