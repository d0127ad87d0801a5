import errno
import os
import socket
import subprocess
import sys
import time

import pytest

from tuilab.catalogue.load import read_bytes, read_file
from tuilab.documents.reading.source import open_document
from tuilab.history.recording import read
from tuilab.model.errors import InputError
from tuilab.model.files import SHARED, open_atomic, read_regular, write_bytes, write_text


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


def test_paths_that_are_not_files_are_refused_by_every_reader(special):
    with pytest.raises(InputError):
        read_regular(special, 100)
    with pytest.raises(InputError):
        list(read(special))
    with pytest.raises(InputError):
        open_document(special)
    assert "could not be read" in read_file(special).message


def test_a_circular_link_is_reported_and_a_link_to_a_file_followed(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "loop", tmp_path / "loop" / "out.md"):
        with pytest.raises(OSError, match="symbolic links"):
            write_text(path, ["after"])
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("out.md")
    write_text(tmp_path / "one", ["after"])
    assert (tmp_path / "one").is_symlink() and (tmp_path / "out.md").read_text() == "after"


def test_a_file_is_completely_written_or_unchanged(tmp_path):
    path = tmp_path / "out.md"
    path.write_text("before")
    with pytest.raises(RuntimeError), open_atomic(path) as stream:
        stream.write(b"half of")
        raise RuntimeError
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["out.md"]
    with open_atomic(path) as stream:
        stream.write(b"after")
    assert path.read_text() == "after"
    with open_atomic(tmp_path / "new.md") as stream:
        stream.write(b"a run")
    assert (tmp_path / "new.md").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "fchmod"])
def test_a_failed_write_leaves_the_file_and_no_temporary_one(tmp_path, monkeypatch, call):
    path = tmp_path / "article.md"
    path.write_text("before")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    if call != "write":
        monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match=r"No space left on device.*article\.md"), open_atomic(path) as stream:
        stream.write(b"after")
        if call == "write":
            full()
    monkeypatch.undo()
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["article.md"]


ENDLESS = """
import sys, time
from pathlib import Path
from tuilab.model.files import open_atomic
with open_atomic(Path(sys.argv[1])) as stream:
    stream.write(b"half of")
    print(flush=True)
    time.sleep(1_000)
"""


def test_only_temporary_files_of_dead_writers_are_removed(tmp_path):
    path = tmp_path / "out.md"
    words = [sys.executable, "-c", ENDLESS, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None and writer.stdout.readline()
        (left,) = os.listdir(tmp_path)
        write_bytes(path, b"while it lives")
        assert sorted(os.listdir(tmp_path)) == [left, "out.md"]
        writer.kill()
    (tmp_path / ".out.md.mine.part").touch()
    (tmp_path / ".other.md.01234567.part").touch()
    others = {".out.md.mine.part", ".other.md.01234567.part"}
    with open_atomic(path) as stream:
        write_bytes(path, b"meanwhile")
        stream.write(b"after")
        assert left not in os.listdir(tmp_path)
    assert path.read_bytes() == b"after" and {*os.listdir(tmp_path)} == {"out.md", *others}


def test_a_file_keeps_its_mode_and_owner_and_link(tmp_path):
    path, link = tmp_path / "article.md", tmp_path / "link.md"
    path.write_text("before")
    path.chmod(0o754)
    link.symlink_to(path.name)
    if os.geteuid() == 0:
        os.chown(path, 12345, 54321)
    before = path.stat()
    write_text(link, ["after"])
    after = path.stat()
    assert link.is_symlink() and path.read_text() == "after"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_a_new_public_file_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "baseline.json", b"{}", SHARED)
    finally:
        os.umask(before)
    assert (tmp_path / "baseline.json").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["no/such/folder/out", "/proc/x", "/dev/full", "", "a\0b"])
def test_a_file_that_cannot_be_written_is_reported(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(OSError),
        open_atomic(tmp_path / name if name[:1] != "/" else type(tmp_path)(name)) as stream,
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
def test_reading_toml_costs_time_in_proportion_to_its_size(text):
    begun = time.process_time()
    assert read_bytes(text.encode("latin-1"), "file", "name").message
    assert time.process_time() - begun < 20  # without the limit, this took minutes


def test_a_text_of_millions_of_lines_is_cut():
    begun = time.process_time()
    document = open_document(b"\n" * 20_000_000, "long.md")
    assert any("lines were read" in note.text for note in document.notes)
    assert time.process_time() - begun < 60
