"""What is no file is refused at once, and what is written is whole or not there."""

import os
import socket
import time

import pytest

from tuilab.catalogue.load import read_bytes, read_file
from tuilab.documents.source import open_document
from tuilab.history.recording import read
from tuilab.model.errors import InputError
from tuilab.model.files import read_regular, written


@pytest.fixture(params=["pipe", "device", "socket", "folder", "missing"])
def special(request, tmp_path):
    path = tmp_path / "special.toml"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "device":
        path.symlink_to("/dev/zero")
    elif request.param == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path)[-100:] if len(str(path)) < 100 else "special")
    elif request.param == "folder":
        path.mkdir()
    return path


def test_what_is_no_file_is_refused_by_every_door(special):
    with pytest.raises(InputError):
        read_regular(special, 100)
    with pytest.raises(InputError):
        list(read(special))
    with pytest.raises(InputError):
        open_document(special)
    assert "could not be read" in read_file(special).message


def test_a_file_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "out.md"
    path.write_text("before")
    with pytest.raises(RuntimeError), written(path) as stream:
        stream.write(b"half of")
        raise RuntimeError
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["out.md"]
    with written(path) as stream:
        stream.write(b"after")
    assert path.read_text() == "after" and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["no/such/folder/out", "/proc/x", "/dev/full", "", "a\0b"])
def test_what_cannot_be_written_says_so(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(OSError),
        written(tmp_path / name if name[:1] != "/" else type(tmp_path)(name)) as stream,
    ):
        stream.write(b"x" * 100_000)


@pytest.mark.parametrize(
    "text",
    [
        "a=" + "9" * 5_000,
        "a=" + "[" * 10_000 + "]" * 10_000,
        "".join(f"[{'.'.join(f'k{i}_{j}' for j in range(200))}]\n" for i in range(100)),
        "a=" + "{a=" * 100 + "1" + "}" * 100,
        '"\\' * 60_000,
        "x" * 200_000,
        "'''" + "'" * 100_000,
        "a=\xff",
    ],
)
def test_no_toml_costs_more_than_its_size(text):
    begun = time.process_time()
    assert read_bytes(text.encode("latin-1"), "file", "name").message
    assert time.process_time() - begun < 20  # minutes without a bound


def test_a_text_of_millions_of_lines_is_cut():
    begun = time.process_time()
    document = open_document(b"\n" * 20_000_000, "long.md")
    assert any("lines were read" in note.text for note in document.notes)
    assert time.process_time() - begun < 60
