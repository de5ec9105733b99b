"""The contrast of our colours on six common themes of terminals: the table in
`docs/trace.md`.

    PYTHONPATH=src:tests python -m views.contrast

The values are those that microsoft/terminal ships (the file `defaults.json` of
TerminalSettingsModel): Campbell is the usual theme of Windows Terminal, Dark+ that of
Visual Studio Code, Tango those of GNOME. The formula is that of WCAG 2.1, which asks
for 4.5 of text, and for 3 of large or bold text and of lines.
"""

from __future__ import annotations

from shapewright.views.formatting import CODES

ENOUGH = 4.5
NAMES = "black red green yellow blue magenta cyan white".split()

THEMES = {
    "Campbell": (
        "#0C0C0C #CCCCCC",
        "#0C0C0C #C50F1F #13A10E #C19C00 #0037DA #881798 #3A96DD #CCCCCC "
        "#767676 #E74856 #16C60C #F9F1A5 #3B78FF #B4009E #61D6D6 #F2F2F2",
    ),
    "Dark+": (
        "#1E1E1E #CCCCCC",
        "#000000 #CD3131 #0DBC79 #E5E510 #2472C8 #BC3FBC #11A8CD #E5E5E5 "
        "#666666 #F14C4C #23D18B #F5F543 #3B8EEA #D670D6 #29B8DB #E5E5E5",
    ),
    "Tango Dark": (
        "#000000 #D3D7CF",
        "#000000 #CC0000 #4E9A06 #C4A000 #3465A4 #75507B #06989A #D3D7CF "
        "#555753 #EF2929 #8AE234 #FCE94F #729FCF #AD7FA8 #34E2E2 #EEEEEC",
    ),
    "Tango Light": (
        "#FFFFFF #555753",
        "#000000 #CC0000 #4E9A06 #C4A000 #3465A4 #75507B #06989A #D3D7CF "
        "#555753 #EF2929 #8AE234 #FCE94F #729FCF #AD7FA8 #34E2E2 #EEEEEC",
    ),
    "Solarized Dark": (
        "#002B36 #839496",
        "#002B36 #DC322F #859900 #B58900 #268BD2 #D33682 #2AA198 #EEE8D5 "
        "#073642 #CB4B16 #586E75 #657B83 #839496 #6C71C4 #93A1A1 #FDF6E3",
    ),
    "Solarized Light": (
        "#FDF6E3 #657B83",
        "#002B36 #DC322F #859900 #B58900 #268BD2 #D33682 #2AA198 #EEE8D5 "
        "#073642 #CB4B16 #586E75 #657B83 #839496 #6C71C4 #93A1A1 #FDF6E3",
    ),
}
"""Of each theme background and foreground, then the sixteen colours."""


def compute_luminance(color: str) -> float:
    """Return the relative luminance of a colour such as `#C50F1F`."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def compute_contrast(color: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    high, low = sorted(map(compute_luminance, (color, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def find_number(code: str) -> int | None:
    """Return the number of the colour that an SGR code chooses, None for none."""
    for part in map(int, filter(None, code.split(";"))):
        if 30 <= part < 38:
            return part - 30
        if 90 <= part < 98:
            return part - 90 + 8
    return None


def list_contrasts(theme: str) -> list[float]:
    """Return the contrast of each of the sixteen colours on a theme's background."""
    ground, colors = THEMES[theme]
    return [compute_contrast(c, ground.split()[0]) for c in colors.split()]


def format_table() -> str:
    """Return a row for each colour that we use, in bold where it is below `ENOUGH`."""
    lines = [f"| colour | {' | '.join(THEMES)} |", f"|---|{'---|' * len(THEMES)}"]
    texts = [compute_contrast(*ground.split()) for ground, _ in THEMES.values()]
    lines.append(_format_row("the theme's own text", texts))
    used = {find_number(code) for code in CODES.values()}
    for number in sorted(used - {None}, key=lambda at: at or 0):
        assert number is not None
        values = [list_contrasts(theme)[number] for theme in THEMES]
        lines.append(_format_row(get_name(number), values))
    return "".join(f"{line}\n" for line in lines)


def get_name(number: int) -> str:
    """Return the name of one of the sixteen colours."""
    return ("bright " if number > 7 else "") + NAMES[number % 8]


def _format_row(name: str, values: list[float]) -> str:
    cells = (f"**{v:.1f}**" if round(v, 1) < ENOUGH else f"{v:.1f}" for v in values)
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print(format_table(), end="")
