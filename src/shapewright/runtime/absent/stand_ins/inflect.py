"""inflect: numbers and plurals in words."""

from __future__ import annotations

from typing import Any

SOURCE = "signatures of https://inflect.readthedocs.io, 7"
VERSION = "7.0.0"


class engine:
    """What writes words."""

    def number_to_words(self, num: Any, *args: Any, **kwargs: Any) -> str:
        """Return a number in words."""
        return "one"

    def plural(self, text: str, count: Any = None) -> str:
        """Return the plural of a word."""
        return f"{text}s"

    plural_noun = plural_verb = plural_adj = plural

    def singular_noun(self, text: str, *args: Any) -> str:
        """Return the singular of a word."""
        return text.removesuffix("s")

    def ordinal(self, num: Any) -> str:
        """Return ``3rd``."""
        return f"{num}th"

    def join(self, words: Any, *args: Any, **kwargs: Any) -> str:
        """Return words in a row."""
        return ", ".join(words)


MODULES: dict[str, dict[str, Any]] = {"": {"engine": engine}}
