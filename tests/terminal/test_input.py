"""The lab survives more input than a person can type, and reports how much it has dropped."""

import os

import pytest

from tests.terminal.lab import scripted
from tests.terminal.terminal import Terminal

pytestmark = pytest.mark.terminal


def send(terminal: Terminal, data: bytes) -> None:
    while data:
        data = data[os.write(terminal._master, data[:1024]) :]


def test_a_flood_of_sequences_is_dropped_and_reported(tmp_path):
    with scripted(tmp_path) as terminal:
        terminal.see("ready")
        send(terminal, b"\x1b[38;5;196m\x1b]8;;x\x1b\\" * 40_000)  # more input than a person types
        terminal.see("ready")
        send(terminal, b"\x1b[B\x1b[A" * 140_000)
        terminal.see("bytes were dropped")
        assert terminal.process.poll() is None


def test_a_long_paste_keeps_its_beginning_and_the_keys_after_it(tmp_path):
    with scripted(tmp_path) as terminal:
        terminal.see("ready")
        terminal.press("o")
        terminal.see("─ Open ─")
        paste = b"first/" + b"x" * 8_182 + b"kept" + b"y" * 30_000 + b"lost"
        send(terminal, b"\x1b[200~" + paste + b"\x1b[201~")
        terminal.see("first/xxx", "its last 30,004 bytes were dropped")
        terminal.press("!")
        terminal.see("xxkept!")
        send(terminal, b"\x1b[200~" + b"z" * 10)  # a paste without an end marker
        terminal.see("xxkept!zzz")
        terminal.press("?")
        terminal.see("zzz?")


def test_a_path_sent_with_its_key_goes_into_the_field(tmp_path):
    with scripted(tmp_path) as terminal:
        terminal.see("ready")
        send(terminal, b"2o/no/export.py")
        terminal.see("─ Open ─", "/no/export.py")
        send(terminal, b"\r")
        terminal.see("/no/export.py: ")
