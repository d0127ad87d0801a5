"""A pytest plug-in: coverage records which test runs a line, including in the test's tasks and threads."""

from collections.abc import Iterator

import pytest
from coverage import Coverage


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Attribute everything from the start of its fixtures to their end to the test."""
    measuring = Coverage.current()
    assert measuring is not None
    measuring.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        measuring.switch_context("")
