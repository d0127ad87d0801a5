"""The lab in a browser: headless Chromium makes a run, and the server rejects pages of other sites."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.data_folder import knowing
from tuilab.serve import allowed, tunnel

CHROMIUM = shutil.which("chromium")
ARTEFACTS = Path(__file__).resolve().parents[2] / "test-artefacts"
QUIET = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
QUIET += ["--no-sandbox", "--disable-component-update", "--disable-sync"]


@pytest.mark.parametrize(
    ("host", "origin", "served", "fits"),
    [
        ("localhost:8000", None, "localhost", True),
        ("127.0.0.1:8000", "http://127.0.0.1:8000", "localhost", True),
        ("[::1]:8000", "http://[::1]:8000", "localhost", True),
        ("localhost:8000", "http://evil.example", "localhost", False),
        ("localhost:8000", "http://localhost:9000", "localhost", False),
        ("localhost:8000", "null", "localhost", False),
        ("evil.example:8000", "http://evil.example:8000", "localhost", False),
        ("", None, "localhost", False),
        ("gpu-07:8000", "http://gpu-07:8000", "0.0.0.0", True),
        ("gpu-07:8000", "http://evil.example", "0.0.0.0", False),
    ],
)
def test_only_its_own_pages_reach_the_lab(host, origin, served, fits):
    assert allowed(host, origin, served) is fits


@contextlib.contextmanager
def server(folder: Path, *more: str) -> Iterator[tuple[str, Path]]:
    """Serve a lab with its own folder. Yield the address with the token, and the folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "TUILAB_DATA": knowing(folder), "XDG_CONFIG_HOME": str(folder)}
    command = [sys.executable, "-m", "tuilab", "serve", "--port", str(port), *more]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    url = process.stderr.readline().split(" is at ")[1].strip()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url.partition("?")[0], timeout=5).close()
        except urllib.error.HTTPError:
            break
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    try:
        yield url, folder
    finally:
        process.terminate()
        process.wait(timeout=15)
        with process.stderr as rest:
            folder.joinpath("said").write_text(rest.read())


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with server(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def served(tmp_path):
    with server(tmp_path) as found:
        yield found


def test_a_foreign_page_is_refused(shared):
    url, _ = shared
    request = urllib.request.Request(url, headers={"Origin": "http://evil.example"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=5)
    assert caught.value.code == 403


@pytest.mark.smoke
@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token=é", "ws", "static/js/textual.js"])
def test_access_needs_the_token(shared, query):
    url, _ = shared
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(url.partition("?")[0] + urllib.parse.quote(query, safe="?=/"), timeout=5)
    assert caught.value.code == 403


def test_the_page_loads_nothing_external_and_forbids_frames(shared):
    url, _ = shared
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(url, timeout=5) as page:
        text, headers = page.read().decode(), page.headers
    host = url.split("/")[2]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert f"ws://{host}/ws" in text
    assert set(re.findall(r"(?:href|src)=\"https?://([^/\"]+)", text)) == {host}
    for size in ("100000&height=24", "-1&height=24", "80&height=null"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            opener.open(f"http://{host}/ws?width={size}", timeout=5)
        assert caught.value.code == 400


def test_a_deeply_nested_message_is_dropped_silently():
    import asyncio

    from aiohttp import WSMessage, WSMsgType

    from tuilab.serve import _pass_on

    for text in ("[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000, "\udcff"):
        asyncio.run(_pass_on(WSMessage(WSMsgType.TEXT, text, None), None, None))


def test_a_port_in_use_is_reported_in_one_line(shared):
    url, _ = shared
    port = url.split(":")[2].split("/")[0]
    done = subprocess.run(
        [sys.executable, "-m", "tuilab", "serve", "--port", port], capture_output=True, text=True, timeout=60
    )
    assert (
        done.returncode == 2
        and "a free port and address" in done.stderr
        and len(done.stderr.splitlines()) == 1
    )


def workers_below(server: psutil.Process) -> list[psutil.Process]:
    """Return the workers of the server's labs. Skips processes that have ended."""
    found = []
    for process in server.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "tuilab.worker" in process.cmdline():
                found.append(process)
    return found


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="processes are identified on Linux only")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_killing_the_server_leaves_no_process(served, number):
    import asyncio

    aiohttp = pytest.importorskip("aiohttp")
    url, _ = served
    host = url.split("/")[2]
    (server,) = [p for p in psutil.Process().children() if host.partition(":")[2] in p.cmdline()]

    async def open_page() -> list[psutil.Process]:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            await client.get(url)
            async with client.ws_connect(f"http://{host}/ws?width=100&height=30") as page:
                deadline = time.monotonic() + 60
                while not (worker := workers_below(server)) and time.monotonic() < deadline:
                    await asyncio.sleep(0.2)
                (lab,) = server.children()
                await page.send_str('["resize", {"width": 100000, "height": -1}]')
                await page.send_str('["resize", null]')
                await asyncio.sleep(1.0)
                assert server.is_running() and lab.is_running() and worker[0].is_running()
                below = server.children(recursive=True)
                server.send_signal(number)
                return below

    below = asyncio.run(open_page())
    assert len(below) >= 2
    _, left = psutil.wait_procs(below, timeout=30)
    assert [(p.pid, p.ppid(), p.cmdline()) for p in left if p.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="processes are identified on Linux only")
def test_the_server_survives_a_stopped_or_killed_lab(tmp_path):
    """Kills or stops a lab whose page keeps sending input. The server neither blocks nor fails."""
    import asyncio

    aiohttp = pytest.importorskip("aiohttp")

    async def pages(url: str, server: psutil.Process) -> None:
        host = url.split("/")[2]
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            await client.get(url)
            for what in (psutil.Process.kill, psutil.Process.suspend):
                async with client.ws_connect(f"http://{host}/ws?width=100&height=30") as page:
                    await page.receive(timeout=60)
                    (lab,) = server.children()
                    what(lab)
                    for _ in range(40):
                        with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                            await page.send_json(["stdin", "x" * 20_000])
                    await asyncio.sleep(0.5)
                await asyncio.get_running_loop().run_in_executor(None, lab.wait, 60)

    with server(tmp_path, "--keep", "0") as (url, _):
        port = url.split(":")[2].partition("/")[0]
        (process,) = [p for p in psutil.Process().children() if port in p.cmdline()]
        asyncio.run(pages(url, process))
    text = (tmp_path / "said").read_text()
    assert "characters at once" in text and "raised" not in text and "Traceback" not in text, text


def last_run(data: Path) -> dict:
    environment = {**os.environ, "TUILAB_DATA": str(data)}
    words = [sys.executable, "-m", "tuilab", "history", "--json"]
    done = subprocess.run(words, capture_output=True, env=environment, timeout=60, check=True)
    return next(iter(json.loads(done.stdout)), {})


class Line:
    """A TCP connection to the server that a test can cut, like an ssh connection."""

    def __init__(self, port: int) -> None:
        self._to, self._socket = port, socket.create_server(("127.0.0.1", 0))
        self.port, self.up, self._ends = self._socket.getsockname()[1], True, set[socket.socket]()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self._socket.accept()
            if not self.up:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._to))
            self._ends |= {near, far}
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=ends, daemon=True).start()

    @staticmethod
    def _pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        self.up = False
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._ends.clear()


