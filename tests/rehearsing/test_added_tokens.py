"""Tokens that are added to a tokenizer, and not to the embedding of its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

TEXT = """\
    import torch
    from torch import nn
    class Tokenizer:
        def __init__(self):
            self.ids = {{word: n for n, word in enumerate("the cat sat".split())}}
        def __len__(self):
            return len(self.ids)
        def add_tokens(self, words):
            self.ids |= {{word: len(self.ids) + n for n, word in enumerate(words)}}
        def encode(self, text):
            return torch.tensor([[self.ids[word] for word in text.split()]])
    class Body(nn.Module):
        def __init__(self, rows):
            super().__init__()
            self.words = nn.Embedding(rows, 8)
        def resize_token_embeddings(self, rows):
            old, self.words = self.words, nn.Embedding(rows, 8)
            self.words.weight.data[:old.num_embeddings] = old.weight.data
        def forward(self, ids):
            return self.words(ids)
    class Tagger(nn.Module):
        def __init__(self, rows):
            super().__init__()
            self.body, self.head = Body(rows), nn.Linear(8, 2)
        def forward(self, ids):
            return self.head(self.body(ids))
    tokenizer = Tokenizer()
    {lines}
    model(tokenizer.encode("the cat <a> sat")).sum().backward()
    """
ADD = 'tokenizer.add_tokens(["<a>"])'


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        (
            f"model = Tagger(len(tokenizer))\n    {ADD}",
            "`model.body.resize_token_embeddings(len(tokenizer))`",
        ),
        (
            f"rows = len(tokenizer)\n    {ADD}\n    model = Body(rows)",
            "`model.resize_token_embeddings(len(tokenizer))`",
        ),
    ],
    ids=["inside", "itself"],
)
def test_the_embedding_gets_the_rows_of_the_tokenizer(
    lines: str, fix: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, TEXT.format(lines=lines))
    finding = next(f for f in report.findings if f.severity == "error")
    assert next(f.message for f in finding.fixes if f.checked) == fix


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        (
            f"model = Body(3)\n    {ADD}\n    model.resize_token_embeddings(2 + 1)",
            "`model.resize_token_embeddings(len(tokenizer))`",
        ),
        (
            "def grow(net, tok, n):\n        tok.add_tokens(['<a>'])\n"
            "        net.resize_token_embeddings(n)\n        return net\n"
            "    model = grow(Body(3), tokenizer, 3)",
            "`net.resize_token_embeddings(len(tok))`",
        ),
    ],
    ids=["counted", "function"],
)
def test_an_embedding_resized_to_too_few_rows(
    lines: str, fix: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, TEXT.format(lines=lines))
    finding = next(f for f in report.findings if f.severity == "error")
    checked = [f.message for f in finding.fixes if f.checked]
    assert checked == [fix]


SHIFTED = """\
import torch
import torch.nn.functional as F
from torch import nn

PAD = 0


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 8, padding_idx=PAD)
        self.out = nn.Linear(8, 20)

    def forward(self, ids):
        return self.out(self.emb(ids))


rows = [torch.tensor([3, 4, 5, 6]), torch.tensor([7, 8])]
labels = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)
net = Decoder()
{call}
loss = F.cross_entropy(scores.flatten(0, 1), labels[:, 1:].flatten())
loss.backward()
"""


@pytest.mark.parametrize(
    ("call", "new"),
    [
        (
            "scores = net(labels[:, :-1])",
            "`ids.masked_fill(ids == -100, PAD)`",
        ),
        (
            "tokens = labels[:, :-1]\nscores = net.out(net.emb(tokens))",
            "`tokens.masked_fill(tokens == -100, PAD)`",
        ),
    ],
)
def test_ignored_labels_are_no_tokens(call: str, new: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SHIFTED.format(call=call))
    (finding,) = [f for f in report.findings if f.severity == "error"]
    assert finding.fixes[0].message == new


COUNTED = """\
import torch
from torch import nn

