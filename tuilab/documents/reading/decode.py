"""Decodes bytes of unknown encoding."""

import codecs

LARGEST = 16_000_000

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


MARKS = tuple(mark for mark, _ in _MARKS)


def decode(data: bytes) -> str:
    """Decode the first LARGEST bytes by their byte order mark, else as UTF-8, else as Windows-1252. Never
    raises.

    Isolated invalid bytes in UTF-8 become U+FFFD. All line ends become line feeds.
    """
    data = data[:LARGEST]
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _lines(data[len(mark) :].decode(encoding, "replace"))
    try:
        return _lines(data.decode("utf-8"))
    except UnicodeDecodeError:
        pass
    text = data.decode("utf-8", "replace")
    # UTF-8 text with a few invalid bytes also contains valid multi-byte characters. Windows-1252 text
    # contains hardly any.
    bad = text.count("\ufffd")
    good = sum(1 for c in text if ord(c) > 127) - bad
    return _lines(text if good >= bad else data.decode("cp1252", "replace"))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")