def kept_runs(data: Path) -> list[dict]:
    environment = {**os.environ, "TUILAB_DATA": str(data)}
    words = [sys.executable, "-m", "tuilab", "history", "--json"]
    return json.loads(
        subprocess.run(words, capture_output=True, env=environment, timeout=60, check=True).stdout
    )


@pytest.mark.real_worker
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_reload_or_dropped_connection_returns_to_the_same_lab_and_run(served):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    url, data = served
    port = int(url.split(":")[2].partition("/")[0])
    (server,) = [p for p in psutil.Process().children() if str(port) in p.cmdline()]
    line = Line(port)
    ARTEFACTS.mkdir(exist_ok=True)
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(viewport={"width": 1300, "height": 860})

        def until(true, why: str, seconds: float = 90) -> None:
            deadline = time.monotonic() + seconds
            while not true():
                assert time.monotonic() < deadline, why
                page.wait_for_timeout(500)

        def typing() -> bool:
            return page.evaluate("document.activeElement?.className.includes('xterm-helper-textarea')")

        def reloaded() -> bool:
            try:
                return not page.evaluate("window.before")
            except playwright.Error:  # the page is being loaded
                return False

        page.goto(url.replace(f":{port}/", f":{line.port}/"))
        page.wait_for_selector(".-first-byte .xterm-screen")
        until(typing, "the page does not take the keys")
        until(lambda: workers_below(server), "no worker")
        (lab,) = server.children()
        page.wait_for_timeout(3_000)
        page.keyboard.press("r")
        until(lambda: kept_runs(data), "the key began no run")
        page.reload()
        page.wait_for_selector(".-first-byte .xterm-screen")
        until(typing, "the page does not take the keys after a reload")
        until(lambda: kept_runs(data)[0]["status"] == "ok", "the run was cut")
        assert server.children() == [lab] and len(kept_runs(data)) == 1
        page.wait_for_timeout(1_000)
        page.screenshot(path=str(ARTEFACTS / "served-reloaded.png"))
        page.evaluate("window.before = true")
        line.cut()
        page.wait_for_selector("body.-closed")
        assert "connection is lost" in page.inner_text(".closed-dialog .message")
        line.up = True
        until(reloaded, "the page did not come back by itself")
        page.wait_for_selector(".-first-byte .xterm-screen")
        until(typing, "the page does not take the keys after a drop")
        assert server.children() == [lab]
        page.wait_for_timeout(1_000)
        page.screenshot(path=str(ARTEFACTS / "served-dropped.png"))
        page.keyboard.press("q")
        until(lambda: not lab.is_running(), "q does not end the lab")
        page.wait_for_selector("body.-closed")
        assert page.inner_text(".closed-dialog .message") == "Session ended."
        browser.close()


