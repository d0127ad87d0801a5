"""Writes presets as TOML files, without default values."""

from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from tuilab.model.files import write_text
from tuilab.model.preset import Preset


def dumps(preset: Preset) -> str:
    """Return the preset as TOML, without the name, which is the file's name. Reading the TOML returns an
    equal preset.
    """
    data = {key: value for key, value in _plain(preset).items() if key != "name"}
    return tomli_w.dumps(data, multiline_strings=True)


def write(preset: Preset, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{preset.name}.toml"
    write_text(target, [dumps(preset)])
    return target


def _plain(value: Any) -> Any:
    """Convert structs to dicts, without fields that are None (which TOML lacks) or that have their default
    value.
    """
    if isinstance(value, msgspec.Struct):
        info = type(value).__struct_config__
        out: dict[str, Any] = {}
        if info.tag_field is not None:
            out[info.tag_field] = info.tag
        for field in msgspec.structs.fields(value):
            item = getattr(value, field.name)
            if item is not None and item != _default(field):
                out[field.encode_name] = _plain(item)
        return out
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return field.default_factory() if field.default_factory is not msgspec.NODEFAULT else msgspec.NODEFAULT
