"""Maps an optimized op to the TensorFlow op that it implements."""

import re

_MKL = re.compile(r"^_Mkl(?:Native)?(?=[A-Z])")

# Fused op → the op in it that does the main computation; TensorFlow's remapper fuses it with its neighbors
# (bias, activation, padding). Source: TensorFlow 2.21, grappler/optimizers/remapper.cc, and
# mkl_layout_pass.cc for padded ops.
_COMPUTES = {
    "_FusedMatMul": "MatMul",
    "_FusedBatchMatMulV2": "BatchMatMulV2",
    "_FusedConv2D": "Conv2D",
    "_FusedConv3D": "Conv3D",
    "_FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
    "_FusedBatchNormEx": "FusedBatchNormV3",
    "_FusedBatchNormGradEx": "FusedBatchNormGradV3",
    "PadWithConv2D": "Conv2D",
    "PadWithFusedConv2D": "Conv2D",
    "Conv2DWithBias": "Conv2D",
}


def plain(op: str) -> str:
    """Return the op that a oneDNN op implements: `_MklMatMul` → `MatMul`. Returns other ops unchanged."""
    rest = _MKL.sub("", op)
    if rest == op:
        return op
    return "_" + rest if "_" + rest in _COMPUTES else rest


def computes(op: str) -> str:
    """Return the op that does the work in a fused op: `_MklFusedMatMul` → `MatMul`.

    Returns other ops unchanged, such as `FusedBatchNormV3`, which user code requests itself.
    """
    bare = plain(op)
    return _COMPUTES.get(bare, bare)
