"""Vocabularies that a file on another machine holds: numbers of words.

How many words there are decides the size of an embedding. It is assumed, and told; what
else a program asks of a vocabulary follows from that: every word has a number.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from shapewright.engine.absence import NotHere
from shapewright.engine.replacement import replace_attribute

WORDS = 10_000
TOKENS = 50_257
"""The tokens of GPT-2's tokenizer, by the configuration of its authors."""
MARKS = (
    "<pad>", "<unk>", "<start>", "<end>", "<bos>", "<eos>", "<s>", "</s>", "<mask>",
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
)  # fmt: skip
UNITS = r"(?:words?|tokens?|chars?|ch|tags?|s|w|t|c)"
NUMBERS = r"(?:ids?|ix|idx|index|indices|i|ind)"
LINK = r"_?(?:2|to)_?"
TO_NUMBERS = re.compile(rf"\b_?{UNITS}{LINK}{NUMBERS}(?:\b|_)|vocab|word_?map", re.I)
TO_WORDS = re.compile(rf"\b_?{NUMBERS}{LINK}{UNITS}(?:\b|_)|rev(?:erse)?_vocab", re.I)
TOKENIZERS = re.compile(r"tokenizer|\bbpe\b|\benc(?:oder|oding)?\b", re.I)
COUNTS = re.compile(r"size|count|length|num_|^n_|^(?:idx|n|max_?id)$", re.I)
ENDINGS = (".pkl", ".pickle", ".json")


def find_vocabulary(name: str) -> _Vocabulary | None:
    """Return what stands for an absent file, if its name is that of a vocabulary."""
    stem, ending = os.path.splitext(os.path.basename(name))
    if ending.lower() not in ENDINGS:
        return None
    if TO_WORDS.search(stem):
        return _Vocabulary(name, WORDS, True)
    if TOKENIZERS.search(stem) and ending.lower() != ".json":
        return _Vocabulary(name, TOKENS)
    return _Vocabulary(name, WORDS) if TO_NUMBERS.search(stem) else None


def is_word_list(name: str) -> bool:
    """Return whether a file has one word a line, by its name."""
    stem, ending = os.path.splitext(os.path.basename(name))
    return ending.lower() == ".txt" and bool(TO_NUMBERS.search(stem))


def make_stream(vocabulary: _Vocabulary, binary: bool) -> Any:
    """Return a stream from which `pickle` and `json` read a vocabulary."""
    if binary and not vocabulary.name.lower().endswith(".json"):
        return io.BytesIO(pickle.dumps(vocabulary))
    text = json.dumps(vocabulary.numbers)
    stream: Any = _Bytes(text.encode()) if binary else _Text(text)
    stream.vocabulary = vocabulary
    return stream


def write_words() -> str:
    """Return the words of a vocabulary, one a line."""
    return "".join(f"{word}\n" for word in _Vocabulary("", WORDS))


class _Text(io.StringIO):
    vocabulary: _Vocabulary


class _Bytes(io.BytesIO):
    vocabulary: _Vocabulary


@contextmanager
def replace_json_load() -> Iterator[None]:
    """Let `json.load` return a vocabulary from its stream in the block."""

    def replace(original: Any) -> Any:
        def load(fp: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(fp, _Text | _Bytes):
                return fp.vocabulary
            return original(fp, *args, **kwargs)

        return load

    with replace_attribute(json, "load", replace):
        yield


class _Vocabulary(dict[Any, Any]):
    """Words and their numbers, or, if `reverse`, numbers and their words.

    It is a dict, a class of the program's own with such dicts as attributes, or a
    tokenizer: whichever the program takes it for.
    """

    def __init__(self, name: str, size: int, reverse: bool = False) -> None:
        words = [*MARKS, *(f"word{number}" for number in range(size - len(MARKS)))]
        pairs = enumerate(words) if reverse else zip(words, range(size), strict=True)
        super().__init__(pairs)
        self.__dict__.update(name=name, _size=size, _reverse=reverse)

    def __reduce__(self) -> Any:
        return _Vocabulary, (self.name, self._size, self._reverse)

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        if self._reverse:
            return {word: number for number, word in self.items()}
        return dict(self)

    def __missing__(self, key: Any) -> Any:
        if isinstance(key, int):
            return f"word{key}"
        if isinstance(key, str) and key.isdecimal() and self._reverse:
            return self[int(key)]
        return zlib.crc32(str(key).encode()) % self._size

    def __contains__(self, key: object) -> bool:
        return not isinstance(key, int) or 0 <= key < self._size

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the number of a word: each has one."""
        return self[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if TO_WORDS.search(name) or name in ("itos", "words", "tokens"):
            return _Vocabulary(self.name, self._size, True)
        if (TO_NUMBERS.search(name) and not COUNTS.search(name)) or name == "stoi":
            return _Vocabulary(self.name, self._size)
        if COUNTS.search(name):
            return self._size
        raise NotHere(
            f"`{name}` of `{self.name}` is not known here: the file is not on this "
            f'machine; give `--data "{self.name}={{...}}"`'
        )

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def __call__(self, words: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the number of a word, or those of a list."""
        if isinstance(words, list | tuple):
            return [self[word] for word in words]
        return self[words]

    def encode(self, text: Any, *args: Any, **kwargs: Any) -> list[int]:
        """Return the numbers of the words of a text."""
        words = text.split() if isinstance(text, str) else text
        return [self[word] for word in words]

    encode_ordinary = encode_as_ids = lookup_indices = encode

    def encode_batch(
        self, texts: Iterable[Any], *args: Any, **kwargs: Any
    ) -> list[list[int]]:
        """Return the numbers of the words of each text."""
        return [self.encode(text) for text in texts]

    encode_ordinary_batch = encode_batch

    def encode_single_token(self, token: Any) -> int:
        """Return the number of a token."""
        return int(self[token])

    def decode(self, numbers: Any, *args: Any, **kwargs: Any) -> str:
        """Return a text of as many words as there are numbers."""
        return " ".join("word" for _ in numbers)

    def get_vocab_size(self, *args: Any, **kwargs: Any) -> int:
        """Return the number of words."""
        return len(self)
