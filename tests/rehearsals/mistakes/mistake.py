"""One mistake to plant in somebody's training script, and where a report counts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """What is put in place of which snippet, and where a report of it counts.

    That is at the line of the snippet itself and `at` more lines, by snippets, of the
    same file or of the one that stands before a `|`. `code` is what a mistake is called
    that torch runs without a word; without it torch refuses the script.
    """

    place: str
    find: str
    put: str
    at: tuple[str, ...] = ()
    code: str = ""
    file: str = ""
