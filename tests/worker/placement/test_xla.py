"""The number of operations in a program that XLA compiled, derived from the program's text."""

import pytest

from tuilab.worker.placement.xla import arithmetic

PROGRAM = """HloModule m

%fused (p.0: f32[8,4]) -> f32[8,4] {{
  %p.0 = f32[8,4]{{1,0}} parameter(0)
  %c.1 = f32[] constant(1)
  %b.2 = f32[8,4]{{1,0}} broadcast(%c.1), dimensions={{}}
  ROOT %add.3 = f32[8,4]{{1,0}} add(%p.0, %b.2), metadata={{op_type="AddV2" op_name="add"}}
}}

ENTRY %m (x: f32[8,16], y: f32[16,4]) -> f32[8,4] {{
  %x = f32[8,16]{{1,0}} parameter(0)
  %y = f32[16,4]{{1,0}} parameter(1)
  {made}
  ROOT %f.9 = f32[8,4]{{1,0}} fusion(%made), kind=kLoop, calls=%fused
}}
"""
DOT = "%made = f32[8,4]{1,0} dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
CONV = "%made = f32[1,8,8,4]{3,2,1,0} convolution(%x, %k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"


@pytest.mark.parametrize(
    ("made", "operations"),
    [
        (DOT, 2 * 8 * 4 * 16 + 32),
        ("%made = f32[8,4]{1,0} slice(%x), slice={[0:8], [0:4]}", 32 + 32),
        ("%k = f32[3,3,2,4]{3,2,1,0} parameter(2)\n  " + CONV, 2 * 8 * 8 * 4 * 3 * 3 * 2 + 32),
        ("%made = f32[8]{0} reduce(%x, %c.1), dimensions={1}, to_apply=%sum", 8 * 16 + 32),
        (
            "%made = f32[8]{0} reduce-window(%x, %c.1), window={size=1x31 pad=0_0x15_15}, to_apply=%max",
            8 * 31 + 32,
        ),
        ("%made = f32[8,4]{1,0} sort(%y), dimensions={1}, to_apply=%less", 32 * 5 + 32),
        ("%made = f32[0]{0} sort(%x), dimensions={0}, to_apply=%less", 32),
        ("%made = f32[16,4]{1,0} triangular-solve(%x, %y), lower=true", None),
        ("%made = f32[4]{0} scatter(%x, %i, %y), to_apply=%sum", 8 * 16 + 32),
        ('%made = f32[8,4]{1,0} custom-call(%x, %y), custom_call_target="gemm"', None),
        ("%made = (f32[8,4]{1,0}, s32[]) while(%x), condition=%a, body=%b", None),
    ],
)
def test_operations_of_xla_are_counted_or_unknown(made: str, operations: float | None) -> None:
    assert arithmetic(PROGRAM.format(made=made)) == operations
