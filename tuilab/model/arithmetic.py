"""Counts the arithmetic operations of one op, from its type and shapes.

Counting follows convention: a multiply-add counts as two operations, an element-wise function as one per
element, and a Fourier transform of N points as 5 N log₂ N (benchFFT; half of that if one side is real). A
matrix decomposition counts as the leading term of its cost (Golub and Van Loan 2013). Operations on complex
numbers count as real operations: six for a product, two for a sum.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Optional

from tuilab.model.ops import MATRIX, NO_ARITHMETIC, names

Shape = Optional[tuple[int, ...]]
"""Sizes of a tensor's dimensions; None if the sizes depend on the data."""


@dataclass(frozen=True)
class Shaped:
    """One op at run time: its type, and the shapes and dtypes (`float32`) of its inputs and outputs.

    attribute: returns an attribute by name; raises ValueError or KeyError if the op has none. value:
    returns the value of an input by its index; None if the value is known only when the graph runs.
    """

    op: str
    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    given: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    attribute: Callable[[str], Any] = field(default=lambda name: None, compare=False)
    value: Callable[[int], Any] = field(default=lambda index: None, compare=False)

    @property
    def dtype(self) -> str:
        """Return the dtype of the arithmetic: the widest floating or complex input dtype, else the dtype of
        the result.
        """
        kinds = [
            name for name in (*self.made, *self.given) if name.startswith(("float", "complex", "bfloat"))
        ]
        if kinds:
            return max(kinds[: len(self.made) or 1] or kinds, key=_width)
        return next(iter((*self.made, *self.given)), "")

    def get(self, name: str, otherwise: Any = None) -> Any:
        try:
            found = self.attribute(name)
        except (ValueError, KeyError):
            return otherwise
        return otherwise if found is None else found


def _width(dtype: str) -> int:
    return int("".join(letter for letter in dtype if letter.isdigit()) or 0)


class Unknown(Exception):
    """Raised if an op's number of operations depends on shapes that only the data determine."""


def arithmetic(op: Shaped) -> float | None:
    """Return the number of arithmetic operations in one execution of an op; None for an unknown op type.

    Raises Unknown if that number depends on shapes that only the data determine.
    """
    if op.op in NO_ARITHMETIC or op.op.startswith(("TensorList", "TensorArray", "Assign", "VarIs", "Stack")):
        return float(_size(op.inputs[1])) if op.op in ("AssignAddVariableOp", "AssignSubVariableOp") else 0.0
    found = _KNOWN.get(op.op)
    if found is None:
        return None
    return found(op)


def _size(shape: Shape) -> int:
    if shape is None:
        raise Unknown
    return math.prod(shape)


def _known_shape(shapes: tuple[Shape, ...], index: int) -> tuple[int, ...]:
    shape = shapes[index] if -len(shapes) <= index < len(shapes) else None
    if shape is None:
        raise Unknown
    return shape


def _first(op: Shaped) -> int:
    return _size(_known_shape(op.outputs, 0))


def _complex(op: Shaped) -> bool:
    return op.dtype.startswith("complex")


def _each(cost: float = 1.0) -> Callable[[Shaped], float]:
    return lambda op: cost * _first(op) * (2 if _complex(op) else 1)


def _multiplied(op: Shaped) -> float:
    return _first(op) * (6 if _complex(op) else 1)


def _reduced(op: Shaped) -> float:
    return float(_size(_known_shape(op.inputs, 0))) * (2 if _complex(op) else 1)


def _input(cost: float, index: int = 0) -> Callable[[Shaped], float]:
    return lambda op: cost * _size(_known_shape(op.inputs, index))


def _summed(op: Shaped) -> float:
    return float((len(op.inputs) - 1) * _first(op)) * (2 if _complex(op) else 1)


def _product(op: Shaped) -> float:
    """Count 2 m k n operations for each matrix product in the batch."""
    left = _known_shape(op.inputs, 0)
    flipped = op.get("transpose_a") or op.get("adj_x")
    inner = left[-2] if flipped else left[-1]
    return (8 if _complex(op) else 2) * _first(op) * inner


def _einsum(op: Shaped) -> float:
    """Count two operations for each combination of index values.

    With a single operand, count one operation per combination, or none if nothing is summed.
    """
    text = op.get("equation", "")
    text = text.decode() if isinstance(text, bytes) else str(text)
    operands = text.partition("->")[0].split(",")
    sides: dict[str, int] = {}
    wide = 1
    for labels, at in zip(operands, range(len(op.inputs)), strict=False):
        shape = list(_known_shape(op.inputs, at))
        before, dots, after = labels.strip().partition("...")
        if dots:
            middle = shape[len(before) : len(shape) - len(after)]
            wide = max(wide, math.prod(middle))
            shape = shape[: len(before)] + shape[len(shape) - len(after) :]
        for label, side in zip(before + after, shape, strict=False):
            sides[label] = max(sides.get(label, 1), side)
    every = float(wide * math.prod(sides.values()))
    if len(operands) < 2:
        return every if every > _first(op) else 0.0
    return every * (8 if _complex(op) else 2)


