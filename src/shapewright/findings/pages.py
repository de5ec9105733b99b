"""One page for each code of a finding: what it means, and what to do."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "explain"


def codes() -> list[str]:
    """Every code that has a page, in order."""
    return sorted(path.stem for path in FOLDER.glob("*.md"))


def page(code: str) -> str | None:
    """The page of a code as Markdown: ``page("torch-error")``; None without one."""
    return (FOLDER / f"{code}.md").read_text("utf-8") if code in codes() else None
