"""ftfy: text stays as it is."""

from __future__ import annotations

from typing import Any

SOURCE = "signatures of https://ftfy.readthedocs.io, 6.3"
VERSION = "6.3.0"


def fix_text(text: str, *args: Any, **kwargs: Any) -> str:
    """Return the text, which is taken to need no change."""
    return text


MODULES: dict[str, dict[str, Any]] = {
    "": {
        "fix_text": fix_text, "fix_encoding": fix_text, "fix_text_segment": fix_text,
    },
}  # fmt: skip
