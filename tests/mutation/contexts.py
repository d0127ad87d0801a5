"""A pytest plug-in for coverage: records which test runs a line, even in a task or thread of the test."""

from collections.abc import Iterator

import pytest
from coverage import Coverage


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Attribute the lines that run to the test, including those of its fixtures' set-up and tear-down."""
    measuring = Coverage.current()
    assert measuring is not None
    measuring.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        measuring.switch_context("")
