"""Vocabularies in files that are not here: the size is assumed, and told."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import json, pickle
import torch
from torch import nn

READ
words = "some words of a caption".split()
ids = torch.tensor([NUMBER for word in words])
model = nn.Sequential(nn.Embedding(COUNT, 8), nn.Linear(8, COUNT))
loss = nn.functional.cross_entropy(model(ids), ids)
loss.backward()
assert LAST
"""
PICKLE = "vocab = pickle.load(open('data/vocab.pkl', 'rb'))"
MAP = "word_map = json.load(open('WORDMAP_coco.json'))"
PAIR = """\
with open("word2idx.pkl", "rb") as f:
    w2i = pickle.load(f)
with open("idx2word.json") as f:
    i2w = json.load(f)"""
CASES = {
    "object": (
        PICKLE, "vocab(word)", "len(vocab)", "len(vocab.idx2word) == len(vocab)",
    ),
    "attributes": (
        PICKLE, "vocab.word2idx[word]", "vocab.idx",
        "vocab.idx2word[3] == '<end>' and vocab.word2idx['<end>'] == 3",
    ),
    "map": (
        MAP, "word_map.get(word, word_map['<unk>'])", "len(word_map)",
        "{i: w for w, i in word_map.items()}[0] == '<pad>'",
    ),
    "pair": (PAIR, "w2i[word]", "max(w2i.values()) + 1", "isinstance(i2w[7], str)"),
    "tokenizer": (
        "enc = pickle.load(open('tokenizer.pkl', 'rb'))",
        "enc.encode_single_token(word)", "enc.n_vocab", "enc.n_vocab == 50257",
    ),
    "lines": (
        "vocab = [line.strip() for line in open('vocab.txt')]",
        "vocab.index('<unk>')", "len(vocab)", "len(set(vocab)) == 10000",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_vocabulary_has_a_number_for_every_word(case: str, tmp_path: Path) -> None:
    read, number, count, last = CASES[case]
    text = TRAINING.replace("READ", read).replace("NUMBER", number)
    report = rehearsed(tmp_path, text.replace("COUNT", count).replace("LAST", last))
    assert report.findings == ()
    assert report.complete
    says = [each.message for each in report.assumptions if each.stands_for]
    assert says
    assert all("10,000" in each or "50,257" in each for each in says)
    assert {each.basis for each in report.assumptions if each.stands_for} == {"assumed"}


def test_what_the_user_gives_of_a_vocabulary_counts(tmp_path: Path) -> None:
    (tmp_path / "vocab.pkl").write_bytes(pickle.dumps({"a": 0, "b": 1}))
    text = """
        import pathlib, pickle, torch
        folder = pathlib.Path(__file__).parent
        vocab = pickle.load(open(folder / "vocab.pkl", "rb"))
        torch.nn.Embedding(len(vocab), 3)(torch.tensor([2]))
    """
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "index-out-of-range"


@pytest.mark.parametrize("name", ["data.pkl", "config.json", "features.pickle"])
def test_other_files_are_asked_for(name: str, tmp_path: Path) -> None:
    text = f"import pickle, torch\npickle.load(open({name!r}, 'rb'))\n"
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "not-here"
    assert name in finding.message


def test_an_attribute_that_nobody_knows_is_asked_for(tmp_path: Path) -> None:
    text = f"import pickle, torch\n{PICKLE}\ntorch.zeros(vocab.context)\n"
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "not-here"
    assert "`context` of `data/vocab.pkl`" in finding.message


def test_nltk_splits_texts(tmp_path: Path) -> None:
    text = """
        import torch
        import nltk
        from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu
        nltk.download("punkt")
        words = nltk.tokenize.word_tokenize("A cat, on a mat.")
        assert len(words) == 7, words
        assert len(nltk.sent_tokenize("One. Two.")) == 2
        corpus_bleu([[words]], [words], smoothing_function=SmoothingFunction().method1)
        print(torch.zeros(len(words)).shape)
    """
    report = rehearsed(tmp_path, text)
    assert report.findings == ()
    assert report.complete
