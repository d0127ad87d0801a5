"""Keras classes and functions that an untrusted model file may name.

Taken from Keras 3.8 and 3.15 and reviewed by hand. All other names are refused. The list excludes layers and
ops that run a function from the file or load another file: Lambda, TFSMLayer, FeatureSpace, JaxLayer, Map,
Scan, Cond, WhileLoop and similar.
"""

from tuilab.model.ops import names

CLASSES: dict[str, frozenset[str]] = {
    "models": names("Functional Model Sequential"),
    "layers": names(
        """
        Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D
        AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add
        AdditiveAttention AlphaDropout Attention AugMix AutoContrast Average AveragePooling1D
        AveragePooling2D AveragePooling3D BaseAdaptiveAveragePooling BaseAdaptiveMaxPooling
        BaseAdaptivePooling BaseConv BaseConvTranspose BaseDepthwiseConv BaseGlobalPooling
        BaseImagePreprocessingLayer BasePooling BaseSeparableConv BaseSpatialDropout BatchNormalization
        Bidirectional CategoryEncoding CenterCrop Concatenate ContrastLimitedAdaptiveHistogramEqualization
        Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM ConvLSTM1D ConvLSTM2D
        ConvLSTM3D ConvLSTMCell Cropping1D Cropping2D Cropping3D Cross CutMix Dense DepthwiseConv1D
        DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding Equalization Flatten GRU
        GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D
        GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization
        GroupQueryAttention GroupedQueryAttention HashedCrossing Hashing Identity IndexLookup InputLayer
        IntegerLookup LSTM
        LSTMCell Layer LayerNormalization LeakyReLU Masking MaxNumBoundingBoxes MaxPooling1D MaxPooling2D
        MaxPooling3D Maximum MelSpectrogram Merge Minimum MixUp MultiHeadAttention Multiply Normalization
        PReLU Permute Pipeline RMSNormalization RNN RandAugment RandomBrightness RandomColorDegeneration
        RandomColorJitter RandomContrast RandomCrop RandomElasticTransform RandomErasing RandomFlip
        RandomGaussianBlur RandomGrayscale RandomHue RandomInvert RandomPerspective RandomPosterization
        RandomRotation RandomSaturation RandomSharpness RandomShear RandomTranslation RandomZoom ReLU
        RepeatVector Rescaling Reshape Resizing ReversibleEmbedding STFTSpectrogram SeparableConv1D
        SeparableConv2D SimpleRNN SimpleRNNCell Softmax Solarization SpatialDropout1D SpatialDropout2D
        SpatialDropout3D SpectralNormalization StackedRNNCells StringLookup Subtract TextVectorization
        TimeDistributed UnitNormalization UpSampling1D UpSampling2D UpSampling3D Wrapper ZeroPadding1D
        ZeroPadding2D ZeroPadding3D
        """
    ),
    "legacy": names("AlphaDropout RandomHeight RandomWidth ThresholdedReLU"),
    "activations": names("Mish ReLU"),
    "losses": names(
        """
        BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy CategoricalFocalCrossentropy
        CategoricalGeneralizedCrossEntropy CategoricalHinge Circle CosineSimilarity Dice Hinge Huber
        KLDivergence LogCosh Loss LossFunctionWrapper MeanAbsoluteError MeanAbsolutePercentageError
        MeanSquaredError MeanSquaredLogarithmicError Poisson SparseCategoricalCrossentropy SquaredHinge
        Tversky
        """
    ),
    "metrics": names(
        """
        AUC Accuracy BinaryAccuracy BinaryCrossentropy BinaryIoU CategoricalAccuracy CategoricalCrossentropy
        CategoricalHinge ConcordanceCorrelation CosineSimilarity F1Score FBetaScore FalseNegatives
        FalsePositives Hinge IoU KLDivergence LogCoshError Mean MeanAbsoluteError
        MeanAbsolutePercentageError MeanIoU MeanMetricWrapper MeanSquaredError MeanSquaredLogarithmicError
        Metric OneHotIoU OneHotMeanIoU PearsonCorrelation Poisson Precision PrecisionAtRecall R2Score Recall
        RecallAtPrecision RootMeanSquaredError SensitivityAtSpecificity SensitivitySpecificityBase
        SparseCategoricalAccuracy SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy
        SpecificityAtSensitivity SquaredHinge Sum TopKCategoricalAccuracy TrueNegatives TruePositives
        """
    ),
    "optimizers": names(
        """
        Adadelta Adafactor Adagrad Adam AdamW Adamax BaseOptimizer CosineDecay CosineDecayRestarts
        ExponentialDecay Ftrl InverseTimeDecay Lamb LearningRateSchedule Lion LossScaleOptimizer
        MultiOptimizer Muon Nadam Optimizer OptimizerMap PiecewiseConstantDecay PolynomialDecay RMSprop SGD
        ScheduleFreeAdamW
        """
    ),
    "initializers": names(
        """
        Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity Initializer LecunNormal LecunUniform
        Ones Orthogonal RandomInitializer RandomNormal RandomUniform STFT TruncatedNormal VarianceScaling
        Zeros
        """
    ),
    "regularizers": names("L1 L1L2 L2 OrthogonalRegularizer Regularizer"),
    "constraints": names("Constraint MaxNorm MinMaxNorm NonNeg UnitNorm"),
    "dtype_policies": names(
        """
        AWQDTypePolicy DTypePolicy DTypePolicyMap FloatDTypePolicy GPTQDTypePolicy Int4DTypePolicy
        QuantizedDTypePolicy QuantizedFloat8DTypePolicy
        """
    ),
    "quantizers": names(
        """
        AWQConfig AbsMaxQuantizer FakeQuantWithMinMaxVars Float8QuantizationConfig GPTQConfig GPTQQuantizer
        Int4QuantizationConfig Int8QuantizationConfig QuantizationConfig Quantizer
        """
    ),
    "random": names("SeedGenerator"),
    "trainers": names("CompileLoss CompileMetrics MetricsList"),
    "ops": names(
        """
        Abs Absolute AdaptiveAveragePool AdaptiveMaxPool Add AffineTransform All AllClose Amax Amin Angle
        Any Append Arange Arccos Arccosh Arcsin Arcsinh Arctan Arctan2 Arctanh Argmax Argmin Argpartition
        Argsort Array ArraySplit Average AveragePool BatchNorm BinaryCrossentropy Bincount BitwiseAnd
        BitwiseInvert BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor BroadcastTo CDist
        CTCDecode CTCLoss Cast CategoricalCrossentropy Cbrt Ceil Celu Cholesky CholeskyInverse Clip
        Concatenate Conj Conjugate Conv ConvTranspose ConvertToTensor Copy Corrcoef Correlate Cos Cosh
        CountNonzero CropImages Cross Cumprod Cumsum Deg2rad DepthToSpace DepthwiseConv Det Diag Diagflat
        Diagonal Diff Digitize Divide DivideNoNan Dot DotProductAttention Dsplit Dstack Eig Eigh Einsum
        ElasticTransform Elu Empty EmptyLike Equal Erf Erfc Erfinv Exp Exp2 ExpandDims Expm1 ExtractPatches
        ExtractSequences Eye FFT FFT2 Fabs Flip Fliplr Flipud Floor FloorDivide Fmax Fmin Fmod Fold Full
        FullLike GaussianBlur Gcd Gelu Geomspace GetItem Glu Greater GreaterEqual HSVToRGB HardShrink
        HardSigmoid HardSilu HardTanh Heaviside Histogram Hsplit Hstack Hypot I0 IFFT2 IRFFT ISTFT Identity
        Imag InTopK Inner Inv IsIn Isclose Isfinite Isinf Isnan Isneginf Isposinf Isreal Kron LayerNorm Lcm
        Ldexp LeakyRelu LeftShift Less LessEqual Linspace Log Log10 Log1p Log2 LogSigmoid LogSoftmax
        Logaddexp Logaddexp2 Logdet LogicalAnd LogicalNot LogicalOr LogicalXor Logspace Logsumexp Lstsq
        LuFactor MapCoordinates Matmul MatrixRank Max MaxPool Maximum Mean Median Meshgrid Min Minimum Mod
        Moments Moveaxis MultiHot Multiply NanToNum Nanargmax Nanargmin Nancumprod Nancumsum Nanmax Nanmean
        Nanmedian Nanmin Nanpercentile Nanprod Nanquantile Nanstd Nansum Nanvar Ndim Negative Nextafter
        Nonzero Norm Normalize NotEqual OneHot Ones OnesLike Outer PSNR Pad PadImages Percentile
        PerspectiveTransform Pinv Polar Power Prod Ptp Qr Quantile RFFT RGBToGrayscale RGBToHSV RMSNorm
        Rad2deg Ravel Real Rearrange Reciprocal Relu Relu6 Repeat Reshape Resize RightShift Roll Rot90 Round
        Rsqrt SSIM STFT SVD SaturateCast ScaleAndTranslate Scatter ScatterUpdate SearchSorted SegmentMax
        SegmentMin SegmentProd SegmentSum Select Selu SeparableConv Sigmoid Sign Signbit Silu Sin Sinc Sinh
        Size Slice SliceUpdate Slogdet SobelEdges SoftShrink Softmax Softplus Softsign Solve SolveTriangular
        Sort SpaceToDepth SparseCategoricalCrossentropy SparsePlus SparseSigmoid Sparsemax Split Sqrt Square
        Squareplus Squeeze Stack Std StopGradient Subtract Sum Swapaxes Take TakeAlongAxis Tan Tanh
        TanhShrink Tensordot Threshold Tile TopK Trace Transpose Trapezoid Tri Tril Triu TrueDivide Trunc
        Unfold Unique UnravelIndex Unstack Vander Var Vdot View ViewAsComplex ViewAsReal Vsplit Vstack Where
        Zeros ZerosLike
        """
    ),
}
"""Allowed Keras classes, by the part of `keras.src` that defines them."""
FUNCTIONS = names(
    """
    abs absolute adaptive_average_pool adaptive_max_pool add all allclose amax amin angle any append
    arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort array
    array_split average average_pool bartlett batch_normalization binary_accuracy binary_crossentropy
    binary_focal_crossentropy bincount bitwise_and bitwise_invert bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor blackman broadcast_to cast categorical_accuracy
    categorical_crossentropy categorical_focal_crossentropy categorical_generalized_cross_entropy
    categorical_hinge cbrt cdist ceil celu cholesky cholesky_inverse circle clip concatenate
    concordance_correlation conj conjugate conv conv_transpose convert_to_tensor copy corrcoef correlate
    cos cosh cosine_similarity count_nonzero cross ctc ctc_decode ctc_loss cumprod cumsum deg2rad
    depth_to_space depthwise_conv det diag diagflat diagonal dice diff digitize divide divide_no_nan dot
    dot_product_attention dsplit dstack dtype eig eigh einsum elu empty empty_like equal erf erfc erfinv
    exp exp2 expand_dims expm1 exponential extract_sequences eye fabs fft fft2 flip fliplr flipud floor
    floor_divide fmax fmin fmod fold full full_like gcd gelu geomspace get_item glu greater
    greater_equal hamming hanning hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh heaviside
    hinge histogram hsplit hstack huber hypot i0 identity ifft2 imag in_top_k inner inv irfft isclose
    isfinite isin isinf isnan isneginf isposinf isreal istft kaiser kl_divergence kron
    layer_normalization lcm ldexp leaky_relu left_shift less less_equal linear linspace log log10 log1p
    log2 log_cosh log_sigmoid log_softmax logaddexp logaddexp2 logdet logical_and logical_not logical_or
    logical_xor logspace logsumexp lstsq lu_factor matmul matrix_rank max max_pool maximum mean
    mean_absolute_error mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error
    median meshgrid min minimum mish mod moments moveaxis multi_hot multiply nan_to_num nanargmax
    nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile
    nanstd nansum nanvar ndim negative nextafter nonzero norm normalize not_equal one_hot ones ones_like
    outer pad pearson_correlation percentile pinv poisson polar power prod psnr ptp qr quantile rad2deg
    ravel real rearrange reciprocal relu relu6 repeat reshape rfft right_shift rms_normalization roll
    rot90 round rsqrt saturate_cast scatter scatter_update searchsorted segment_max segment_min
    segment_prod segment_sum select selu separable_conv shape sigmoid sign signbit silu sin sinc sinh
    size slice slice_update slogdet soft_shrink softmax softplus softsign solve solve_triangular sort
    space_to_depth sparse_categorical_accuracy sparse_categorical_crossentropy sparse_plus
    sparse_sigmoid sparse_top_k_categorical_accuracy sparsemax split sqrt square squared_hinge
    squareplus squeeze stack std stft stop_gradient subtract sum svd swapaxes swish take take_along_axis
    tan tanh tanh_shrink tensordot threshold tile top_k top_k_categorical_accuracy trace transpose
    trapezoid tri tril triu true_divide trunc tversky unfold unique unravel_index unstack vander var
    vdot view view_as_complex view_as_real vsplit vstack where zeros zeros_like
    """
)
"""Public names of the allowed activations, losses, metrics and ops."""
ROOMS_OF_FUNCTIONS = ("activations", "losses", "metrics", "ops")
