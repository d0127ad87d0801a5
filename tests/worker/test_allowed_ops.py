"""The list of allowed ops is checked against the registry of the installed TensorFlow."""

import re
from typing import Any

import pytest

from tuilab.worker.models.allowed_ops import ACTS, COMPUTES, FAMILIES, SAVING, TABLES_OF_FILES

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]
OUTSIDE = re.compile(r"file|path|dir$|directory|region|descriptor|address|hostname|endpoint|url|protocol")
HARMLESS = {"top_paths", "is_files"}
"""Arguments that are not files, although their names suggest it: the number of paths through a lattice, and a
sharding hint.
"""


@pytest.fixture(scope="module")
def registry(tf) -> dict[str, Any]:
    from tensorflow.core.framework.op_def_pb2 import OpList
    from tensorflow.python.client import pywrap_tf_session as session

    return {op.name: op for op in OpList.FromString(session.TF_GetBuffer(session.TF_GetAllOpList())).op}


def test_no_allowed_op_takes_a_file_or_host_name(registry):
    taken = {
        name: [
            each.name
            for each in (*op.input_arg, *op.attr)
            if OUTSIDE.search(each.name) and each.name not in HARMLESS
        ]
        for name, op in registry.items()
        if name in COMPUTES
    }
    assert {name: words for name, words in taken.items() if words} == {}


def test_allowed_ops_exist_and_belong_to_one_family(registry):
    assert sorted(COMPUTES - registry.keys()) == []
    assert sum(map(len, FAMILIES.values())) == len(COMPUTES)
    assert COMPUTES.isdisjoint(SAVING | TABLES_OF_FILES | frozenset().union(*ACTS.values()))
    assert all(len(reason) > 10 for reason in FAMILIES)
