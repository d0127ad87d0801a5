"""The counted operations equal those of textbook algorithms that count their own operations as they run."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.report.test_whole_reports import Text
from tuilab.model.arithmetic import _KNOWN, Shaped, Unknown, arithmetic


class Counter:
    """Counts the real operations of an algorithm.

    complex: True to count a product as six operations and a sum as two, as for complex numbers.
    """

    def __init__(self, complex: bool = False) -> None:
        self.operations, self.complex = 0, complex

    def times(self, number: int = 1) -> None:
        """Count multiplications, divisions or function calls."""
        self.operations += number * (6 if self.complex else 1)

    def plus(self, number: int = 1) -> None:
        self.operations += number * (2 if self.complex else 1)

    def multiply_add(self, number: int = 1) -> None:
        self.times(number)
        self.plus(number)


def op(
    name: str, *inputs: tuple[int, ...] | None, out: tuple[int, ...], dtype: str = "float32", **about: Any
):
    """Return an op with these input and output shapes. about: the op's attributes."""
    return Shaped(name, inputs, (out,), (dtype,) * len(inputs), (dtype,), about.get)


def product(count: Counter, n: int) -> None:
    for _ in range(n * n):
        count.multiply_add(n)


def cholesky(count: Counter, n: int) -> None:
    for column in range(n):
        count.times(n - column)
        count.multiply_add((n - column) * column)


def eliminate(count: Counter, n: int, right: int = 0) -> None:
    for column in range(n):
        below = n - column - 1
        count.times(below)
        count.multiply_add(below * (below + right))


def substitute(count: Counter, n: int, right: int) -> None:
    for row in range(n):
        count.multiply_add(row * right)
        count.times(right)


def solve(count: Counter, n: int, right: int) -> None:
    eliminate(count, n, right)
    substitute(count, n, right)


