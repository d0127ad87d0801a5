import pytest

from tuilab.model.errors import InputError
from tuilab.runner.ssh import PROGRAM, REMOTE, command, explain


def test_the_system_ssh_asks_nothing_and_only_starts_a_worker(monkeypatch):
    monkeypatch.delenv(PROGRAM, raising=False)
    monkeypatch.delenv(REMOTE, raising=False)
    words = command("ada@gpu-07")
    assert words[0] == "ssh"
    assert "BatchMode=yes" in words
    assert words[-2:] == ["ada@gpu-07", "exec tuilab worker"]
    monkeypatch.setenv(PROGRAM, "myssh -p 2222 -F 'a b'")
    monkeypatch.setenv(REMOTE, "~/venv/bin/tuilab")
    words = command("gpu-07")
    assert words[:5] == ["myssh", "-p", "2222", "-F", "a b"]
    assert words[-1] == "exec ~/venv/bin/tuilab worker"


@pytest.mark.parametrize("host", ["", "-oProxyCommand=evil", "a b", "a;b", "$(b)", "a\n", "a`b`", "x" * 300])
def test_options_and_commands_are_refused_as_host_names(host):
    with pytest.raises(InputError, match="--host"):
        command(host)


@pytest.mark.parametrize(
    ("code", "said", "cause"),
    [
        (255, "ssh: Could not resolve hostname gpu-07: Name or service not known", "host name is unknown"),
        (255, "ssh: connect to host gpu-07 port 22: Connection refused", "cannot be reached"),
        (255, "Host key verification failed.", "run `ssh gpu-07` once"),
        (
            255,
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
            "key has changed",
        ),
        (255, "ada@gpu-07: Permission denied (publickey).", "refused the login"),
        (127, "bash: line 1: exec: tuilab: not found", "pip install tuilab"),
        (1, "/usr/bin/python3: No module named 'tuilab'", "pip install tuilab"),
        (255, "client_loop: send disconnect: Broken pipe", "the connection dropped"),
        (255, "", "the connection dropped"),
        (255, "Connection to gpu-07 closed by remote host.", "the connection dropped"),
        (255, "Timeout, server gpu-07 not responding.", "the connection dropped"),
        (139, "Segmentation fault", "ended with code 139"),
        (-9, "", "ssh was killed by SIGKILL"),
        (
            255,
            "2026-11-21 01:00:00.1: W x.cc:64] libcuda.so.1: No such file or directory; Connection refused",
            "the connection dropped",
        ),
    ],
)
def test_each_way_of_failing_to_reach_a_worker_has_its_message(code, said, cause):
    message = explain("gpu-07", code, said.splitlines())
    assert message.startswith("gpu-07: ")
    assert cause in message
