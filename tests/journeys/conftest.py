"""One wheel for all journeys of a session, and one home for each; a failure report contains what the user
saw.
"""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.data_folder import once
from tests.journeys.user import User, environment_with_tensorflow, install


@pytest.fixture(scope="session")
def programs() -> Path:
    """Return the programs folder of an environment with the wheel."""
    return Path(once("wheel", lambda folder: {"programs": str(install(folder))})["programs"])


@pytest.fixture(scope="session")
def elsewhere() -> Path:
    """Return the programs folder of an environment with TensorFlow but without tuilab."""
    made = once("elsewhere", lambda folder: {"programs": str(environment_with_tensorflow(folder / "venv"))})
    return Path(made["programs"])


@pytest.fixture
def user(tmp_path: Path, programs: Path) -> Iterator[User]:
    """A user who has just installed tuilab. At the end, none of their processes may be left."""
    user = User(tmp_path / "home", programs)
    yield user
    try:
        user.nothing_is_left()
    finally:
        user.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the user saw to the report of a failure."""
    report = yield
    user = getattr(item, "funcargs", {}).get("user")
    if report.failed and isinstance(user, User):
        report.sections.append(("what the user saw", user.seen))
    return report