@pytest.mark.parametrize("kind", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(
    ("name", "algorithm", "right"),
    [
        ("MatMul", product, None),
        ("Cholesky", cholesky, None),
        ("Lu", eliminate, None),
        ("MatrixDeterminant", eliminate, None),
        ("MatrixTriangularSolve", substitute, 7),
        ("MatrixSolve", solve, 7),
        ("MatrixSolve", solve, 90),
    ],
)
def test_a_matrix_op_counts_the_operations_of_its_algorithm(
    name: str, algorithm: Callable[..., None], right: int | None, kind: bool
) -> None:
    n, batch = 90, 3
    count = Counter(kind)
    algorithm(count, n, *([] if right is None else [right]))
    matrix = (batch, n, n)
    second = matrix if right is None else (batch, n, right)
    found = arithmetic(op(name, matrix, second, out=second, dtype="complex64" if kind else "float32"))
    assert found == pytest.approx(batch * count.operations, rel=0.04)


@pytest.mark.parametrize(("dtype", "name"), [("complex64", "FFT"), ("float32", "RFFT")])
@pytest.mark.parametrize("points", [256, 4_096])
def test_a_transform_counts_its_butterflies(dtype: str, name: str, points: int) -> None:
    """A butterfly consists of a complex product and two complex sums for two points. A transform with a real
    input or output needs half the operations.
    """
    count = Counter(complex=True)
    for _ in range(int(math.log2(points))):
        count.times(points // 2)
        count.plus(points)
    real = name == "RFFT"
    made = (8, points // 2 + 1) if real else (8, points)
    found = arithmetic(op(name, (8, points), (1,), out=made, dtype=dtype))
    assert found == pytest.approx(8 * count.operations / (2 if real else 1))


def test_a_convolution_counts_each_position_filter_and_channel() -> None:
    pictures, weights, made = (2, 9, 9, 3), (3, 3, 3, 5), (2, 7, 7, 5)
    count = Counter()
    for _ in range(math.prod(made)):
        count.multiply_add(3 * 3 * 3)
    assert arithmetic(op("Conv2D", pictures, weights, out=made)) == count.operations
    backwards = op("Conv2DBackpropInput", (4,), weights, made, out=pictures)
    assert arithmetic(backwards) == count.operations
    assert arithmetic(op("Conv2DBackpropFilter", pictures, (4,), made, out=weights)) == count.operations


@pytest.mark.parametrize(
    ("equation", "shapes", "multiply_adds"),
    [
        ("ij,jk->ik", ((4, 5), (5, 6)), 4 * 5 * 6),
        ("bij,bjk->bik", ((2, 4, 5), (2, 5, 6)), 2 * 4 * 5 * 6),
        ("...ij,jk->...ik", ((7, 2, 4, 5), (5, 6)), 7 * 2 * 4 * 5 * 6),
        ("i,j->ij", ((4,), (5,)), 4 * 5),
    ],
)
def test_einsum_counts_each_combination_of_its_labels(
    equation: str, shapes: tuple, multiply_adds: int
) -> None:
    for dtype, each in (("float32", 2), ("complex64", 8)):
        assert (
            arithmetic(op("Einsum", *shapes, out=(1,), dtype=dtype, equation=equation))
            == each * multiply_adds
        )


def test_einsum_with_one_operand_counts_only_sums() -> None:
    for equation, made, count in (("ij->i", (4,), 20), ("ij->", (), 20), ("ij->ji", (5, 4), 0)):
        assert arithmetic(op("Einsum", (4, 5), out=made, equation=equation)) == count


def test_a_sparse_product_counts_the_stored_elements() -> None:
    shapes = (30, 2), (30,), (2,), (50, 8)
    assert arithmetic(op("SparseTensorDenseMatMul", *shapes, out=(40, 8))) == 2 * 30 * 8
    found = arithmetic(op("SparseTensorDenseMatMul", *shapes, out=(40, 8), dtype="complex64"))
    assert found == 8 * 30 * 8


def adam(count: Counter) -> None:
    """Count a step of Adam as Kingma and Ba published it, with the bias correction in the learning rate."""
    # m = b1 m + (1 - b1) g
    count.times(2)
    count.plus()
    # v = b2 v + (1 - b2) g²
    count.times(3)
    count.plus()
    # w -= rate m / (sqrt(v) + epsilon)
    count.times(3)
    count.plus(2)


def momentum(count: Counter) -> None:
    count.times()
    count.plus()
    count.times()
    count.plus()


def descent(count: Counter) -> None:
    count.times()
    count.plus()


@pytest.mark.parametrize(
    ("name", "rule", "gradient"),
    [
        ("ResourceApplyAdam", adam, 9),
        ("ResourceApplyMomentum", momentum, 3),
        ("ResourceApplyGradientDescent", descent, 2),
    ],
)
def test_an_optimizer_counts_its_rule_for_each_weight(
    name: str, rule: Callable[[Counter], None], gradient: int
) -> None:
    count = Counter()
    rule(count)
    inputs = [()] * 10
    inputs[gradient] = (20, 30)
    assert arithmetic(op(name, *inputs, out=())) == 600 * count.operations


@pytest.mark.parametrize(("dtype", "product", "total"), [("float32", 1, 1), ("complex64", 6, 2)])
def test_an_element_wise_op_counts_its_elements(dtype: str, product: int, total: int) -> None:
    shape = (4, 25)
    assert arithmetic(op("Mul", shape, shape, out=shape, dtype=dtype)) == 100 * product
    assert arithmetic(op("AddV2", shape, shape, out=shape, dtype=dtype)) == 100 * total
    assert arithmetic(op("AddN", shape, shape, shape, out=shape, dtype=dtype)) == 200 * total
    assert arithmetic(op("Sum", shape, (1,), out=(4,), dtype=dtype)) == 100 * total


def test_operations_of_unknown_size_or_type_are_not_guessed() -> None:
    with pytest.raises(Unknown):
        arithmetic(op("MatMul", None, (4, 4), out=(4, 4)))
    assert arithmetic(op("NoSuchOp", (4,), out=(4,))) is None
    assert arithmetic(op("Reshape", (4,), out=(2, 2))) == 0


SHAPES = (
    ((6, 20, 30), (30, 120), (7,), (900,)),
    ((2, 9, 9, 3), (3, 3, 3, 5), (2, 7, 7, 5), (2, 7, 7, 5)),
    ((5, 12), (4, 12, 8), (32, 96), (8, 8), (7,), (7,), (7,), (7,), (7,), (9, 4), (9, 5)),
    ((5, 12), (5, 8), (20, 16), (20, 8), (16,), (8,)),
    ((40, 40), (40, 7), None, (3,)),
)
DTYPES = (*["float32"] * 4, "complex64")
ABOUT = {"ksize": (1, 2, 2, 1), "equation": "ij,jk->ik", "transpose_a": True, "is_training": False}


def test_the_counts_of_all_known_ops(snapshot):
    """`--snapshot-update` updates the counts; review them."""
    lines = []
    for name in sorted(_KNOWN):
        found = []
        for shapes, dtype in zip(SHAPES, DTYPES, strict=True):
            try:
                count = arithmetic(op(name, *shapes, out=(*shapes[0][:-1], 11), dtype=dtype, **ABOUT))
                found.append(f"{count:,.6g}" if count is not None else "none")
            except (Unknown, IndexError) as error:
                found.append(type(error).__name__)
        lines.append(f"{name}: {'; '.join(found)}")
    assert "\n".join(lines) == snapshot(extension_class=Text)
