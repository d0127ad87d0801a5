"""Hostile texts: each starts with a visible token, and may contain a hidden token.

A visible token on the screen shows that the text was displayed. A hidden token on the screen shows that an
attack worked: hidden tokens are in control strings, which a terminal takes for titles, links, clipboard
content or commands.
"""

import base64
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

SHOWN = re.compile(r"v\d{5}")
HIDDEN = "h1dd3n"
"""Prefix of all tokens that must not become visible."""
CLIPBOARD = base64.b64encode(HIDDEN.encode()).decode().rstrip("=")[:-1]

ESC, BEL, ST = "\x1b", "\x07", "\x1b\\"
MILLION = 1_000_000


@dataclass(frozen=True)
class Payload:
    """A hostile text. token: the visible token. kind: the kind of attack."""

    token: str
    kind: str
    text: str


MARKUP = {
    "bold": "[bold red]x[/bold red]",
    "closing": "[/]",
    "closing-unopened": "[/x] [/bold]",
    "unclosed": "[bold",
    "link": "[link=https://example.org/x]x[/link]",
    "click": "[@click=app.quit]x[/]",
    "click-quoted": "[@click=\"app.exec('x')\"]x[/]",
    "click-screen": "[@click=screen.action_leave()]x[/]",
    "meta": "[@mouse.down=quit on red]x[/]",
    "variable": "[$error on $primary 50%]x[/]",
    "escaped": "\\[bold]x\\[/bold] \\",
    "emoji": ":smile: :warning: [:]",
    "format": "{} {0} {0.__class__.__mro__} {x!r:>{y}} {",
    "percent": "%s %n %x %(x)s %",
    "template": "${HOME} $(reboot) `reboot` ; rm -rf ~ | cat && x",
    "markdown": "# x | y | *z* _z_ `c` [t](javascript:x) ![i](http://example.org/i) <!-- x -->",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>&lt;&#x1b;",
    "svg": "]]></style></text><script>x</script>",
    "formula": "=cmd|'/c calc'!A1",
    "regex": "(((([[[***+++???\\",
    "quotes": '"\'`"""\'\'\'\\"',
}
TERMINAL = {
    "sgr": f"{ESC}[31;5mx{ESC}[0m",
    "clear": f"{ESC}[2J{ESC}[H",
    "move": f"{ESC}[999;999H{ESC}[10A",
    "scroll": f"{ESC}[1;2r{ESC}[99S",
    "ask": f"{ESC}[6n{ESC}[c{ESC}[>c{ESC}[21t",
    "primary": f"{ESC}[?1049l{ESC}[?1049h",
    "mouse": f"{ESC}[?1003h{ESC}[?2004l",
    "print": f"{ESC}[5i x {ESC}[4i",
    "soft-reset": f"{ESC}[!p",
    "reset": f"{ESC}c",
    "charset": f"{ESC}(0 lqk {ESC}%@",
    "fill": f"{ESC}#8",
    "keys": f"{ESC}[>4;2m{ESC}=",
    "unfinished-csi": f"{ESC}[31;",
    "title": f"{ESC}]0;HIDDEN{BEL}",
    "title-st": f"{ESC}]2;HIDDEN{ST}",
    "icon": f"{ESC}]1;HIDDEN{BEL}",
    "palette": f"{ESC}]4;1;rgb:HIDDEN{BEL}",
    "folder": f"{ESC}]7;file:///HIDDEN{ST}",
    "osc8": f"{ESC}]8;id=1;https://HIDDEN.example/{ST}x{ESC}]8;;{ST}",
    "osc8-bel": f"{ESC}]8;;https://HIDDEN.example/{BEL}x{ESC}]8;;{BEL}",
    "osc9": f"{ESC}]9;HIDDEN{BEL}",
    "osc10": f"{ESC}]10;?{BEL}",
    "osc50": f"{ESC}]50;HIDDEN{BEL}",
    "osc52": f"{ESC}]52;c;{CLIPBOARD}{BEL}",
    "osc52-ask": f"{ESC}]52;c;?{ST}",
    "osc133": f"{ESC}]133;C;HIDDEN{ST}",
    "osc1337": f"{ESC}]1337;File=name=HIDDEN;inline=1:AAAA{BEL}",
    "osc777": f"{ESC}]777;notify;HIDDEN;x{BEL}",
    "osc-unfinished": f"{ESC}]0;HIDDEN",
    "osc-in-osc": f"{ESC}]0;{ESC}]52;c;{CLIPBOARD}{BEL}",
    "dcs": f"{ESC}Pq#0;2;0;0;0HIDDEN{ST}",
    "dcs-setting": f"{ESC}P$qHIDDEN{ST}",
    "dcs-tmux": f"{ESC}Ptmux;{ESC}{ESC}]0;HIDDEN{BEL}{ST}",
    "apc": f"{ESC}_Ga=T,f=100;HIDDEN{ST}",
    "pm": f"{ESC}^HIDDEN{ST}",
    "sos": f"{ESC}XHIDDEN{ST}",
    "escape-last": f"x{ESC}",
    "escape-escape": f"{ESC}{ESC}[31m{ESC}{ESC}c",
    "assembled": f"{ESC}{ESC}[0m]0;x{BEL}",
    "c1-csi": "\x9b31mx\x9b2J",
    "c1-osc": "\x9d0;HIDDEN\x9c",
    "c1-osc-bel": "\x9d52;c;HIDDEN\x07",
    "c1-dcs": "\x90qHIDDEN\x9c",
    "c1-apc": "\x9fHIDDEN\x9c\x9eHIDDEN\x9c\x98HIDDEN\x9c",
    "c1-lines": "x\x84x\x85x\x8dx\x8e\x8f",
    "c1-all": "".join(map(chr, range(0x80, 0x8F))),
}
CONTROLS = {
    "nul": "x\x00y\x00",
    "bell": "x\x07\x07",
    "back": "safe\x08\x08\x08\x08evil",
    "return": "safe\revil",
    "lines": "x\ny\n\n\nz",
    "dos-lines": "x\r\ny",
    "tab": "x\ty",
    "vertical": "x\x0by\x0cz",
    "shift": "\x0ex\x0f",
    "xon": "\x11\x13\x13",
    "cancel": "\x18\x1a\x1c\x1d\x1e\x1f",
    "delete": "x\x7f\x7f",
    "c0-all": "".join(map(chr, range(0x20))),
    "separators": "x\u2028y\u2029z",
}
UNICODE = {
    "rlo": "x\u202ecba\u202c",
    "lro": "\u202dx\u202a\u202by",
    "isolate": "\u2066x\u2067y\u2068z\u2069",
    "marks": "x\u200ey\u200fz\u061c",
    "zero-width": "x\u200by\u2060z\ufeff",
    "soft-hyphen": "x\u00ady",
    "tags": "x" + "".join(chr(0xE0000 + ord(c)) for c in "tag") + "\U000e0001",
    "annotation": "x\ufff9y\ufffaz\ufffb",
    "deprecated": "\u206a\u206b\u206c\u206d\u206e\u206f",
    "mongolian": "x\u180ey",
    "wide": "漢字かな交じり文" * 6,
    "full-width": "ＡＢＣ［＠ｃｌｉｃｋ］",
    "hangul": "한국어 " + "\u1112\u1161\u11ab",
    "combining": "e" + "\u0301\u0317\u0489" * 40,
    "combining-first": "\u0301\u0301x",
    "joiners": "👩‍👩‍👧‍👦 🏳️‍🌈 x\u200dy\u200d",
    "selectors": "x\ufe0f☎\ufe0f☎\ufe0e",
    "flags": "🇩🇪🇫🇷🇩",
    "skin": "👍🏽👍🏿",
    "arabic": "مرحبا بالعالم",
    "hebrew": "שלום עולם",
    "thai": "ที่นี่ กำ",
    "devanagari": "क्षत्रिय",
    "private": "\ue000\uf8ff\U00100000",
    "noncharacter": "\ufffe\uffff\U0010ffff",
    "replacement": "\ufffd\ufffc",
    "spaces": "x\u00a0y\u2003z\u3000w\u2007",
    "lookalikes": "ΑΒС раураl",
    "blocks": "█▉│─╭╮⣿",
}
LONG = {
    "word": "w" * 5_000,
    "wide-word": "漢" * 3_000,
    "brackets": "[" * 3_000,
    "combining-tower": "o" + "\u0301" * 3_000,
    "spaces-long": "x" + " " * 3_000 + "y",
    "escapes-long": f"{ESC}[31m" * 1_000,
    "osc-long": f"{ESC}]0;" + "HIDDEN" * 500,
}
KINDS = {**MARKUP, **TERMINAL, **CONTROLS, **UNICODE, **LONG}
SURROGATES = {"surrogate": "x\ud83d", "surrogates": "\udc00\ud800x", "surrogate-byte": "\udc1b\udc9b[31m"}
"""Python strings that cannot be encoded as UTF-8."""
HUGE = {
    "ten-million": "n" * 10 * MILLION,
    "ten-million-wide": "漢" * 10 * MILLION,
    "ten-million-escapes": f"{ESC}[1m" * 2_500_000,
    "ten-million-words": "word " * 2 * MILLION,
    "ten-million-lines": "l\n" * 5 * MILLION,
}


class Supply:
    """An endless supply of payloads with different tokens. made: the payloads so far."""

    def __init__(self, kinds: dict[str, str] = KINDS, first: int = 0) -> None:
        self._kinds = itertools.cycle(kinds.items())
        self._number = itertools.count(first)
        self.made: dict[str, Payload] = {}

    def next(self) -> Payload:
        number = next(self._number)
        kind, text = next(self._kinds)
        token = f"v{number:05d}"
        payload = Payload(token, kind, f"{token} {text.replace('HIDDEN', f'{HIDDEN}{number}')}")
        self.made[token] = payload
        return payload

    def text(self) -> str:
        return self.next().text

    def __iter__(self) -> Iterator[Payload]:
        while True:
            yield self.next()


def toml(text: str) -> str:
    text = text.encode("utf-8", "ignore").decode()
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def tokens_in(text: str) -> set[str]:
    return set(SHOWN.findall(text))
