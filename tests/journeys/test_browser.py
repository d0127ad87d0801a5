"""A user opens an exported run and the served lab in a browser."""

import math
import re
import shutil
import signal
import socket
import time

import pytest

from tests.journeys.user import User

pytestmark = pytest.mark.timeout(300)
CHROMIUM = shutil.which("chromium")
QUIET = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--no-sandbox",
]


@pytest.fixture
def page():
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser.new_page(viewport={"width": 1300, "height": 860})
        browser.close()


def test_an_exported_run_is_read_in_a_browser(user: User, page) -> None:
    user.run("tuilab run stft-small --budget quick")
    user.run("tuilab export last -o run.html")
    page.goto((user.home / "run.html").as_uri())
    text = page.inner_text("body")
    assert user.history()[0]["answer"][:40] in text and re.search(r"[\d.]+ (µs|ms)", text)
    assert page.locator("svg").count() and "stft-small" in text


@pytest.mark.long
def test_the_lab_is_served_and_survives_a_reload(user: User, page) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = user.begin(f"tuilab serve --port {port}")
    address = re.search(r"(http://\S+\?token=[^;\s]+)", server.stderr.readline())[1]
    page.goto(address)
    page.wait_for_selector("canvas, .xterm-screen")
    page.wait_for_timeout(3_000)
    deadline = time.monotonic() + 200
    pressed = -math.inf
    while not (runs := user.history()) and time.monotonic() < deadline:
        if time.monotonic() - pressed > 30:  # a second press would stop the first run
            page.keyboard.press("r")
            pressed = time.monotonic()
        page.wait_for_timeout(1_000)
    page.reload()
    while user.history()[0]["status"] != "ok" and time.monotonic() < deadline:
        page.wait_for_timeout(1_000)
    assert user.history()[0]["run"] == runs[0]["run"] and user.history()[0]["status"] == "ok"
    page.goto("about:blank")
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=60)
    assert server.returncode in (0, 130)
    user.ends(server)
    user.nothing_runs()
