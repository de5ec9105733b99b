"""Texts that stand for the program's files, while an edit is tried."""

from __future__ import annotations

import importlib.machinery
import os
from collections.abc import Mapping
from types import CodeType
from typing import Any

from shapewright.source.stand_ins import STAND_INS


def text_of(file: str) -> str | None:
    """The text that stands for a file, None where the file itself counts."""
    return STAND_INS.get(os.path.abspath(file)) if STAND_INS else None


def install(texts: Mapping[str, str]) -> None:
    """Let these texts, and no others, stand for their files from now on."""
    STAND_INS.clear()
    STAND_INS.update(texts)
    loader = importlib.machinery.SourceFileLoader
    if loader.get_code.__module__ == __name__:
        return
    original = loader.get_code

    def get_code(self: Any, fullname: str) -> CodeType | None:
        path = os.path.abspath(self.get_filename(fullname))
        if path in STAND_INS:
            code: CodeType = self.source_to_code(STAND_INS[path].encode(), path)
            return code
        return original(self, fullname)

    loader.get_code = get_code  # type: ignore[method-assign]
