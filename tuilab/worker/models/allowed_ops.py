"""Ops that an untrusted SavedModel may contain, by family.

Taken from the op registry of TensorFlow 2.21 and reviewed by hand. All other ops are refused, because a list
of forbidden ops would always have gaps. `test_allowed_ops.py` checks that no allowed op takes a file name.
"""

from tuilab.model.ops import PYTHON, names

FAMILIES: dict[str, frozenset[str]] = {
    "Create, slice, join and reorder tensors in memory. Excludes ImmutableConst, which maps a file.": names(
        """
        Any BatchMatrixBandPart BatchMatrixDiag BatchMatrixDiagPart BatchMatrixSetDiag BatchToSpace
        BatchToSpaceND Bitcast BroadcastArgs BroadcastGradientArgs BroadcastTo CheckNumerics CheckNumericsV2
        Concat ConcatOffset ConcatV2 ConjugateTranspose Const DebugGradientIdentity DebugGradientRefIdentity
        DeepCopy DepthToSpace Dequantize Diag DiagPart EditDistance Empty EmptyTensorList EmptyTensorMap
        EnsureShape ExpandDims ExtractImagePatches ExtractVolumePatches FakeQuantWithMinMaxArgs
        FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient
        FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient Fill Fingerprint Gather
        GatherNd GatherV2 GuaranteeConst Identity IdentityN InplaceAdd InplaceSub InplaceUpdate
        InvertPermutation ListDiff LowerBound MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2
        MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MirrorPad
        MirrorPadGrad OneHot OnesLike OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone Pack
        Pad PadV2 ParallelConcat Placeholder PlaceholderV2 PlaceholderWithDefault PreventGradient
        QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4
        QuantizeAndDequantizeV4Grad QuantizeV2 QuantizedConcat QuantizedInstanceNorm QuantizedReshape Rank
        RefIdentity Reshape ResourceStridedSliceAssign Reverse ReverseSequence ReverseV2 Roll ScatterNd
        ScatterNdNonAliasingAdd Shape ShapeN Size Slice Snapshot SpaceToBatch SpaceToBatchND SpaceToDepth
        Split SplitV Squeeze StopGradient StridedSlice StridedSliceAssign StridedSliceGrad TensorListConcat
        TensorListConcatLists TensorListConcatV2 TensorListElementShape TensorListFromTensor
        TensorListGather TensorListGetItem TensorListLength TensorListPopBack TensorListPushBack
        TensorListPushBackBatch TensorListReserve TensorListResize TensorListScatter
        TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem TensorListSplit
        TensorListStack TensorMapErase TensorMapHasKey TensorMapInsert TensorMapLookup TensorMapSize
        TensorMapStackKeys TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub
        TensorScatterUpdate TensorStridedSliceUpdate Tile TileGrad Transpose Unique UniqueV2
        UniqueWithCounts UniqueWithCountsV2 Unpack UnravelIndex UpperBound Where ZerosLike
        """
    ),
    "Numbers: arithmetic, reductions, comparisons, bits.": names(
        """
        Abs AccumulateNV2 Acos Acosh Add AddN AddV2 All Angle ApproximateEqual ArgMax ArgMin Asin Asinh Atan
        Atan2 Atanh BatchMatMul BatchMatMulV2 BatchMatMulV3 BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0
        BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Betainc Bincount BitwiseAnd
        BitwiseOr BitwiseXor Bucketize Cast Ceil ClipByValue Complex ComplexAbs Conj Cos Cosh Cross Cumprod
        Cumsum CumulativeLogsumexp Dawsn DenseBincount DenseCountSparseOutput DenseToDenseSetOperation
        DenseToSparseSetOperation Digamma Div DivNoNan Equal Erf Erfc Erfinv EuclideanNorm Exp Expint Expm1
        Floor FloorDiv FloorMod FresnelCos FresnelSin Greater GreaterEqual HistogramFixedWidth Igamma
        IgammaGradA Igammac Imag Inv InvGrad Invert IsFinite IsInf IsNan KMC2ChainInitialization
        KmeansPlusPlusInitialization LeftShift Less LessEqual Lgamma LinSpace Log Log1p LogicalAnd
        LogicalNot LogicalOr MatMul Max Maximum Mean Min Minimum Mod Mul MulNoNan Ndtri NearestNeighbors Neg
        NextAfter NotEqual Polygamma PopulationCount Pow Prod QuantizeDownAndShrinkRange QuantizedAdd
        QuantizedMatMul QuantizedMul RaggedBincount RaggedCountSparseOutput Range Real RealDiv Reciprocal
        ReciprocalGrad RequantizationRange RequantizationRangePerChannel Requantize RequantizePerChannel
        RightShift Rint Round Rsqrt RsqrtGrad SegmentMax SegmentMaxV2 SegmentMean SegmentMin SegmentMinV2
        SegmentProd SegmentProdV2 SegmentSum SegmentSumV2 Select SelectV2 SetSize Sigmoid SigmoidGrad Sign
        Sin Sinh SobolSample SparseBincount SparseCountSparseOutput SparseMatMul SparseSegmentMean
        SparseSegmentMeanGrad SparseSegmentMeanGradV2 SparseSegmentMeanWithNumSegments SparseSegmentSqrtN
        SparseSegmentSqrtNGrad SparseSegmentSqrtNGradV2 SparseSegmentSqrtNWithNumSegments SparseSegmentSum
        SparseSegmentSumGrad SparseSegmentSumGradV2 SparseSegmentSumWithNumSegments
        SparseToSparseSetOperation Spence Sqrt SqrtGrad Square SquaredDifference Sub Sum Tan Tanh TanhGrad
        TruncateDiv TruncateMod UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum
        Xdivy Xlog1py Xlogy Zeta _QuantizedMatMul
        """
    ),
    "Linear algebra and Fourier transforms.": names(
        """
        AddManySparseToTensorsMap AddSparseToTensorsMap BandedTriangularSolve BatchCholesky
        BatchCholeskyGrad BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D
        BatchMatrixDeterminant BatchMatrixInverse BatchMatrixSolve BatchMatrixSolveLs
        BatchMatrixTriangularSolve BatchSelfAdjointEig BatchSelfAdjointEigV2 BatchSvd
        CSRSparseMatrixComponents CSRSparseMatrixToDense CSRSparseMatrixToSparseTensor Cholesky CholeskyGrad
        DenseToCSRSparseMatrix DeserializeManySparse DeserializeSparse Eig Einsum FFT FFT2D FFT3D FFTND IFFT
        IFFT2D IFFT3D IFFTND IRFFT IRFFT2D IRFFT3D IRFFTND LogMatrixDeterminant Lu MatrixDeterminant
        MatrixExponential MatrixInverse MatrixLogarithm MatrixSolve MatrixSolveLs MatrixSquareRoot
        MatrixTriangularSolve Qr RFFT RFFT2D RFFT3D RFFTND SelfAdjointEig SelfAdjointEigV2
        SerializeManySparse SerializeSparse SparseAdd SparseAddGrad SparseConcat SparseCross
        SparseCrossHashed SparseCrossV2 SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul
        SparseFillEmptyRows SparseFillEmptyRowsGrad SparseMatrixAdd SparseMatrixMatMul SparseMatrixMul
        SparseMatrixNNZ SparseMatrixOrderingAMD SparseMatrixSoftmax SparseMatrixSoftmaxGrad
        SparseMatrixSparseCholesky SparseMatrixSparseMatMul SparseMatrixTranspose SparseMatrixZeros
        SparseReduceMax SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse SparseReorder
        SparseReshape SparseSlice SparseSliceGrad SparseSoftmax SparseSparseMaximum SparseSparseMinimum
        SparseSplit SparseTensorDenseAdd SparseTensorDenseMatMul SparseTensorToCSRSparseMatrix SparseToDense
        Svd TakeManySparseFromTensorsMap TridiagonalMatMul TridiagonalSolve
        """
    ),
    "Networks: convolutions, pooling, normalization, losses, recurrent cells, quantized kernels.": names(
        """
        ApproxTopK AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad BatchNormWithGlobalNormalization
        BatchNormWithGlobalNormalizationGrad BiasAdd BiasAddGrad BiasAddV1 BlockLSTM BlockLSTMGrad
        BlockLSTMGradV2 BlockLSTMV2 CTCBeamSearchDecoder CTCGreedyDecoder CTCLoss CTCLossV2 Conv Conv2D
        Conv2DBackpropFilter Conv2DBackpropFilterV2 Conv2DBackpropInput Conv2DBackpropInputV2 Conv3D
        Conv3DBackpropFilter Conv3DBackpropFilterV2 Conv3DBackpropInput Conv3DBackpropInputV2 CudnnRNN
        CudnnRNNBackprop CudnnRNNBackpropV2 CudnnRNNBackpropV3 CudnnRNNCanonicalToParams
        CudnnRNNCanonicalToParamsV2 CudnnRNNParamsSize CudnnRNNParamsToCanonical CudnnRNNParamsToCanonicalV2
        CudnnRNNV2 CudnnRNNV3 DataFormatDimMap DataFormatVecPermute DepthwiseConv2dNative
        DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Dilation2D
        Dilation2DBackpropFilter Dilation2DBackpropInput Elu EluGrad FractionalAvgPool FractionalAvgPoolGrad
        FractionalMaxPool FractionalMaxPoolGrad FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2
        FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3 FusedPadConv2D FusedResizeAndPadConv2D
        GRUBlockCell GRUBlockCellGrad InTopK InTopKV2 IsotonicRegression L2Loss LRN LRNGrad LSTMBlockCell
        LSTMBlockCellGrad LeakyRelu LeakyReluGrad LogSoftmax MaxPool MaxPool3D MaxPool3DGrad
        MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradGradWithArgmax
        MaxPoolGradV2 MaxPoolGradWithArgmax MaxPoolV2 MaxPoolWithArgmax NthElement QuantizedAvgPool
        QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConv2D QuantizedConv2DAndRelu
        QuantizedConv2DAndReluAndRequantize QuantizedConv2DAndRequantize QuantizedConv2DPerChannel
        QuantizedConv2DWithBias QuantizedConv2DWithBiasAndRelu QuantizedConv2DWithBiasAndReluAndRequantize
        QuantizedConv2DWithBiasAndRequantize QuantizedConv2DWithBiasSignedSumAndReluAndRequantize
        QuantizedConv2DWithBiasSumAndRelu QuantizedConv2DWithBiasSumAndReluAndRequantize
        QuantizedDepthwiseConv2D QuantizedDepthwiseConv2DWithBias QuantizedDepthwiseConv2DWithBiasAndRelu
        QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize QuantizedMatMulWithBias
        QuantizedMatMulWithBiasAndDequantize QuantizedMatMulWithBiasAndRelu
        QuantizedMatMulWithBiasAndReluAndRequantize QuantizedMatMulWithBiasAndRequantize QuantizedMaxPool
        QuantizedRelu QuantizedRelu6 QuantizedReluX Relu Relu6 Relu6Grad ReluGrad Selu SeluGrad Softmax
        SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad Softsign SoftsignGrad
        SparseSoftmaxCrossEntropyWithLogits TopK TopKV2 UniformDequantize UniformQuantize
        UniformQuantizedAdd UniformQuantizedClipByValue UniformQuantizedConvolution
        UniformQuantizedConvolutionHybrid UniformQuantizedDot UniformQuantizedDotHybrid UniformRequantize
        """
    ),
    "Resize images; decode and encode images and sound as strings in memory.": names(
        """
        AdjustContrast AdjustContrastv2 AdjustHue AdjustSaturation AudioSpectrogram
        CombinedNonMaxSuppression CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage
        DecodeAndCropJpeg DecodeBmp DecodeGif DecodeImage DecodeJpeg DecodeJxl DecodePng DecodeWav
        DecodeWebP DrawBoundingBoxes DrawBoundingBoxesV2 EncodeJpeg EncodeJpegVariableQuality EncodePng
        EncodeWav ExtractGlimpse ExtractGlimpseV2 ExtractJpegShape GenerateBoundingBoxProposals HSVToRGB
        ImageProjectiveTransformV2 ImageProjectiveTransformV3 Mfcc NonMaxSuppression NonMaxSuppressionV2
        NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps
        QuantizedResizeBilinear RGBToHSV RandomCrop ResizeArea ResizeBicubic ResizeBicubicGrad
        ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad
        SampleDistortedBoundingBox SampleDistortedBoundingBoxV2 ScaleAndTranslate ScaleAndTranslateGrad
        StatelessSampleDistortedBoundingBox
        """
    ),
    "Strings and records in memory. Excludes DecodeProto, whose descriptor may be a file.": names(
        """
        AsString DecodeBase64 DecodeCSV DecodeCompressed DecodeJSONExample DecodePaddedRaw DecodeRaw
        EncodeBase64 ParseExample ParseExampleV2 ParseSequenceExample ParseSequenceExampleV2
        ParseSingleExample ParseSingleSequenceExample ParseTensor ReduceJoin RegexFullMatch RegexReplace
        SerializeTensor StaticRegexFullMatch StaticRegexReplace StringFormat StringJoin StringLength
        StringLower StringNGrams StringSplit StringSplitV2 StringStrip StringToHashBucket
        StringToHashBucketFast StringToHashBucketStrong StringToNumber StringUpper Substr UnicodeDecode
        UnicodeDecodeWithOffsets UnicodeEncode UnicodeScript UnicodeTranscode UnsortedSegmentJoin
        """
    ),
    "Ragged tensors.": names(
        """
        RaggedCross RaggedFillEmptyRows RaggedFillEmptyRowsGrad RaggedGather RaggedRange
        RaggedTensorFromVariant RaggedTensorToSparse RaggedTensorToTensor RaggedTensorToVariant
        RaggedTensorToVariantGradient
        """
    ),
    "Random numbers. Excludes FixedUnigramCandidateSampler, which reads a vocabulary file.": names(
        """
        AllCandidateSampler ComputeAccidentalHits LearnedUnigramCandidateSampler LogUniformCandidateSampler
        Multinomial NonDeterministicInts ParameterizedTruncatedNormal RandomGamma RandomGammaGrad
        RandomIndexShuffle RandomPoisson RandomPoissonV2 RandomShuffle RandomStandardNormal RandomUniform
        RandomUniformInt RngReadAndSkip RngSkip StatefulRandomBinomial StatefulStandardNormal
        StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatefulUniformFullInt
        StatefulUniformInt StatelessMultinomial StatelessParameterizedTruncatedNormal
        StatelessRandomBinomial StatelessRandomGammaV2 StatelessRandomGammaV3 StatelessRandomGetAlg
        StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomNormal
        StatelessRandomNormalV2 StatelessRandomPoisson StatelessRandomUniform StatelessRandomUniformFullInt
        StatelessRandomUniformFullIntV2 StatelessRandomUniformInt StatelessRandomUniformIntV2
        StatelessRandomUniformV2 StatelessShuffle StatelessTruncatedNormal StatelessTruncatedNormalV2
        ThreadUnsafeUnigramCandidateSampler TruncatedNormal UniformCandidateSampler
        """
    ),
    "Variables of this process, and optimizer steps that update them.": names(
        """
        ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdam ApplyAddSign
        ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 ApplyGradientDescent ApplyMomentum ApplyPowerSign
        ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp Assign AssignAdd AssignAddVariableOp
        AssignSub AssignSubVariableOp AssignVariableOp CountUpTo DestroyResourceOp DestroyTemporaryVariable
        DisableCopyOnRead IsVariableInitialized ReadVariableOp ResourceApplyAdaMax ResourceApplyAdadelta
        ResourceApplyAdagrad ResourceApplyAdagradDA ResourceApplyAdagradV2 ResourceApplyAdam
        ResourceApplyAdamWithAmsgrad ResourceApplyAddSign ResourceApplyCenteredRMSProp ResourceApplyFtrl
        ResourceApplyFtrlV2 ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum
        ResourceApplyPowerSign ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent
        ResourceApplyRMSProp ResourceCountUpTo ResourceGather ResourceGatherNd ResourceScatterAdd
        ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul ResourceScatterNdAdd
        ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub ResourceScatterNdUpdate
        ResourceScatterSub ResourceScatterUpdate ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad
        ResourceSparseApplyAdagradDA ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp
        ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2 ResourceSparseApplyKerasMomentum
        ResourceSparseApplyMomentum ResourceSparseApplyProximalAdagrad
        ResourceSparseApplyProximalGradientDescent ResourceSparseApplyRMSProp ScatterAdd ScatterDiv
        ScatterMax ScatterMin ScatterMul ScatterNdAdd ScatterNdMax ScatterNdMin ScatterNdSub ScatterNdUpdate
        ScatterSub ScatterUpdate SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA
        SparseApplyAdagradV2 SparseApplyCenteredRMSProp SparseApplyFtrl SparseApplyFtrlV2
        SparseApplyMomentum SparseApplyProximalAdagrad SparseApplyProximalGradientDescent SparseApplyRMSProp
        TemporaryVariable VarHandleOp VarIsInitializedOp Variable VariableShape VariableV2
        """
    ),
    "Lookup tables in memory. Tables that name a file are checked separately (`TABLES_OF_FILES`).": names(
        """
        AnonymousHashTable AnonymousMutableDenseHashTable AnonymousMutableHashTable
        AnonymousMutableHashTableOfTensors HashTable HashTableV2 InitializeTable InitializeTableFromDataset
        InitializeTableV2 LookupTableExport LookupTableExportV2 LookupTableFind LookupTableFindV2
        LookupTableImport LookupTableImportV2 LookupTableInsert LookupTableInsertV2 LookupTableRemoveV2
        LookupTableSize LookupTableSizeV2 MutableDenseHashTable MutableDenseHashTableV2 MutableHashTable
        MutableHashTableOfTensors MutableHashTableOfTensorsV2 MutableHashTableV2
        """
    ),
    "Control flow, which calls functions in the file. Excludes Abort and RemoteCall.": names(
        """
        Case ControlTrigger DeviceIndex Enter Exit FakeParam For If LoopCond Merge NextIteration NoOp
        PartitionedCall RefEnter RefExit RefMerge RefNextIteration RefSelect RefSwitch
        StatefulPartitionedCall StatelessCase StatelessIf StatelessWhile Switch ToBool While
        """
    ),
    "Lists and stacks of tensors. Excludes queues, barriers and stages, which can block.": names(
        """
        DynamicPartition DynamicStitch ParallelDynamicStitch Stack StackClose StackCloseV2 StackPop
        StackPopV2 StackPush StackPushV2 StackV2 TensorArray TensorArrayClose TensorArrayCloseV2
        TensorArrayCloseV3 TensorArrayConcat TensorArrayConcatV2 TensorArrayConcatV3 TensorArrayGather
        TensorArrayGatherV2 TensorArrayGatherV3 TensorArrayGrad TensorArrayGradV2 TensorArrayGradV3
        TensorArrayGradWithShape TensorArrayPack TensorArrayRead TensorArrayReadV2 TensorArrayReadV3
        TensorArrayScatter TensorArrayScatterV2 TensorArrayScatterV3 TensorArraySize TensorArraySizeV2
        TensorArraySizeV3 TensorArraySplit TensorArraySplitV2 TensorArraySplitV3 TensorArrayUnpack
        TensorArrayV2 TensorArrayV3 TensorArrayWrite TensorArrayWriteV2 TensorArrayWriteV3
        """
    ),
    "Pipelines over tensors in memory. Excludes files, caches, snapshots and graphs.": names(
        """
        AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 AnonymousRandomSeedGenerator
        AnonymousSeedGenerator AssertCardinalityDataset AssertNextDataset AssertPrevDataset BatchDataset
        BatchDatasetV2 CompressElement ComputeBatchSize ConcatenateDataset DatasetCardinality
        DatasetToSingleElement DeleteIterator DeleteRandomSeedGenerator DeleteSeedGenerator
        DenseToSparseBatchDataset DirectedInterleaveDataset DummySeedGenerator FilterByLastComponentDataset
        FilterDataset FinalizeDataset FlatMapDataset GeneratorDataset GetElementAtIndex GetOptions
        GlobalShuffleDataset GroupByReducerDataset GroupByWindowDataset IgnoreErrorsDataset
        IndexFlatMapDataset InterleaveDataset Iterator IteratorGetDevice IteratorGetNext
        IteratorGetNextAsOptional IteratorGetNextSync IteratorV2 LegacyParallelInterleaveDatasetV2
        ListDataset MakeIterator MapAndBatchDataset MapDataset MapDefun MaxIntraOpParallelismDataset
        ModelDataset OneShotIterator OptimizeDataset OptimizeDatasetV2 OptionsDataset PaddedBatchDataset
        PaddedBatchDatasetV2 ParallelBatchDataset ParallelFilterDataset ParallelInterleaveDataset
        ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4
        ParallelMapDataset ParallelMapDatasetV2 ParseExampleDataset ParseExampleDatasetV2 PrefetchDataset
        PrivateThreadPoolDataset RandomDataset RandomDatasetV2 RangeDataset RebatchDataset RebatchDatasetV2
        ReduceDataset RepeatDataset SamplingDataset ScanDataset ShardDataset ShuffleAndRepeatDataset
        ShuffleAndRepeatDatasetV2 ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3 SkipDataset
        SlidingWindowDataset SparseTensorSliceDataset TakeDataset TakeWhileDataset TensorDataset
        TensorSliceDataset UnbatchDataset UncompressElement UniqueDataset WeightedFlatMapDataset
        WindowDataset WindowOp ZipDataset
        """
    ),
    "XLA's ops. Excludes custom calls, compiled modules and transfers.": names(
        """
        XlaBroadcastHelper XlaConv XlaConvV2 XlaDequantize XlaDot XlaDotV2 XlaDynamicSlice
        XlaDynamicUpdateSlice XlaEinsum XlaGather XlaIf XlaKeyValueSort XlaOptimizationBarrier XlaPad
        XlaReduce XlaReducePrecision XlaReduceWindow XlaRemoveDynamicDimensionSize XlaReplicaId
        XlaRngBitGenerator XlaScatter XlaSelectAndScatter XlaSelfAdjointEig XlaSetBound
        XlaSetDynamicDimensionSize XlaSharding XlaSort XlaSvd XlaVariadicReduce XlaVariadicReduceV2
        XlaVariadicSort XlaWhile
        """
    ),
    "Checks, clocks, and summaries that are strings in memory.": names(
        """
        Assert AudioSummary AudioSummaryV2 HistogramSummary ImageSummary MergeSummary ScalarSummary
        TensorSummary TensorSummaryV2 Timestamp
        """
    ),
    "Trees of boosted ensembles.": names(
        """
        BoostedTreesAggregateStats BoostedTreesBucketize BoostedTreesCalculateBestFeatureSplit
        BoostedTreesCalculateBestFeatureSplitV2 BoostedTreesCalculateBestGainsPerFeature
        BoostedTreesCenterBias BoostedTreesCreateEnsemble BoostedTreesCreateQuantileStreamResource
        BoostedTreesDeserializeEnsemble BoostedTreesEnsembleResourceHandleOp BoostedTreesExampleDebugOutputs
        BoostedTreesFlushQuantileSummaries BoostedTreesGetEnsembleStates BoostedTreesMakeQuantileSummaries
        BoostedTreesMakeStatsSummary BoostedTreesPredict BoostedTreesQuantileStreamResourceAddSummaries
        BoostedTreesQuantileStreamResourceDeserialize BoostedTreesQuantileStreamResourceFlush
        BoostedTreesQuantileStreamResourceGetBucketBoundaries BoostedTreesQuantileStreamResourceHandleOp
        BoostedTreesSerializeEnsemble BoostedTreesSparseAggregateStats
        BoostedTreesSparseCalculateBestFeatureSplit BoostedTreesTrainingPredict BoostedTreesUpdateEnsemble
        BoostedTreesUpdateEnsembleV2 IsBoostedTreesEnsembleInitialized
        IsBoostedTreesQuantileStreamResourceInitialized
        """
    ),
}
"""Families of allowed ops. Each key describes a family and names the ops that are left out."""
COMPUTES = frozenset().union(*FAMILIES.values())

