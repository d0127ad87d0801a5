"""A pytest plug-in for coverage that records which test runs a line, even if a task or thread of the test
runs it.
"""

from collections.abc import Iterator

import pytest
from coverage import Coverage


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Attribute everything to the test, from the set-up of its fixtures to their tear-down."""
    measuring = Coverage.current()
    assert measuring is not None
    measuring.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        measuring.switch_context("")
