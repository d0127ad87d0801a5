import pytest

from tuilab.analysis.operations import computes, plain


@pytest.mark.parametrize(
    ("op", "bare", "work"),
    [
        ("MatMul", "MatMul", "MatMul"),
        ("_MklMatMul", "MatMul", "MatMul"),
        ("_MklNativeConv2D", "Conv2D", "Conv2D"),
        ("_FusedMatMul", "_FusedMatMul", "MatMul"),
        ("_MklFusedMatMul", "_FusedMatMul", "MatMul"),
        ("_MklNativeFusedConv2D", "_FusedConv2D", "Conv2D"),
        ("_MklFusedBatchMatMulV2", "_FusedBatchMatMulV2", "BatchMatMulV2"),
        ("_MklNativePadWithFusedConv2D", "PadWithFusedConv2D", "Conv2D"),
        ("_FusedDepthwiseConv2dNative", "_FusedDepthwiseConv2dNative", "DepthwiseConv2dNative"),
        ("_FusedBatchNormEx", "_FusedBatchNormEx", "FusedBatchNormV3"),
        # User code can also request ops by these names.
        ("FusedBatchNormV3", "FusedBatchNormV3", "FusedBatchNormV3"),
        ("_MklFusedBatchNormV3", "FusedBatchNormV3", "FusedBatchNormV3"),
        ("FusedPadConv2D", "FusedPadConv2D", "FusedPadConv2D"),
        # unknown ops keep their name
        ("_FusedUnheardOf", "_FusedUnheardOf", "_FusedUnheardOf"),
        ("_UnaryOpsComposition", "_UnaryOpsComposition", "_UnaryOpsComposition"),
        ("", "", ""),
    ],
)
def test_operations_are_ranked_by_the_op_that_does_the_work(op: str, bare: str, work: str) -> None:
    assert (plain(op), computes(op)) == (bare, work)
