"""The lab in a browser: a run made in headless Chromium, and pages of others kept out."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tuilab.tui.serve import allowed

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


@pytest.fixture
def served(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "TUILAB_DATA": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "tuilab", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    url = f"http://localhost:{port}/"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            break
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    yield url, tmp_path
    process.terminate()
    process.wait(timeout=15)
    process.stderr.close()


def test_a_foreign_page_is_refused(served):
    url, _ = served
    request = urllib.request.Request(url, headers={"Origin": "http://evil.example"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=5)
    assert caught.value.code == 403


def last_run(data: Path) -> dict:
    environment = {**os.environ, "TUILAB_DATA": str(data)}
    words = [sys.executable, "-m", "tuilab", "history", "--json"]
    done = subprocess.run(words, capture_output=True, env=environment, timeout=60, check=True)
    return next(iter(json.loads(done.stdout)), {})


@pytest.mark.real_worker
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_run_is_made_in_the_browser(served):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    url, data = served
    ARTEFACTS.mkdir(exist_ok=True)
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(viewport={"width": 1300, "height": 860})
        page.goto(url)
        page.wait_for_selector("canvas, .xterm-screen")
        page.wait_for_timeout(4_000)
        page.mouse.click(600, 10)  # The page must have the keyboard; nothing lies under this place.
        page.keyboard.press("r")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and last_run(data).get("rounds", 0) < 5:
            page.wait_for_timeout(1_000)
        page.screenshot(path=str(ARTEFACTS / "served.png"))
        browser.close()
    run = last_run(data)
    assert run["rounds"] >= 5
    assert (ARTEFACTS / "served.png").stat().st_size > 20_000
