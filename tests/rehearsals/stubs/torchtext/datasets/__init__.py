"""Pairs of sentences, from files in `.data/Multi30k`."""

from pathlib import Path

from torch.utils.data import IterableDataset

from torchtext.datasets import multi30k

__all__ = ["Multi30k", "multi30k"]


class Pairs(IterableDataset):
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        texts = [Path(file).read_text(encoding="utf-8") for file in self.files]
        yield from zip(*(text.splitlines() for text in texts), strict=True)


def Multi30k(root=".data", split="train", language_pair=("de", "en")):
    folder = Path(root) / "Multi30k"
    return Pairs([folder / f"{split}.{language}" for language in language_pair])
