"""One sshd for all tests in this folder."""

import shutil
from collections.abc import Iterator

import pytest

from tests.remote.server import SSHD, Sshd


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    for program in (SSHD, "ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (Debian: openssh-server, openssh-client)")
    folder = tmp_path_factory.mktemp("sshd")
    folder.chmod(0o700)
    server = Sshd(folder)
    yield server
    server.close()
