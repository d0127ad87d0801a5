"""Which op of TensorFlow's own vocabulary an optimised op stands for."""

import re

_MKL = re.compile(r"^_Mkl(?:Native)?(?=[A-Z])")

# The op that computes in each op that the remapper makes of it and its neighbours (a bias, an activation, a
# padding); TensorFlow 2.21, grappler/optimizers/remapper.cc, and mkl_layout_pass.cc for the padded ones.
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
    """Return the op that a oneDNN op is a form of: `_MklMatMul` → `MatMul`, `_MklFusedConv2D` →
    `_FusedConv2D`.

    What is not oneDNN's stays as it is.
    """
    rest = _MKL.sub("", op)
    if rest == op:
        return op
    return "_" + rest if "_" + rest in _COMPUTES else rest


def computes(op: str) -> str:
    """Return the op that does the work in one that the optimiser fused: `_MklFusedMatMul` → `MatMul`.

    An op that is no known fusion stays as it is: `FusedBatchNormV3` is an op that code asks for.
    """
    bare = plain(op)
    return _COMPUTES.get(bare, bare)
