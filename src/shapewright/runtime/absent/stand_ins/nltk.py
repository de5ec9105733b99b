"""nltk: texts in words and sentences, scores of translations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

SOURCE = "signatures of https://www.nltk.org/api/nltk.html, 3.9"
VERSION = "3.9.0"
WORD = re.compile(r"\w+|[^\w\s]")
SENTENCE = re.compile(r"(?<=[.!?])\s+")


def download(*args: Any, **kwargs: Any) -> bool:
    """Do nothing: what would be loaded is stood in for."""
    return True


def word_tokenize(
    text: str, language: str = "english", preserve_line: bool = False
) -> list[str]:
    """Return the words and marks of a text."""
    return WORD.findall(text)


def sent_tokenize(text: str, language: str = "english") -> list[str]:
    """Return the sentences of a text."""
    return [part for part in SENTENCE.split(text.strip()) if part]


class Tokenizer:
    """A tokenizer, whatever its rule."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def tokenize(self, text: str) -> list[str]:
        """Return the words and marks of a text."""
        return word_tokenize(text)


class Stemmer:
    """A stemmer or lemmatizer, which leaves words as they are."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def stem(self, token: str, *args: Any) -> str:
        """Return the word."""
        return token

    lemmatize = stem


class Words:
    """The words of a corpus."""

    def words(self, *args: Any) -> list[str]:
        """Return the words of a list, such as the stop words of English."""
        return ["the", "a", "of", "and"]


def score(*args: Any, **kwargs: Any) -> float:
    """Return the score of a translation, of which nothing is known."""
    return 0.0


class SmoothingFunction:
    """The smoothing methods of a score."""

    method0 = method1 = method2 = method3 = staticmethod(score)
    method4 = method5 = method6 = method7 = staticmethod(score)


def ngrams(sequence: Iterable[Any], n: int, **kwargs: Any) -> list[tuple[Any, ...]]:
    """Return each run of `n` items."""
    items = list(sequence)
    return [tuple(items[at : at + n]) for at in range(len(items) - n + 1)]


TOKENIZERS = {
    "word_tokenize": word_tokenize, "wordpunct_tokenize": word_tokenize,
    "sent_tokenize": sent_tokenize, "RegexpTokenizer": Tokenizer,
    "TreebankWordTokenizer": Tokenizer, "TweetTokenizer": Tokenizer,
    "WordPunctTokenizer": Tokenizer,
}  # fmt: skip
STEMMERS = {
    "PorterStemmer": Stemmer, "SnowballStemmer": Stemmer, "LancasterStemmer": Stemmer,
    "WordNetLemmatizer": Stemmer,
}  # fmt: skip
SCORES = {
    "corpus_bleu": score, "sentence_bleu": score,
    "SmoothingFunction": SmoothingFunction,
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {"download": download, "ngrams": ngrams, **TOKENIZERS, **STEMMERS},
    "tokenize": TOKENIZERS,
    "stem": STEMMERS,
    "stem.porter": STEMMERS,
    "util": {"ngrams": ngrams},
    "corpus": {"stopwords": Words(), "words": Words()},
    "translate": SCORES,
    "translate.bleu_score": SCORES,
}
