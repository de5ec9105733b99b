"""unidecode: text in the letters of ASCII."""

from __future__ import annotations

from typing import Any

SOURCE = "signatures of https://github.com/avian2/unidecode, 1.3"
VERSION = "1.3.0"


def unidecode(string: str, errors: str = "ignore", replace_str: str = "?") -> str:
    """Return a text; what is not ASCII becomes one letter each."""
    return "".join(letter if letter.isascii() else "a" for letter in string)


MODULES: dict[str, dict[str, Any]] = {
    "": {
        "unidecode": unidecode,
        "unidecode_expect_ascii": unidecode,
        "unidecode_expect_nonascii": unidecode,
    },
}
