"""How many of the corpus's errors gain a note in a real run, at the right line.

    python tests/bugs/explain.py [NAME ...]

Each error program runs for real, with real tensors; then again with the edits of its
first mistake, and so on, as `verify.py` has them.
"""

import re
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch
import verify

from shapewright.commands.explain import add_note


def error_of(name: str, text: str, file: Path) -> Exception | None:
    """What a program raises when it runs."""
    file.write_text(text, encoding="utf-8")
    space = {"__name__": f"program_{file.stem}", "__file__": str(file)}
    torch.manual_seed(0)
    try:
        exec(compile(text, str(file), "exec"), space)
        given = space["example_inputs"]()
        call = space["Model"]() if "Model" in space else space["main"]
        call(**given) if isinstance(given, dict) else call(*given)
    except Exception as error:
        return error
    return None


def main(names: list[str]) -> None:
    errors, noted, right, longest = 0, 0, 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            label, edits = verify.label(name), []
            mistakes = label.get("mistakes", []) if label["kind"] == "error" else []
            for number, mistake in enumerate(mistakes):
                text = verify.edited(name, edits)
                edits += mistake["edits"]
                error = error_of(name, text, Path(folder) / f"{name}_{number}.py")
                if error is None:
                    continue
                errors += 1
                began = time.perf_counter()
                add_note(error)
                longest = max(longest, time.perf_counter() - began)
                notes = getattr(error, "__notes__", [])
                place = re.search(r"--> \S+?:(\d+):", notes[0]) if notes else None
                noted += place is not None
                right += place is not None and int(place[1]) == mistake["fails"]
                if place is None:
                    print(f"{name}: {type(error).__name__}: {error}"[:100])
    print(f"{errors} errors, {noted} explained, {right} at the line where they fail")
    print(f"{longest:.1f} s at most for one")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(sys.argv[1:] or verify.names())