def _sparse_product(op: Shaped) -> float:
    """Count two operations for each pair of a stored element and a column of the dense matrix."""
    return 2.0 * _known_shape(op.inputs, 0)[0] * _known_shape(op.outputs, 0)[-1] * (4 if _complex(op) else 1)


def _count_convolution(result: int | None, kernel: int | None) -> Callable[[Shaped], float]:
    """Return a function that counts two operations for each output position, filter position and input
    channel; a depthwise convolution has one input channel.

    result: index of the input that has the shape of the forward convolution's output; None if the op's own
    output has this shape. kernel: index of the input that has the filter's shape; None if the op's own output
    has this shape.
    """

    def count(op: Shaped) -> float:
        weights = _input_or_result(op, kernel)
        per_channel = weights[: -2 if "Depthwise" in op.op else -1]
        return 2.0 * math.prod(_input_or_result(op, result)) * math.prod(per_channel)

    return count


def _input_or_result(op: Shaped, index: int | None) -> tuple[int, ...]:
    """Return the shape of an input, or of the op's output if `index` is None."""
    return _known_shape(op.outputs, 0) if index is None else _known_shape(op.inputs, index)


def _count_pooling(index: int | None) -> Callable[[Shaped], float]:
    """Return a function that counts one operation for each input element in the pooling window of each
    output element.
    """

    def count(op: Shaped) -> float:
        return float(math.prod(op.get("ksize", ())) * math.prod(_input_or_result(op, index)))

    return count


def _recurrent(gates: int, cost: int) -> Callable[[Shaped], float]:
    """Return a function that counts the operations of one time step of a recurrent cell: the matrix products
    of the gates, and a few operations for each unit.

    The weight matrix has a row per input and unit, and a column per gate and unit.
    """

    def count(op: Shaped) -> float:
        matrices = [s for s in op.inputs if s is not None and len(s) == 2]
        given = op.op.startswith("BlockLSTM")
        x = _known_shape(op.inputs, 1 if given else 0)
        rows = math.prod(x[:-1])
        weights = [s for s in matrices if s != tuple(x) and s[0] > x[-1] and (s[1] % (s[0] - x[-1]) == 0)]
        if not weights:
            raise Unknown
        units = weights[0][0] - x[-1]
        return rows * (sum(2.0 * s[0] * s[1] for s in weights) + cost * units + gates * units)

    return count


def _cudnn(op: Shaped) -> float:
    """Count two operations for each weight, time step and example."""
    x, weights = _known_shape(op.inputs, 0), _size(_known_shape(op.inputs, 3))
    return 2.0 * weights * math.prod(x[:2])


def fourier_flop(points: int, real: bool) -> float:
    """Return the operations of one Fourier transform, by convention. real: True if one side is real."""
    return (2.5 if real else 5.0) * points * math.log2(points) if points > 1 else 0.0


def _transform(rank: int, real: bool) -> Callable[[Shaped], float]:
    def count(op: Shaped) -> float:
        # Count from the side with complete rows: the other side of a real transform has half of each row.
        before, after = _known_shape(op.inputs, 0), _known_shape(op.outputs, 0)
        whole = before if math.prod(before) >= math.prod(after) else after
        if real and op.op.startswith("RFFT"):
            lengths = op.value(1)
            sides = tuple(int(n) for n in lengths) if lengths is not None else before[-rank:]
            whole = (*after[:-rank], *sides)
        points = math.prod(whole[-rank:])
        many = math.prod(whole[:-rank])
        return many * fourier_flop(points, real)

    return count


# Counts for matrices in the last two dimensions of a tensor.


def _matrix(count: Callable[[int, int], float]) -> Callable[[Shaped], float]:
    def whole(op: Shaped) -> float:
        shape = _known_shape(op.inputs, 0)
        rows, columns = shape[-2], shape[-1]
        return math.prod(shape[:-2]) * count(rows, columns) * (4 if _complex(op) else 1)

    return whole


def _count_solve(cost: float, each: float) -> Callable[[Shaped], float]:
    """Return a function that counts `cost` n³ operations for an n × n matrix, plus `each` n² for each
    right-hand side.
    """

    def count(op: Shaped) -> float:
        shape, right = _known_shape(op.inputs, 0), _known_shape(op.inputs, 1)
        n = shape[-1]
        one = cost * n**3 + each * n**2 * right[-1]
        return math.prod(shape[:-2]) * one * (4 if _complex(op) else 1)

    return count


