"""Facts about TensorFlow op types, in one table.

The names come from TensorFlow's op registry. Facts that depend on the build, such as the dtypes with a GPU
kernel, come from the kernel registry (`worker/placement/registry.py`).
"""


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARGUMENTS = names("_Arg _DeviceArg")
RESULTS = names("_Retval _DeviceRetval")
SENDS = names("_Send _HostSend")
RECEIVES = names("_Recv _HostRecv")
CONSTANTS = names("Const HostConst _HostConst")
PLACEHOLDERS = names("Placeholder PlaceholderWithDefault")
CONTROL_FLOW = names("Enter Exit Switch Merge NextIteration LoopCond ControlTrigger")
"""Ops that implement loops and branches. The runtime executes them without a kernel launch."""
CALLS = names("PartitionedCall StatefulPartitionedCall")
LOOPS = names("While StatelessWhile")
BRANCHES = names("If StatelessIf Case StatelessCase")
ITERATORS = names("IteratorGetNext IteratorGetNextSync IteratorGetNextAsOptional")
"""Ops that take the next batch of a tf.data pipeline."""


PASSING_ON = names("Identity IdentityN StopGradient PreventGradient Snapshot")
RESHAPING = names("Reshape ExpandDims Squeeze")
ALIASES = PASSING_ON | RESHAPING | names("EnsureShape Bitcast ReadVariableOp CheckNumerics GuaranteeConst")
"""Ops whose output shares the memory of their input."""
SHAPES = names("Shape ShapeN Size Rank")
"""Ops whose results the optimizer computes from shapes alone."""
BY_SHAPE = SHAPES | names("VariableShape ZerosLike OnesLike NoOp")
"""Ops that read only the shape of their inputs."""
FILLS = names("Fill ZerosLike OnesLike Range LinSpace")
"""Ops that make a tensor from a shape and a few numbers. If these are constants, so is the tensor."""
ROW_GATHERS = names("Gather GatherV2 ResourceGather")
ELEMENT_GATHERS = names("GatherNd ResourceGatherNd")
GATHERS = ROW_GATHERS | ELEMENT_GATHERS
PARTLY = GATHERS | names("Slice StridedSlice TensorListGetItem TensorListGather")
"""Ops that read only those elements of their first input that they return."""
SOURCES = PLACEHOLDERS | names("ReadVariableOp _Arg")
"""Ops that bring values into the graph from outside."""

NO_WORK = (
    ARGUMENTS | RESULTS | CONSTANTS | PLACEHOLDERS | PASSING_ON | RESHAPING | SHAPES
    | names("NoOp EnsureShape ReadVariableOp VarHandleOp")
)  # fmt: skip
"""Ops that compute nothing on any device."""
MOVES = NO_WORK | CONTROL_FLOW | names("Pack IteratorGetNext IteratorV2 MakeIterator")
"""Ops that only move or rename data, so their placement does not show where the work is done."""
HIDDEN = ARGUMENTS | RESULTS | CONSTANTS | SENDS | RECEIVES | names("NoOp")
"""Nodes that a placement omits: arguments, results, constants, copies and control dependencies."""

PLUMBING = ("Optional", "Iterator", "Assign", "Var", "Destroy", "MakeIterator", "AnonymousIterator", "Debug")
"""Prefixes of ops that manage variables and iterators and compute nothing."""


NO_LAUNCH = (
    NO_WORK | ALIASES | BY_SHAPE | CALLS | LOOPS | BRANCHES
    | names("""Slice StridedSlice Pack Unpack Split SplitV Assert AssignVariableOp EmptyTensorList
    TensorListReserve TensorListFromTensor TensorListGetItem TensorListSetItem""")
)  # fmt: skip
"""Ops that may execute on a GPU without launching a kernel."""
HOST_DTYPES = names("int32 int64 bool string resource variant") | {""}
"""Dtypes whose results usually stay in host memory, even if the op runs on a GPU."""
ALWAYS_ON_HOST = names("string resource")
"""Dtypes that TensorFlow always keeps in host memory (`DataTypeAlwaysOnHost`)."""
PYTHON = names("PyFunc PyFuncStateless EagerPyFunc")
"""Ops that call back into Python."""
NOT_IN_XLA = (
    PYTHON
    | ITERATORS
    | names("""
    Print PrintV2 AsString StringFormat StringJoin Substr RegexReplace StaticRegexReplace StringSplitV2
    StringToNumber StringToHashBucketFast StringLower ReadFile WriteFile DecodeJpeg DecodePng DecodeImage
    DecodeRaw DecodeWav EncodeJpeg EncodePng ParseExampleV2 ParseSingleExample ParseTensor LookupTableFindV2
    LookupTableImportV2 CTCLoss CTCGreedyDecoder CTCBeamSearchDecoder CropAndResize Dilation2D EditDistance
    SparseReorder SparseConcat SparseSplit SparseTensorDenseMatMul SparseFillEmptyRows SparseSegmentSum
    SparseSegmentMean MatrixDeterminant LogMatrixDeterminant Lu Eig MatrixLogarithm MatrixExponential
    MatrixSquareRoot UniqueWithCountsV2 RaggedTensorToVariant RaggedTensorToTensor RaggedRange RaggedGather
    NthElement HistogramFixedWidth CombinedNonMaxSuppression NonMaxSuppressionV5 ExtractGlimpse ReduceDataset
    WriteScalarSummary WriteSummary SaveV2 RestoreV2 SparseAdd QueueDequeueV2 RandomPoisson RandomGamma
    MapDefun LSTMBlockCell BlockLSTMV2 ScatterNdUpdate AudioSpectrogram Mfcc""")
)
"""Ops with a CPU kernel but no XLA kernel (TensorFlow 2.21)."""
HOST_ONLY = PYTHON | names("""
    AsString StringFormat StringJoin Substr RegexReplace StaticRegexReplace StringSplitV2 StringToNumber
    StringToHashBucketFast StringLower ReadFile WriteFile DecodeJpeg DecodePng DecodeImage DecodeRaw DecodeWav
    EncodeJpeg EncodePng ParseExampleV2 ParseSingleExample ParseTensor LookupTableFindV2 CTCGreedyDecoder
    CTCBeamSearchDecoder EditDistance Print PrintV2 MatrixLogarithm RaggedTensorToVariant""")
