"""The arguments of functions in nnabla's files. A line has a function's type name, the name of its field in the message
Function (without ``_param``), the number of that field, and its arguments, which are numbered from 1.
"""

ARGUMENTS = """
Affine affine 1001 base_axis:int64
RNN rnn 1002 num_layers:int64 nonlinearity:string dropout:float bidirectional:bool training:bool
LSTM lstm 1003 num_layers:int64 dropout:float bidirectional:bool training:bool
GRU gru 1004 num_layers:int64 dropout:float bidirectional:bool training:bool
Convolution convolution 1005 base_axis:int64 pad:Shape stride:Shape dilation:Shape group:int64
  channel_last:bool
FusedConvolution fused_convolution 1006 base_axis:int64 pad:Shape stride:Shape dilation:Shape group:int64
  channel_last:bool decay_rate:float eps:float batch_stat:bool nonlinearity:string nonlinearity_args:float*
  pad_mode:string constant_value:float
DepthwiseConvolution depthwise_convolution 1007 base_axis:int64 pad:Shape stride:Shape dilation:Shape
  multiplier:int64
Deconvolution deconvolution 1008 base_axis:int64 pad:Shape stride:Shape dilation:Shape group:int64
  channel_last:bool output_padding:Shape
DepthwiseDeconvolution depthwise_deconvolution 1009 base_axis:int64 pad:Shape stride:Shape dilation:Shape
  divisor:int64
DeformableConvolution deformable_convolution 1010 base_axis:int64 pad:Shape stride:Shape dilation:Shape
  group:int64 deformable_group:int64 channel_last:bool
MaxPooling max_pooling 1012 kernel:Shape stride:Shape ignore_border:bool pad:Shape channel_last:bool
AveragePooling average_pooling 1013 kernel:Shape stride:Shape ignore_border:bool pad:Shape channel_last:bool
  including_pad:bool
SumPooling sum_pooling 1015 kernel:Shape stride:Shape ignore_border:bool pad:Shape channel_last:bool
Unpooling unpooling 1016 kernel:Shape channel_last:bool
RoiAlign roi_align 1018 output_size:Shape spatial_scale:float* sampling_ratio:int64 channel_last:bool
ReLU relu 1022 inplace:bool
LeakyReLU leaky_relu 1023 alpha:float inplace:bool
Softmax softmax 1024 axis:int64
LogSoftmax log_softmax 1025 axis:int64
ELU elu 1026 alpha:double
SELU selu 1027 scale:double alpha:double
CReLU crelu 1028 axis:int64
CELU celu 1029 alpha:double axis:int64
PReLU prelu 1030 base_axis:int64
SoftPlus softplus 1037 beta:double
FusedBatchNormalization fused_batch_normalization 1041 axes:int64* decay_rate:float eps:float
  batch_stat:bool nonlinearity:string
BatchNormalization batch_normalization 1042 axes:int64* decay_rate:float eps:float batch_stat:bool
  no_scale:bool no_bias:bool
GroupNormalization group_normalization 1043 num_groups:int64 channel_axis:int64 batch_axis:int64* eps:float
  no_scale:bool no_bias:bool
InstanceNormalization instance_normalization 1044 channel_axis:int64 batch_axis:int64* eps:float
  no_scale:bool no_bias:bool
LayerNormalization layer_normalization 1045 batch_axis:int64* eps:float no_scale:bool no_bias:bool
NormNormalization norm_normalization 1046 p:float axes:int64* eps:float
SyncBatchNormalization sync_batch_normalization 1047 comm:Communicator group:string axes:int64*
  decay_rate:float eps:float batch_stat:bool
TensorNormalization tensor_normalization 1048 axes:int64* eps:float no_scale:bool no_bias:bool
WeightNormalization weight_normalization 1049 dim:int64 eps:float
WeightStandardization weight_standardization 1050 channel_axis:int64 eps:float
SpectralNorm spectral_norm 1051 dim:int64 itr:int64 eps:float test:bool output_u:bool
MeanSubtraction mean_subtraction 1052 base_axis:int64 update_running_mean:bool
ClipGradByNorm clip_grad_by_norm 1054 clip_norm:float axes:int64*
Sum sum 1055 axes:int64* keep_dims:bool
CumSum cumsum 1056 axis:int64 exclusive:bool reverse:bool
Mean mean 1057 axes:int64* keep_dims:bool
Max max 1058 axes:int64* keep_dims:bool with_index:bool only_index:bool
Min min 1059 axes:int64* keep_dims:bool with_index:bool only_index:bool
Norm norm 1060 p:float axes:int64* keep_dims:bool
Prod prod 1061 axes:int64* keep_dims:bool
CumProd cumprod 1062 axis:int64 exclusive:bool reverse:bool
Add2 add2 1065 inplace:bool
BcAdd2 bc_add2 1067 inplace:bool
Sub2 sub2 1068 inplace:bool
Mul2 mul2 1069 inplace:bool
Div2 div2 1071 inplace:bool
Pow2 pow2 1072 inplace:bool
AddScalar add_scalar 1073 val:double inplace:bool
MulScalar mul_scalar 1074 val:double inplace:bool
PowScalar pow_scalar 1075 val:double inplace:bool
RSubScalar r_sub_scalar 1076 val:double
RDivScalar r_div_scalar 1077 val:double
RPowScalar r_pow_scalar 1078 val:double
Sign sign 1079 alpha:float
MinimumScalar minimum_scalar 1082 val:double
MaximumScalar maximum_scalar 1083 val:double
SearchSorted searchsorted 1093 right:bool
LogicalAndScalar logical_and_scalar 1094 val:bool
LogicalOrScalar logical_or_scalar 1095 val:bool
LogicalXorScalar logical_xor_scalar 1096 val:bool
EqualScalar equal_scalar 1097 val:double
NotEqualScalar not_equal_scalar 1098 val:double
GreaterEqualScalar greater_equal_scalar 1099 val:double
GreaterScalar greater_scalar 1100 val:double
LessEqualScalar less_equal_scalar 1101 val:double
LessScalar less_scalar 1102 val:double
ResetNaN reset_nan 1106 val:double
ResetInf reset_inf 1107 val:double
Constant constant 1109 val:float shape:Shape
Arange arange 1110 start:float stop:float step:float
Linspace linspace 1111 start:float stop:float num:int64
BatchMatmul batch_matmul 1116 transpose_a:bool transpose_b:bool
Round round 1117
Ceil ceil 1118
Floor floor 1119
Concatenate concatenate 1133 axis:int64
Split split 1134 axis:int64
Stack stack 1135 axis:int64
Slice slice 1136 start:int64* stop:int64* step:int64*
Pad pad 1137 pad_width:int64* mode:string constant_value:float
Transpose transpose 1138 axes:int64*
Broadcast broadcast 1139 shape:Shape
BroadcastTo broadcast_to 1140 axis:int64
Tile tile 1141 reps:int64*
OneHot one_hot 1142 shape:Shape
Flip flip 1143 axes:int64*
Shift shift 1144 shifts:int64* border_mode:string
Sort sort 1145 axis:int64 reverse:bool with_index:bool only_index:bool
Reshape reshape 1146 shape:Shape inplace:bool
Shape shape 1147 start:int64 end:int64
Trilu trilu 1150 k:int64 upper:bool
Meshgrid meshgrid 1151 ij_indexing:bool
BatchCholesky batch_cholesky 1155 upper:bool
Gather gather 1157 axis:int64 batch_dims:int64
ScatterNd scatter_nd 1160 shape:int64* add:bool
ScatterAdd scatter_add 1161 axis:int64
BoolFill bool_fill 1163 value:float
PackPaddedSequence pack_padded_sequence 1164 batch_first:bool
PadPackedSequence pad_packed_sequence 1165 batch_first:bool padding_value:float total_length:int64
Interpolate interpolate 1167 output_size:int64* mode:string align_corners:bool half_pixel:bool
  half_pixel_for_nn:bool channel_last:bool
ONNXResize onnx_resize 1168 roi:float* scales:float* sizes:int64* mode:string
  coordinate_transformation_mode:string cubic_coeff_a:float exclude_outside:int64 extrapolation_value:float
  nearest_mode:string
FFT fft 1169 signal_ndim:int64 normalized:bool
IFFT ifft 1170 signal_ndim:int64 normalized:bool
STFT stft 1171 window_size:int64 stride:int64 fft_size:int64 window_type:string center:bool pad_mode:string
  as_istft_backward:bool
ISTFT istft 1172 window_size:int64 stride:int64 fft_size:int64 window_type:string center:bool
  pad_mode:string as_stft_backward:bool
Dropout dropout 1173 p:double seed:int64
TopKData top_k_data 1174 k:int64 abs:bool reduce:bool base_axis:int64 largest:bool with_index:bool
TopKGrad top_k_grad 1175 k:int64 abs:bool base_axis:int64
Rand rand 1176 low:float high:float shape:Shape seed:int64
Randint randint 1177 low:int64 high:int64 shape:Shape seed:int64
Randn randn 1178 mu:float sigma:float shape:Shape seed:int64
RandBinomial rand_binomial 1179 n:int64 p:float shape:Shape seed:int64
RandBeta rand_beta 1180 alpha:float beta:float shape:Shape seed:int64
RandGamma rand_gamma 1181 k:float theta:float shape:Shape seed:int64
RandomChoice random_choice 1182 shape:Shape replace:bool seed:int64
RandomCrop random_crop 1183 shape:Shape base_axis:int64 seed:int64
RandomFlip random_flip 1184 axes:int64* base_axis:int64 seed:int64
RandomShift random_shift 1185 shifts:int64* border_mode:string constant_value:float base_axis:int64
  seed:int64
RandomErase random_erase 1186 prob:float area_ratios:float* aspect_ratios:float* replacements:float* n:int64
  share:bool inplace:bool base_axis:int64 seed:int64 channel_last:bool ste_fine_grained:bool
ImageAugmentation image_augmentation 1187 shape:Shape pad:Shape min_scale:float max_scale:float angle:float
  aspect_ratio:float distortion:float flip_lr:bool flip_ud:bool brightness:float brightness_each:bool
  contrast:float contrast_center:float contrast_each:bool noise:float seed:int64
SoftmaxCrossEntropy softmax_cross_entropy 1190 axis:int64
CategoricalCrossEntropy categorical_cross_entropy 1191 axis:int64
HuberLoss huber_loss 1194 delta:float
EpsilonInsensitiveLoss epsilon_insensitive_loss 1195 epsilon:float
KLMultinomial kl_multinomial 1196 base_axis:int64
AffineGrid affine_grid 1197 size:int64* align_corners:bool
WarpByGrid warp_by_grid 1198 mode:string padding_mode:string align_corners:bool channel_last:bool
BinaryConnectAffine binary_connect_affine 1202 base_axis:int64 quantize_zero_to:float
BinaryConnectConvolution binary_connect_convolution 1203 base_axis:int64 pad:Shape stride:Shape
  dilation:Shape group:int64 quantize_zero_to:float
BinaryWeightAffine binary_weight_affine 1204 base_axis:int64 quantize_zero_to:float
BinaryWeightConvolution binary_weight_convolution 1205 base_axis:int64 pad:Shape stride:Shape dilation:Shape
  group:int64 quantize_zero_to:float
INQAffine inq_affine 1206 base_axis:int64 num_bits:int64 inq_iterations:int64* selection_algorithm:string
  seed:int64
INQConvolution inq_convolution 1207 base_axis:int64 pad:Shape stride:Shape dilation:Shape group:int64
  num_bits:int64 inq_iterations:int64* selection_algorithm:string seed:int64
FixedPointQuantize fixed_point_quantize 1208 sign:bool n:int64 delta:float ste_fine_grained:bool
MinMaxQuantize min_max_quantize 1209 decay:float x_min_max:bool ema:bool ste_fine_grained:bool eps:float
Pow2Quantize pow2_quantize 1210 sign:bool with_zero:bool n:int64 m:int64 ste_fine_grained:bool
Prune prune 1211 rate:float
QuantizeLinear quantize_linear 1212 round_mode:string narrow_range:bool dtype:int64
TopNError top_n_error 1214 axis:int64 n:int64
ConfusionMatrix confusion_matrix 1216 axis:int64
VATNoise vat_noise 1217 base_axis:int64 eps:float
Sink sink 1219 one_input_grad:bool
NmsDetection2d nms_detection2d 1220 thresh:float nms:float nms_per_class:bool
ONNXNonMaxSuppression onnx_non_max_suppression 1221 center_point_box:int64 max_output_boxes_per_class:int64
  iou_threshold:float score_threshold:float
MaxPoolingBackward max_pooling_backward 1222 kernel:Shape stride:Shape ignore_border:bool pad:Shape
  channel_last:bool
PatchCorrelation patch_correlation 1223 patch:Shape shift:Shape patch_step:Shape shift_step:Shape
  padding:Shape
Unique unique 1224 flatten:bool axis:int64 sorted:bool with_index:bool with_inverse:bool with_counts:bool
EyeLike eye_like 1225 k:int64
Mod2 mod2 1226 fmod:bool
BitShift bit_shift 1227 direction:string
Einsum einsum 1228 equation:string
"""
