"""An exported page fits the browser's window, on a computer and on a phone."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.browser.test_served import CHROMIUM, QUIET
from tests.tui.data import run_result, run_state
from tuilab.report.fact_check import FactCheck, Statement, html
from tuilab.report.html import page

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
ASK = """<script>
const sizes = [...document.querySelectorAll("tr")].filter(row => /^\\d/.test(row.innerText));
const tallest = Math.max(0, ...sizes.map(row => row.offsetHeight));
document.title = JSON.stringify([innerWidth, document.documentElement.scrollWidth, tallest]);
</script>"""


def run_page() -> str:
    return page(run_result(), run_state(20))


def claims_page() -> str:
    word = "a_very_long_name_without_a_blank_" * 4
    statements = (Statement(text=word, preset="p", line=12, verdict="refuted", evidence=word),)
    return html(FactCheck(title=word, statements=[*statements]))


@pytest.mark.parametrize("write", [run_page, claims_page])
@pytest.mark.parametrize("width", [420, 1100])
def test_a_page_is_no_wider_than_its_window(tmp_path: Path, write, width):
    """Shows the page in a frame, because a Chromium window cannot be narrower than 500 pixels."""
    (tmp_path / "page.html").write_text(write().replace("</body>", f"{ASK}</body>"))
    frame = f"<iframe src=page.html style='border:0;width:{width}px;height:9000px'></iframe>"
    wait = "<script>onload=()=>{document.title=frames[0].document.title}</script>"
    (tmp_path / "frame.html").write_text(frame + wait)
    command = [CHROMIUM, "--headless", *QUIET, "--allow-file-access-from-files", "--window-size=1400,1200"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", (tmp_path / "frame.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    inner, scrolled, tallest = json.loads(re.search(r"<title>(\[.*?\])</title>", shown)[1])
    assert inner == width and scrolled <= width
    assert tallest < 40, "a size of the sweep is wrapped onto a second line"
