"""Each process of a run stores hashes of the user's file and of the user modules that it imports."""

import sys

from tuilab.model.scenario import Scenario
from tuilab.worker.user import _module, versions


def test_each_own_file_has_a_hash_that_changes_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "parts" / "inner.py").write_text("WIDTH = 3\n")
    own = tmp_path / "own_versions.py"
    own.write_text(
        "import json\nimport msgspec\nfrom parts import inner\n\ndef f(x: int = 1):\n    return x\n"
    )
    scenario = Scenario("own", {}, file=f"{own}:f")
    _module(own)
    first = versions(scenario)
    assert first.keys() >= {"own_versions.py", "parts/inner.py", "parts/__init__.py"}
    assert not [name for name in first if "json" in name or "msgspec" in name or name.startswith("/")]
    assert versions(scenario) == first
    (tmp_path / "parts" / "inner.py").write_text("WIDTH = 4\n")
    second = versions(scenario)
    assert {name for name in first if first[name] != second[name]} == {"parts/inner.py"}
    for name in ("parts.inner", "parts"):
        sys.modules.pop(name)


def test_a_model_file_or_folder_has_a_hash(tmp_path):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"one")
    (tmp_path / "m.keras").write_bytes(b"one")
    for file, changed in (("saved", "saved/saved_model.pb"), ("m.keras", "m.keras")):
        scenario = Scenario("model", {}, file=str(tmp_path / file))
        before = versions(scenario)[file]
        (tmp_path / changed).write_bytes(b"another")
        assert before and versions(scenario)[file] != before
    assert versions(Scenario("stft", {})) == {}


def test_a_lazily_imported_module_is_not_loaded_to_find_its_file(tmp_path, monkeypatch):
    from importlib.util import LazyLoader, module_from_spec, spec_from_file_location

    used = tmp_path / "lazy.py"
    used.write_text("raise RuntimeError('it was imported')\n")
    spec = spec_from_file_location("lazy_of_this_test", used)
    spec.loader = LazyLoader(spec.loader)
    lazy = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lazy_of_this_test", lazy)
    spec.loader.exec_module(lazy)
    own = tmp_path / "own.py"
    own.write_text("x = 3\n")
    found = versions(Scenario("own", {}, file=f"{own}:f"))
    assert {"own.py", "lazy.py"} <= set(found)