"""Ops without a GPU kernel in a GPU build of TensorFlow (2.21)."""


CONVOLUTIONS = names("Conv2D DepthwiseConv2dNative Conv3D")
PRODUCTS = CONVOLUTIONS | names("MatMul")
"""Ops that the optimizer fuses with the following bias and activation (grappler's remapper)."""
JOINS_PRODUCT = names("BiasAdd Relu Relu6 LeakyRelu Elu Sigmoid Tanh")
FORWARDS = JOINS_PRODUCT | names("""Add AddV2 Sub Mul RealDiv Maximum Minimum SquaredDifference Pow Exp Log
    Sqrt Rsqrt Square Neg Abs Erf Erfc Softplus Selu Softmax LogSoftmax""")
"""Ops that write their result over an input that nothing else needs."""
LINEAR = names("""Add AddN AddV2 BiasAdd ConcatV2 Neg Pack Slice Split SplitV StridedSlice Sub Sum
    TensorListPushBack TensorListSetItem Transpose Unpack""")
"""Ops whose gradient needs no values of their inputs."""
OF_RESULT = names("Elu Exp LogSoftmax Reciprocal Relu Relu6 Rsqrt Selu Sigmoid Softmax Sqrt Tanh")
"""Ops whose gradient needs only their result."""
MATRIX = names("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum _FusedMatMul")
"""Matrix products. A GPU may compute those of float32 and complex64 in TF32."""
CUBIC = names("""Cholesky Qr Svd SelfAdjointEigV2 Eig MatrixInverse MatrixDeterminant MatrixSolve
    LogMatrixDeterminant MatrixTriangularSolve Lu MatrixSquareRoot MatrixLogarithm""")
"""Matrix decompositions, inverses, determinants and solvers."""
ITERATIVE = names("Svd SelfAdjointEigV2 Qr Eig")
"""Decompositions that a GPU computes in many small steps: the Svd of a 64 × 16 matrix took an H100 4 ms."""
OWN_KERNEL = (
    PRODUCTS | MATRIX | CUBIC
    | names("""Conv Conv2DBackpropInput Conv2DBackpropFilter Conv3DBackpropInput Conv3DBackpropInputV2
    Conv3DBackpropFilter Conv3DBackpropFilterV2""")
)  # fmt: skip
"""Ops that no compiler fuses with one another, so each of them launches at least one kernel."""
NO_ARITHMETIC = (
    NO_WORK
    | ALIASES
    | GATHERS
    | SENDS
    | RECEIVES
    | ITERATORS
    | names("""
    StridedSlice Slice Pack Unpack ConcatV2 Concat ConcatOffset Transpose ConjugateTranspose Fill
    Cast ScatterNd TensorScatterUpdate ResourceScatterUpdate Tile BroadcastTo BroadcastArgs
    BroadcastGradientArgs Pad PadV2 MirrorPad Split SplitV Reverse ReverseV2 ReverseSequence Roll
    ZerosLike OnesLike Range LinSpace OneHot Select SelectV2 Where InvertPermutation DynamicStitch
    ParallelDynamicStitch DynamicPartition SpaceToBatchND BatchToSpaceND SpaceToDepth DepthToSpace
    MatrixDiag MatrixDiagV2 MatrixDiagV3 MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3
    MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixBandPart Diag DiagPart Complex Real Imag
    StridedSliceGrad Assert CheckNumericsV2 DestroyResourceOp VariableShape Empty EmptyTensorList
    DeepCopy CopyHost Copy ResourceStridedSliceAssign TensorStridedSliceUpdate
    StatelessRandomGetKeyCounter StatelessRandomGetAlg StatelessRandomGetKeyCounterAlg
    ExtractImagePatches SparseReshape SparseToDense RaggedRange RaggedTensorToTensor
    RaggedTensorFromVariant RaggedTensorToVariant LookupTableFindV2 LookupTableSizeV2
    OptionalFromValue OptionalGetValue OptionalNone OptionalHasValue FakeParam ImmutableConst
    _EagerConst Conj AnonymousIteratorV3 MakeIterator SymbolicGradient XlaSharding Print PrintV2
    StringFormat InplaceUpdate UnravelIndex RngReadAndSkip RngSkip IsVariableInitialized
    ParallelConcat ScatterUpdate ScatterNdUpdate ResourceScatterNdUpdate DataFormatDimMap
    DataFormatVecPermute ExtractVolumePatches SparseSliceGrad RaggedFillEmptyRows DeserializeSparse
    SpaceToBatch BatchToSpace ListDiff Unique UniqueV2 UniqueWithCounts SparseSlice SparseSplit
    SparseConcat SparseReorder SparseFillEmptyRows RandomShuffle ExtractGlimpse""")
)
"""Ops without arithmetic: they name, move, select or reshape values."""