def _tall(m: int, n: int) -> float:
    """Return the number of operations of the QR decomposition of an m × n matrix by Householder reflections,
    including Q.
    """
    small = min(m, n)
    return 4.0 * m * n * small - 4.0 / 3 * small**3


def _named(types: str, count: Callable[[Shaped], float]) -> dict[str, Callable[[Shaped], float]]:
    return dict.fromkeys(names(types), count)


_KNOWN: dict[str, Callable[[Shaped], float]] = {
    **dict.fromkeys(MATRIX - {"Einsum"} | {"SparseMatMul"}, _product),
    "Einsum": _einsum,
    "SparseTensorDenseMatMul": _sparse_product,
    **_named("Conv2D Conv3D Conv _FusedConv2D _FusedConv3D", _count_convolution(None, 1)),
    **_named("Conv2DBackpropInput Conv3DBackpropInputV2", _count_convolution(2, 1)),
    **_named("Conv2DBackpropFilter Conv3DBackpropFilterV2", _count_convolution(2, None)),
    **_named("DepthwiseConv2dNative _FusedDepthwiseConv2dNative", _count_convolution(None, 1)),
    "DepthwiseConv2dNativeBackpropInput": _count_convolution(2, 1),
    "DepthwiseConv2dNativeBackpropFilter": _count_convolution(2, None),
    **_named("AvgPool MaxPool AvgPool3D MaxPool3D MaxPoolV2 MaxPoolWithArgmax", _count_pooling(None)),
    **_named("AvgPoolGrad AvgPool3DGrad", _count_pooling(1)),
    **_named("MaxPoolGrad MaxPoolGradV2 MaxPool3DGrad", _count_pooling(2)),
    **_named("FFT IFFT", _transform(1, real=False)),
    **_named("FFT2D IFFT2D", _transform(2, real=False)),
    **_named("FFT3D IFFT3D", _transform(3, real=False)),
    **_named("RFFT IRFFT", _transform(1, real=True)),
    **_named("RFFT2D IRFFT2D", _transform(2, real=True)),
    **_named("RFFT3D IRFFT3D", _transform(3, real=True)),
    **_named("Mul MulNoNan", _multiplied),
    **_named(
        """Add AddV2 Sub RealDiv Div DivNoNan FloorDiv FloorMod Mod TruncateDiv TruncateMod Xdivy Xlogy
        Maximum Minimum Pow Atan2 Neg Abs ComplexAbs Angle Sign Square Sqrt Rsqrt Reciprocal Inv Exp Expm1
        Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Sigmoid Erf Erfc Erfinv Ndtri
        Lgamma Digamma Relu Relu6 LeakyRelu Elu Selu Softplus Softsign Floor Ceil Round Rint BiasAdd BiasAddV1
        Less LessEqual Greater GreaterEqual Equal NotEqual ApproximateEqual LogicalAnd LogicalOr LogicalNot
        BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift RightShift IsNan IsInf IsFinite
        TensorScatterAdd TensorScatterSub ReluGrad Relu6Grad LeakyReluGrad EluGrad SeluGrad
        NextAfter Zeta Polygamma Igamma Igammac Bucketize""",
        _each(),
    ),
    **_named("SquaredDifference TanhGrad SigmoidGrad SqrtGrad RsqrtGrad ReciprocalGrad InvGrad", _each(2)),
    **_named("SoftplusGrad SoftsignGrad ClipByValue AdjustContrastv2", _each(2)),
    **_named(
        "Sum Mean Max Min Prod All Any ArgMax ArgMin EuclideanNorm Cumsum Cumprod BiasAddGrad", _reduced
    ),
    **_named("SegmentSum SegmentMean SegmentMax SegmentMin UnsortedSegmentSum UnsortedSegmentMax", _reduced),
    **_named("UnsortedSegmentMin UnsortedSegmentProd SegmentSumV2 Bincount DenseBincount", _reduced),
    **_named("SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN", _reduced),
    # Count one operation per element, a lower bound: the actual number depends on the algorithm that draws
    # the random numbers or selects the elements.
    **_named(
        """RandomStandardNormal RandomUniform RandomUniformInt TruncatedNormal ParameterizedTruncatedNormal
        StatelessRandomNormal StatelessRandomNormalV2 StatelessRandomUniform StatelessRandomUniformV2
        StatelessRandomUniformInt StatelessRandomUniformIntV2 StatelessRandomUniformFullInt
        StatelessRandomUniformFullIntV2 StatelessTruncatedNormal StatelessTruncatedNormalV2
        StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatefulUniformInt
        StatefulUniformFullInt Multinomial StatelessMultinomial BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0
        BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Betainc Dawsn Expint FresnelCos
        FresnelSin Spence IgammaGradA RandomGammaGrad Xlog1py TensorScatterMax TensorScatterMin
        PopulationCount ResizeNearestNeighborGrad LowerBound UpperBound MaxPoolGradWithArgmax""",
        _each(),
    ),
    **_named("TopK TopKV2 ApproxTopK InTopKV2 HistogramFixedWidth CumulativeLogsumexp SegmentProd", _reduced),
    # Count one comparison per box: how many boxes overlap depends on the data.
    **_named(
        """NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5
        NonMaxSuppressionWithOverlaps CombinedNonMaxSuppression""",
        _input(1, 1),
    ),
    **_named("TileGrad MirrorPadGrad SparseSegmentSumGrad SparseSegmentMeanGrad", _reduced),
    "SparseSegmentSqrtNGrad": _reduced,
    **_named("AdjustHue AdjustSaturation AdjustContrast", _each(5)),
    **_named("CropAndResize ImageProjectiveTransformV2 ImageProjectiveTransformV3", _each(7)),
    "ResizeBilinearGrad": _input(7),
    **_named("FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel", _each(4)),
    **_named("QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4", _each(4)),
    "LRN": _each(3),
    "TridiagonalMatMul": _each(5),
    "TridiagonalSolve": _each(8),
    # Count the reduction to tridiagonal or bidiagonal form, but no eigenvectors or singular vectors.
    "SelfAdjointEigV2": _matrix(lambda m, n: 4 * n**3 / 3),
    "Svd": _matrix(lambda m, n: 4.0 * max(m, n) * min(m, n) ** 2 - 4.0 * min(m, n) ** 3 / 3),
    "L2Loss": _input(2),
    **_named("AddN AccumulateNV2", _summed),
    **_named("Softmax LogSoftmax", _each(5)),
    **_named("SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits", _input(6)),
    **_named(
        "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 _FusedBatchNormEx",
        lambda op: _count_normalisation(op),
    ),
    **_named("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 _FusedBatchNormGradEx", _each(8)),
    **_named("LSTMBlockCell BlockLSTM BlockLSTMV2", _recurrent(4, 5)),
    "GRUBlockCell": _recurrent(3, 5),
    **_named("CudnnRNN CudnnRNNV2 CudnnRNNV3", _cudnn),
    "Cholesky": _matrix(lambda m, n: n**3 / 3),
    "Qr": _matrix(_tall),
    "Lu": _matrix(lambda m, n: 2 * n**3 / 3),
    **_named("MatrixDeterminant LogMatrixDeterminant", _matrix(lambda m, n: 2 * n**3 / 3)),
    "MatrixInverse": _matrix(lambda m, n: 2.0 * n**3),
    "MatrixSolve": _count_solve(2 / 3, 2),
    **_named("MatrixTriangularSolve BatchMatrixTriangularSolve", _count_solve(0, 1)),
    "Cross": _each(3),
    **_named("ResizeBilinear ScaleAndTranslate", lambda op: 7.0 * _first(op)),
    "ResizeNearestNeighbor": lambda op: 0.0,
    **_named("RGBToHSV HSVToRGB", _each(5)),
    "ResourceApplyGradientDescent": _input(2, 2),
    **_named("ResourceApplyMomentum ResourceApplyKerasMomentum", _input(4, 3)),
    "ResourceApplyAdagradV2": _input(5, 4),
    "ResourceApplyRMSProp": _input(8, 7),
    "ResourceApplyAdam": _input(12, 9),
    "ResourceApplyAdamWithAmsgrad": _input(13, 10),
    "ResourceApplyAdaMax": _input(9, 8),
    "ResourceApplyAdadelta": _input(12, 6),
    "ResourceApplyCenteredRMSProp": _input(11, 8),
    **_named("ResourceApplyAdagrad ResourceSparseApplyAdagrad", _input(5, 3)),
    "ResourceSparseApplyAdagradV2": _input(5, 4),
    **_named("ResourceApplyFtrl ResourceApplyFtrlV2", _input(12, 3)),
    "ResourceSparseApplyKerasMomentum": _input(4, 3),
    **_named("ResourceScatterAdd ResourceScatterSub ResourceScatterNdAdd", _input(1, 2)),
}


def _count_normalisation(op: Shaped) -> float:
    """Count the operations of a normalization; only training also computes the mean and variance."""
    return (7.0 if op.get("is_training", True) else 2.0) * _size(_known_shape(op.inputs, 0))
