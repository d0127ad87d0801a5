"""A real sshd on the loopback interface, with a host key and a user key that exist only during the tests."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.calling import environment

SSHD = "/usr/sbin/sshd"
REPOSITORY = Path(__file__).resolve().parents[2]
FAKE = REPOSITORY / "tests" / "runner" / "fake_worker.py"
HERE = f"env PYTHONPATH={REPOSITORY} {sys.executable} -m tuilab"


class Sshd:
    """An ssh server and its client's configuration. The host gpu-07 works; each other host has one kind of
    failure.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        for name in ("hostkey", "otherkey", "userkey", "strangerkey"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(words, check=True, timeout=30)
        shutil.copy(folder / "userkey.pub", folder / "authorized")
        self._write_configurations()
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # sshd needs this folder to drop its privileges
        self.process = subprocess.Popen(
            [SSHD, "-D", "-f", str(folder / "sshd_config"), "-E", str(folder / "log")],
            stdin=subprocess.DEVNULL,
        )
        self._wait()

    def _write_configurations(self) -> None:
        folder = self.folder
        (folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/hostkey\n"
            f"AuthorizedKeysFile {folder}/authorized\nPidFile none\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
        )
        key = " ".join((folder / "hostkey.pub").read_text().split()[:2])
        other = " ".join((folder / "otherkey.pub").read_text().split()[:2])
        (folder / "known").write_text(f"gpu-07 {key}\nstranger {key}\nchanged {other}\n")
        hosts = {
            "gpu-07": "",
            "unknown": "",
            "changed": "",
            "stranger": f"IdentityFile {folder}/strangerkey\n",
            "closed": f"Port {free_port()}\n",
            "nowhere": "HostName nowhere.invalid\n",
        }
        text = "".join(f"Host {host}\n  HostKeyAlias {host}\n  {own}" for host, own in hosts.items())
        text += f"Host * !stranger\n  IdentityFile {folder}/userkey\n"
        (folder / "config").write_text(
            f"{text}\nHost *\n  HostName 127.0.0.1\n  Port {self.port}\n  User {getpass.getuser()}\n"
            f"  IdentitiesOnly yes\n  IdentityAgent none\n"
            f"  UserKnownHostsFile {folder}/known\n  GlobalKnownHostsFile /dev/null\n"
        )

    def _wait(self) -> None:
        for _ in range(1_200):  # on a busy machine, sshd starts slowly
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        log = self.folder / "log"
        pytest.fail(f"sshd did not start: {log.read_text()[-2_000:] if log.exists() else 'it said nothing'}")

    def environment(self, data: Path, remote: str = HERE) -> dict[str, str]:
        """Return the environment variables for a tuilab that uses this server. remote: the command that runs
        tuilab there.
        """
        ssh = f"ssh -F {self.folder}/config"
        return environment(data, TUILAB_SSH=ssh, TUILAB_REMOTE=remote)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
