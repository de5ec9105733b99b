"""Files of public data sets, by name: how long they are, and what they hold."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from shapewright.runtime.absent.annotation_sets import (
    write_boxes,
    write_coco_labels,
    write_picture_names,
)
from shapewright.runtime.absent.point_sets import (
    MODELNET,
    MODELNET_10,
    write_categories,
    write_file_list,
    write_names,
    write_parts,
    write_points,
    write_shapes,
)

WORDS = 30
"""Words in a line of a made text."""


@dataclass(frozen=True, slots=True)
class _KnownFile:
    """A file by its name: what it is, in words, and its text."""

    says: str
    write: Callable[[str], str]
    pattern: str = ""

    def get_name(self, path: str) -> str:
        """Return the name by which it is told: its own, or that of all of its kind."""
        return f"`{self.pattern or path}`"


def _write_words(tokens: int, vocabulary: int) -> Callable[[str], str]:
    """Return a writer of a text of so many words, of which so many are distinct.

    What comes after every word has occurred is left out: it brings nothing new.
    """

    def write(path: str) -> str:
        words = [f"w{number}" for number in range(min(tokens, vocabulary))]
        rows = [words[at : at + WORDS] for at in range(0, len(words), WORDS)]
        return "".join(" ".join(row) + "\n" for row in rows)

    return write


def _write_letters(distinct: int) -> Callable[[str], str]:
    def write(path: str) -> str:
        letters = "".join(chr(33 + number) for number in range(distinct))
        rows = 200_000 // len(letters) + 1
        return (letters + "\n") * rows

    return write


def _write_series(rows: int, minutes: int) -> Callable[[str], str]:
    """Return a writer of a table of a date and seven values, as in the ETT data."""

    def write(path: str) -> str:
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


def _write_papers(path: str, nodes: int, words: int, classes: int) -> str:
    """Return papers: a number, a 0 or 1 for each word, a class. Where the links between
    them are there, their numbers are those of the links.
    """
    names = [str(number) for number in range(nodes)]
    with suppress(OSError):
        with open(os.path.splitext(path)[0] + ".cites") as links:
            linked = dict.fromkeys(name for line in links for name in line.split())
        names = [*linked, *names][:nodes]
    row = "\t".join("1" if number % 75 == 0 else "0" for number in range(words))
    return "".join(
        f"{name}\t{row}\tclass_{n % classes}\n" for n, name in enumerate(names)
    )


def _write_links(links: int, nodes: int) -> Callable[[str], str]:
    def write(path: str) -> str:
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
        "2,708 papers of 1,433 words in 7 classes",
        lambda path: _write_papers(path, 2_708, 1_433, 7),
    ),
    "cora.cites": _KnownFile(
        "5,429 links of 2,708 papers", _write_links(5_429, 2_708)
    ),
    # point_sets.py
    "modelnet40_shape_names.txt": _KnownFile(
        "40 names of classes", lambda path: write_names(MODELNET)
    ),
    "modelnet10_shape_names.txt": _KnownFile(
        "10 names of classes", lambda path: write_names(MODELNET_10)
    ),
    "modelnet40_train.txt": _KnownFile(
        "9,843 shapes of 40 classes", lambda path: write_shapes(MODELNET, 9_843)
    ),
    "modelnet40_test.txt": _KnownFile(
        "2,468 shapes of 40 classes", lambda path: write_shapes(MODELNET, 2_468)
    ),
    "modelnet10_train.txt": _KnownFile(
        "3,991 shapes of 10 classes", lambda path: write_shapes(MODELNET_10, 3_991)
    ),
    "modelnet10_test.txt": _KnownFile(
        "908 shapes of 10 classes", lambda path: write_shapes(MODELNET_10, 908)
    ),
    "synsetoffset2category.txt": _KnownFile(
        "16 categories", lambda path: write_categories()
    ),
    "shuffled_train_file_list.json": _KnownFile(
        "12,137 shapes of 16 categories", lambda path: write_file_list(12_137)
    ),
    "shuffled_val_file_list.json": _KnownFile(
        "1,870 shapes of 16 categories", lambda path: write_file_list(1_870)
    ),
    "shuffled_test_file_list.json": _KnownFile(
        "2,874 shapes of 16 categories", lambda path: write_file_list(2_874)
    ),
    "coco_labels.txt": _KnownFile(
        "80 categories", lambda path: write_coco_labels()
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

KNOWN_BY_FOLDER: dict[str, _KnownFile] = {
    # annotation_sets.py; counts of http://host.robots.ox.ac.uk/pascal/VOC
    "*VOC2007/ImageSets/Main/trainval.txt": _KnownFile(
        "5,011 pictures", lambda path: write_picture_names(2007, 5_011)
    ),
    "*VOC2007/ImageSets/Main/test.txt": _KnownFile(
        "4,952 pictures", lambda path: write_picture_names(2007, 4_952)
    ),
    "*VOC2012/ImageSets/Main/trainval.txt": _KnownFile(
        "11,540 pictures", lambda path: write_picture_names(2012, 11_540)
    ),
    "*VOC2012/ImageSets/Main/train.txt": _KnownFile(
        "5,717 pictures", lambda path: write_picture_names(2012, 5_717)
    ),
    "*VOC2012/ImageSets/Main/val.txt": _KnownFile(
        "5,823 pictures", lambda path: write_picture_names(2012, 5_823)
    ),
    "*VOC20*/Annotations/*.xml": _KnownFile(
        "two objects in a picture of 500 x 375",
        lambda path: write_boxes(os.path.splitext(os.path.basename(path))[0]),
    ),
    "*modelnet40_normal_resampled/*/*_*.txt": _KnownFile(
        "10,000 points of 6 values", lambda path: write_points(10_000, 6)
    ),
    "*/points/*.pts": _KnownFile(
        "2,500 points of 3 values", lambda path: write_points(2_500, 3)
    ),
    "*/points_label/*.seg": _KnownFile(
        "2,500 numbers of parts", lambda path: write_parts(2_500)
    ),
}
"""What is known of a file by its last folders."""

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
    end = "/".join(parts[-4:])
    for pattern, known_file in KNOWN_BY_FOLDER.items():
        if fnmatch.fnmatch(end, pattern):
            return replace(known_file, pattern=pattern)
    return None