@pytest.mark.real_worker
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_page_says_that_a_stopped_server_ended_its_lab(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with server(tmp_path) as (url, _), playwright.sync_playwright() as p:
        port = url.split(":")[2].partition("/")[0]
        (process,) = [child for child in psutil.Process().children() if port in child.cmdline()]
        browser = p.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page()
        page.goto(url)
        page.wait_for_selector(".-first-byte .xterm-screen")
        process.send_signal(signal.SIGINT)
        page.wait_for_selector("body.-closed")
        page.wait_for_timeout(500)
        assert page.inner_text(".closed-dialog .message") == "The server was stopped, and the lab has ended."
        browser.close()


def test_the_address_for_another_machine_is_printed():
    environment = {"SSH_CONNECTION": "10.0.0.7 50000 10.0.0.9 22"}
    assert re.fullmatch(r"ssh -L 8000:localhost:8000 \S+@10\.0\.0\.9", tunnel("localhost", 8000, environment))
    assert tunnel("::1", 8000, {}).startswith("ssh -L 8000:[::1]:8000 ")
    assert tunnel("::1", 8000, {}).endswith(f"@{socket.gethostname()}")


def test_a_lab_without_a_page_ends_after_its_time_limit(tmp_path):
    import asyncio

    aiohttp = pytest.importorskip("aiohttp")

    async def shows(page, words: str) -> bool:
        shown = b""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(40):
                while words.encode() not in shown:
                    told = await page.receive()
                    shown += told.data if isinstance(told.data, bytes) else str(told.data).encode()
        return words.encode() in shown

    async def left_alone(url: str, server: psutil.Process) -> None:
        host = url.split("/")[2]
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            await client.get(url)
            async with client.ws_connect(f"http://{host}/ws?width=100&height=30") as page:
                assert await shows(page, "Controls")
                (lab,) = server.children()
            for size in ("width=100&height=30", "width=90&height=24"):
                await asyncio.sleep(1.5)
                async with client.ws_connect(f"http://{host}/ws?{size}") as page:
                    assert await shows(page, "Controls"), f"{size} is empty after a reload"
                    assert server.children() == [lab], "a page that comes back in time has the same lab"
            await asyncio.get_running_loop().run_in_executor(None, lab.wait, 60)

    with server(tmp_path, "--keep", "6") as (url, _):
        port = url.split(":")[2].partition("/")[0]
        (process,) = [p for p in psutil.Process().children() if port in p.cmdline()]
        asyncio.run(left_alone(url, process))
    assert "from another machine: ssh -L" in (tmp_path / "said").read_text()


@pytest.mark.real_worker
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_preset_is_measured_in_the_browser(served):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    url, data = served
    ARTEFACTS.mkdir(exist_ok=True)
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(viewport={"width": 1300, "height": 860})
        page.goto(url)
        page.wait_for_selector("canvas, .xterm-screen")
        page.wait_for_timeout(4_000)
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and (run := last_run(data)).get("rounds", 0) < 5:
            if not run:
                page.keyboard.press("r")
            page.wait_for_timeout(5_000)
        page.screenshot(path=str(ARTEFACTS / "served.png"))
        browser.close()
    run = last_run(data)
    assert run["rounds"] >= 5
    assert (ARTEFACTS / "served.png").stat().st_size > 20_000
