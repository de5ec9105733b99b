"""The file of `-o`: its format by its ending, and what marks it as written by us."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapewright.cli import output
from shapewright.cli.parser import Unusable, list_endings
from shapewright.views.renderers import ENDINGS, list_renderers

if TYPE_CHECKING:
    from shapewright.cli.child_process import Here

_NAMES = {"trace": "a trace", "solution": "a solution", "memory": "a memory record"}


def choose_format(shows: str, options: argparse.Namespace) -> str:
    """Return the format of the result, from `--format` and the ending of `-o`.

    Raises `Unusable` for an ending that names another format or none, and for a file
    that must not be overwritten.
    """
    usual, *_ = media = list_renderers(shows)
    file: Path | None = options.file
    if file is None:
        return options.format or usual.option
    output.check_writable(file)
    ending = file.suffix.lower()
    if options.format is not None:
        medium = next(r.medium for r in media if r.option == options.format)
        if ending in ENDINGS.values() and ending != ENDINGS[medium]:
            raise Unusable(
                f"`--format {options.format}` does not fit `{file}`; name a"
                f" {ENDINGS[medium]} file, or leave out `--format`"
            )
        return str(options.format)
    for renderer in media:
        if ENDINGS[renderer.medium] == ending:
            return renderer.option
    if not ending:
        return usual.option
    *endings, last = list_endings(shows)
    raise Unusable(
        f"{_NAMES.get(shows, 'a report')} is written to {', '.join(endings)} or {last},"
        f" not to `{file}`"
    )


def mark_result(shows: str, option: str, text: str, target: str) -> str:
    """Return the text of a file, which says that we wrote it.

    CSV and JSON are known by their columns and fields: a further line would be in the
    way of those who read them.
    """
    medium = next(r.medium for r in list_renderers(shows) if r.option == option)
    if medium == "html":
        head = f'<meta charset="utf-8"><title>{escape(target)}</title>'
        text = (
            f'<!doctype html>\n<html lang="en">{head}<body>\n{text}\n</body></html>\n'
        )
    if medium in ("html", "markdown"):
        return f"{output.DRAWING}{shows} -->\n{text}"
    return f"{output.MARK}{shows}\n{text}" if medium in ("text", "github") else text


def join_results(option: str, texts: Sequence[str]) -> str:
    """Return the results of several targets as one: JSON as a list, SARIF with a run
    for each, CSV with one header, SVG with one picture below the other.
    """
    if len(texts) == 1 or not texts:
        return "".join(texts)
    if option == "csv":
        header = texts[0].partition("\n")[0] + "\n"
        return header + "".join(text.removeprefix(header) for text in texts)
    if option == "svg":
        from shapewright.views.painted_text import stack_pictures

        return stack_pictures(texts)
    if option not in ("json", "sarif"):
        return ("\n" if option == "markdown" else "").join(texts)
    results: list[Any] = [json.loads(text) for text in texts]
    whole: Any = results
    if option == "sarif":
        whole = results[0] | {
            "runs": [run for result in results for run in result["runs"]]
        }
    return f"{json.dumps(whole, indent=2, ensure_ascii=False)}\n"


def print_written(options: argparse.Namespace, what: str = "") -> None:
    """Print `wrote FILE: WHAT` on stderr, unless `-q`."""
    if not options.quiet:
        more = f": {what}" if what else ""
        print(f"wrote {options.file}{more}", file=sys.stderr)


def save_or_show(
    shows: str,
    text: str,
    options: argparse.Namespace,
    file: Path | None,
    parent: Here[Any],
) -> None:
    """Write a result to the file of `-o`, or print it if there is none.

    `options.target` is its title.
    """
    if file is None:
        parent.show(text)
        return
    parent.save(file, mark_result(shows, options.format, text, options.target))
    print_written(options)