SAVING = names("SaveV2 MergeV2Checkpoints ShardedFilename RestoreV2")
"""Ops that save and restore the variables of a SavedModel. Allowed only for saving and restoring, not in a
call.
"""
TABLES_OF_FILES = names("InitializeTableFromTextFile InitializeTableFromTextFileV2")
"""Ops that fill tables from files. Allowed only for the model's own assets."""

ACTS: dict[str, frozenset[str]] = {
    "call Python": PYTHON,
    "write files": names(
        """
        WriteFile SaveV2 Save SaveSlices MergeV2Checkpoints PrintV2 SaveDataset SaveDatasetV2
        WriteGraphSummary
        CreateSummaryFileWriter CreateSummaryDbWriter DebugIdentity DebugIdentityV2 DebugIdentityV3 DumpTensor
        DatasetToTFRecord ExperimentalDatasetToTFRecord CacheDataset CacheDatasetV2 SnapshotDataset
        SnapshotDatasetV2 DistributedSave SqlDataset ExperimentalSqlDataset CalibrationStatisticsSaver
        """
    ),
    "read files": names(
        """
        ReadFile MatchingFiles RestoreV2 Restore RestoreSlice WholeFileReader WholeFileReaderV2 TextLineReader
        TextLineReaderV2 TFRecordReader TFRecordReaderV2 FixedLengthRecordReader FixedLengthRecordReaderV2
        LMDBReader TextLineDataset TFRecordDataset TFRecordDatasetV2 FixedLengthRecordDataset
        FixedLengthRecordDatasetV2 LoadDataset CSVDataset CSVDatasetV2 ExperimentalCSVDataset LMDBDataset
        ExperimentalLMDBDataset MatchingFilesDataset ExperimentalMatchingFilesDataset GenerateVocabRemapping
        LoadAndRemapMatrix ImmutableConst DecodeProtoV2 EncodeProto FixedUnigramCandidateSampler RecordInput
        InitializeTableFromTextFile InitializeTableFromTextFileV2 SnapshotDatasetReader
        """
    ),
    "carry a graph or a program": names(
        "DatasetFromGraph XlaCallModule XlaCustomCall XlaCustomCallV2 RemoteCall"
    ),
    "connect to other processes": names(
        """
        DataServiceDataset DataServiceDatasetV2 DataServiceDatasetV3 DataServiceDatasetV4 RegisterDataset
        RegisterDatasetV2 RpcCall RpcClient RpcServer Send Recv CollectiveReduce CollectiveGather
        """
    ),
    "end the process": names("Abort"),
}
"""The effects of the best-known forbidden ops, for the error message."""
