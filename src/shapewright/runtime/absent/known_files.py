"""Files of public data sets, by name: how long they are, and what they hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

WORDS = 30
"""Words in a line of a made text."""


@dataclass(frozen=True, slots=True)
class _KnownFile:
    """A file by its name: what it is, in words, and its text."""

    says: str
    write: Callable[[], str]


def _write_words(tokens: int, vocabulary: int) -> Callable[[], str]:
    """Return a writer of a text of so many words, of which so many are distinct.

    What comes after every word has occurred is left out: it brings nothing new.
    """

    def write() -> str:
        words = [f"w{number}" for number in range(min(tokens, vocabulary))]
        rows = [words[at : at + WORDS] for at in range(0, len(words), WORDS)]
        return "".join(" ".join(row) + "\n" for row in rows)

    return write


def _write_letters(distinct: int) -> Callable[[], str]:
    def write() -> str:
        letters = "".join(chr(33 + number) for number in range(distinct))
        rows = 200_000 // len(letters) + 1
        return (letters + "\n") * rows

    return write


def _write_series(rows: int, minutes: int) -> Callable[[], str]:
    """Return a writer of a table of a date and seven values, as in the ETT data."""

    def write() -> str:
        from datetime import datetime, timedelta

        head = "date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT\n"
        now, step = datetime(2016, 7, 1), timedelta(minutes=minutes)
        lines = []
        for number in range(rows):
            values = ",".join(f"{(number * k) % 97 / 7:.3f}" for k in range(1, 8))
            lines.append(f"{now:%Y-%m-%d %H:%M:%S},{values}\n")
            now += step
        return head + "".join(lines)

    return write


def _write_papers(nodes: int, words: int, classes: int) -> Callable[[], str]:
    """Return a writer of papers: a number, a 0 or 1 for each word, a class."""

    def write() -> str:
        row = "\t".join("1" if number % 75 == 0 else "0" for number in range(words))
        return "".join(f"{n}\t{row}\tclass_{n % classes}\n" for n in range(nodes))

    return write


def _write_links(links: int, nodes: int) -> Callable[[], str]:
    def write() -> str:
        return "".join(f"{n % nodes}\t{(n * 7 + 1) % nodes}\n" for n in range(links))

    return write


KNOWN: dict[str, _KnownFile] = {
    # https://github.com/zhouhaoyi/ETDataset
    "ETTh1.csv": _KnownFile("17,420 hours of 7 values", _write_series(17_420, 60)),
    "ETTh2.csv": _KnownFile("17,420 hours of 7 values", _write_series(17_420, 60)),
    "ETTm1.csv": _KnownFile(
        "69,680 quarters of an hour of 7 values", _write_series(69_680, 15)
    ),
    "ETTm2.csv": _KnownFile(
        "69,680 quarters of an hour of 7 values", _write_series(69_680, 15)
    ),
    # https://linqs.org/datasets/#cora, #citeseer-doc-classification
    "cora.content": _KnownFile(
        "2,708 papers of 1,433 words in 7 classes", _write_papers(2_708, 1_433, 7)
    ),
    "cora.cites": _KnownFile(
        "5,429 links of 2,708 papers", _write_links(5_429, 2_708)
    ),
    # arXiv:1609.07843, table 1: vocabulary without the sign of an end
    "wikitext-2/train.txt": _KnownFile(
        "33,277 distinct words (of 2,088,628, those that repeat are left out)",
        _write_words(2_088_628, 33_277),
    ),
    "wikitext-2/valid.txt": _KnownFile(
        "20,000 of its 217,646 words", _write_words(20_000, 20_000)
    ),
    "wikitext-2/test.txt": _KnownFile(
        "20,000 of its 245,569 words", _write_words(20_000, 20_000)
    ),
    # https://github.com/karpathy/char-rnn/tree/master/data/tinyshakespeare
    "tinyshakespeare.txt": _KnownFile("65 distinct characters", _write_letters(64)),
}  # fmt: skip
"""What is known of a file by the end of its path, with its source."""

BYTES: dict[str, int] = {
    "enwik8": 100_000_000,  # http://mattmahoney.net/dc/textdata.html
    "enwik9": 1_000_000_000,
    "text8": 100_000_000,
}
"""Bytes of a file by its name."""


def find_known(path: str) -> _KnownFile | None:
    """Return what is known of a file: by its name, and that of its folder."""
    parts = os.path.normpath(path).split(os.sep)
    for count in (2, 1):
        known_file = KNOWN.get("/".join(parts[-count:]))
        if known_file is not None:
            return known_file
    return None