words = "a cat sat on the mat and a dog ran to it".split()
stoi = {{w: i + {first} for i, w in enumerate(sorted(set(words)))}}
vocab_size = len(stoi)


class Tagger(nn.Module):
    def __init__(self, n_words, dim=8):
        super().__init__()
        self.embedding = nn.Embedding({rows}, dim, padding_idx=0)
        self.head = nn.Linear(dim, 3)

    def forward(self, x):
        return self.head(self.embedding(x).mean(1))


model = {built}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x = torch.tensor([[stoi[w] for w in words], [0] * len(words)])
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), torch.tensor([0, 1])).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("first", "rows", "built", "edit"),
    [
        (2, "n_words", "Tagger(len(stoi))", "len(stoi) + 2"),
        (3, "n_words", "Tagger(len(stoi))", "len(stoi) + 3"),
        (3, "n_words", "Tagger(n_words=vocab_size)", "vocab_size + 3"),
        (3, "n_words", "Tagger(len(stoi) + 1)", "len(stoi) + 3"),
        (1, "n_words", "Tagger(vocab_size)", "vocab_size + 1"),
        (2, "n_words", "Tagger(11)", "13"),
    ],
)
def test_tokens_that_were_not_counted_are_added_to_the_count(
    first: int, rows: str, built: str, edit: str, tmp_path: Path
) -> None:
    text = COUNTED.format(first=first, rows=rows, built=built)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "index-out-of-range"
    assert finding.fixes[0].checked
    assert [edit.text for edit in finding.fixes[0].edits] == [edit]


@pytest.mark.parametrize("built", ["Tagger(len(stoi) + 2)", "Tagger(vocab_size + 3)"])
def test_tokens_that_are_counted_are_quiet(built: str, tmp_path: Path) -> None:
    text = COUNTED.format(first=2, rows="n_words", built=built)
    assert not rehearsed(tmp_path, text).findings


VOCABULARY = """\
import torch
from torch import nn

texts = ["a b c", "d e", "b e f"]
words = sorted({{word for line in texts for word in line.split()}})
{vocabulary}
ids = torch.tensor([[number(word) for word in "c f e".split()]])
table = nn.Embedding({count}, 4)
table(ids).sum().backward()
"""
DICT = """vocab = {"<pad>": 0, "<unk>": 1}
for word in words:
    vocab[word] = len(vocab)
number = vocab.get"""
UPDATED = """vocab = {"[PAD]": 0}
vocab.update({word: i + 1 for i, word in enumerate(words)})
number = vocab.__getitem__"""
LISTED = """vocab = ["<pad>", "<bos>", "<eos>"] + words
number = vocab.index"""


@pytest.mark.parametrize("vocabulary", [DICT, UPDATED, LISTED])
def test_a_table_of_the_words_lacks_the_rows_of_special_tokens(
    vocabulary: str, tmp_path: Path
) -> None:
    text = VOCABULARY.format(vocabulary=vocabulary, count="len(words)")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.fixes[0].message == "`len(vocab)`"
    assert any("`len(words)` leaves out" in place.message for place in finding.related)


def test_a_table_with_a_row_for_one_token_of_two_lacks_the_other(
    tmp_path: Path,
) -> None:
    text = VOCABULARY.format(vocabulary=DICT, count="len(words) + 1")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.fixes[0].message == "`len(vocab)`"
    assert finding.fixes[0].edits[0].text == "len(vocab)"


@pytest.mark.parametrize("vocabulary", [DICT, UPDATED, LISTED])
def test_a_table_of_the_whole_vocabulary_is_quiet(
    vocabulary: str, tmp_path: Path
) -> None:
    text = VOCABULARY.format(vocabulary=vocabulary, count="len(vocab)")
    assert not rehearsed(tmp_path, text).findings


def test_a_table_that_lacks_more_than_the_tokens_has_another_cause(
    tmp_path: Path,
) -> None:
    text = VOCABULARY.format(vocabulary=DICT, count="len(words) - 3")
    (finding,) = rehearsed(tmp_path, text).findings
    assert not any("leaves out" in place.message for place in finding.related)
