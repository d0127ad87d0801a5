"""Fixtures: one wheel for all journeys, and a home folder for each. A failure report shows what the user
saw.
"""

import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.data_folder import once
from tests.journeys.user import User, environment_with_tensorflow, install

DATA = ".local/share/tuilab"


@pytest.fixture(scope="session")
def programs() -> Path:
    """Return the `bin` folder of an environment in which the wheel is installed."""
    return Path(once("wheel", lambda folder: {"programs": str(install(folder))})["programs"])


@pytest.fixture(scope="session")
def elsewhere() -> Path:
    """Return the `bin` folder of an environment with TensorFlow but without tuilab."""
    made = once("elsewhere", lambda folder: {"programs": str(environment_with_tensorflow(folder / "venv"))})
    return Path(made["programs"])


@pytest.fixture
def newcomer(tmp_path: Path, programs: Path) -> Iterator[User]:
    """Yield a user who has just installed tuilab. At the end, no process of this user may remain."""
    user = User(tmp_path / "home", programs)
    yield user
    try:
        user.nothing_is_left()
    finally:
        user.end()


@pytest.fixture
def user(newcomer: User, machine: Path) -> User:
    """Return a user whose data folder already contains this machine's roofs, which saves a few seconds in the
    user's first run.
    """
    shutil.copytree(machine, newcomer.home / DATA / machine.name)
    return newcomer


@pytest.fixture(scope="session")
def machine(programs: Path) -> Path:
    """Return the folder in which `tuilab machine` has saved this machine's roofs."""

    def measured(folder: Path) -> dict[str, str]:
        user = User(folder / "home", programs)
        user.run("tuilab machine")
        return {"machines": str(user.home / DATA / "machines")}

    return Path(once("machine", measured)["machines"])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """If only journeys run, start the long ones first, so that short ones fill the gaps at the end."""
    if all(Path(__file__).parent in item.path.parents for item in items):
        items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the user saw to a failure report."""
    report = yield
    user = getattr(item, "funcargs", {}).get("newcomer")
    if report.failed and isinstance(user, User):
        report.sections.append(("what the user saw", user.seen))
    return report
