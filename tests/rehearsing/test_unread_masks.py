"""Masks of padding that stand unread beside an attention without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 8)

    def forward(self, x, memory, key_padding_mask=None):
        scores = self.q(x) @ memory.transpose(1, 2)
        if key_padding_mask is not None:
            {hide}
        return scores.softmax(-1) @ memory


def attend(x, memory, padding_mask=None):
    scores = x @ memory.transpose(1, 2)
    if padding_mask is not None:
        scores = scores.masked_fill(padding_mask[:, None], -1e9)
    return scores.softmax(-1) @ memory


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(20, 8), nn.GRU(8, 8, batch_first=True)
        self.layers = nn.ModuleList(Attention() for _ in range(2))
        self.head = nn.Linear(8, 20)

    def encode(self, ids):
        return self.rnn(self.emb(ids))[0], ids == 0

    def forward(self, ids, target):
        memory, {name} = self.encode(ids)
        x = self.emb(target)
        for layer in self.layers:
            x = {call}
        return self.head(x)


model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    ids, target = torch.randint(0, 20, (4, 9)), torch.randint(1, 20, (4, 5))
    loss = model(ids, target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
HIDE = "scores = scores.masked_fill(key_padding_mask[:, None], -1e9)"
WRONG = {
    "a layer": ("padding_mask", "layer(x, memory)", "key_padding_mask=padding_mask"),
    "a function": ("src_mask_pad", "attend(x, memory)", "padding_mask=src_mask_pad"),
    "a keyword": ("pad_mask", "layer(x, memory=memory)", "key_padding_mask=pad_mask"),
}
RIGHT = {
    "given": ("padding_mask", "layer(x, memory, padding_mask)"),
    "by name": ("padding_mask", "layer(x, memory, key_padding_mask=padding_mask)"),
    "read elsewhere": ("padding_mask", "layer(x, memory * ~padding_mask[..., None])"),
    "no mask": ("_", "layer(x, memory)"),
    "another mask": ("token_mask", "layer(x, memory)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mask_that_attention_lacks_is_found(name: str, tmp_path: Path) -> None:
    mask, call, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(hide=HIDE, name=mask, call=call))
    assert report.complete, report
    (finding,) = [f for f in report.findings if f.code == "mask-axis"]
    assert f"`{mask}` is not read" in finding.message
    assert fix in finding.fixes[0].message
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_masks_that_are_read_are_quiet(name: str, tmp_path: Path) -> None:
    mask, call = RIGHT[name]
    report = rehearsed(tmp_path, SCRIPT.format(hide=HIDE, name=mask, call=call))
    assert report.complete, report
    assert "mask-axis" not in [f.code for f in report.findings]


def test_a_mask_that_hides_no_scores_is_quiet(tmp_path: Path) -> None:
    hide = "memory = memory * (1 - key_padding_mask[..., None].float())"
    text = SCRIPT.format(hide=hide, name="padding_mask", call="layer(x, memory)")
    report = rehearsed(tmp_path, text)
    assert "mask-axis" not in [f.code for f in report.findings]


OF_MODEL = """\
import torch
from transformers import BertConfig, {model}

config = BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=32,
)
model = {model}(config).eval()
input_ids = torch.randint(1, 40, (3, 7))
input_ids[0, 4:] = 0
{mask}


def embed(tokens):
    mask = tokens.ne(0).long()
    {inner}
    return (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


with torch.no_grad():
    {call}
print(out.shape)
"""
OWN = "hidden = model(tokens).last_hidden_state"
UNPASSED = {
    "script": (
        "attention_mask = (input_ids != 0).long()",
        "pass",
        "out = model(input_ids).last_hidden_state * attention_mask[..., None]",
        "attention_mask=attention_mask",
    ),
    "another name": (
        "padding_mask = input_ids.ne(0)",
        "pass",
        "out = model(input_ids=input_ids).last_hidden_state * padding_mask[..., None]",
        "attention_mask=padding_mask",
    ),
    "function": (
        "",
        OWN,
        "out = embed(input_ids)",
        "attention_mask=mask",
    ),
}


@pytest.mark.parametrize("name", UNPASSED)
def test_a_mask_that_a_model_lacks_is_given_to_it(name: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    mask, inner, call, fix = UNPASSED[name]
    text = OF_MODEL.format(model="BertModel", mask=mask, inner=inner, call=call)
    report = rehearsed(tmp_path, text)
    (finding,) = [f for f in report.findings if f.code == "mask-axis"]
    assert "is not given to the model" in finding.message
    assert fix in finding.fixes[0].message
    assert finding.fixes[0].checked


MASK = "attention_mask = (input_ids != 0).long()"
PASSED = {
    "by name": (MASK, "out = model(input_ids, attention_mask=attention_mask)[0]"),
    "by place": (MASK, "out = model(input_ids, attention_mask)[0]"),
    "of padding": ("pad_mask = input_ids == 0", "out = model(input_ids)[0]"),
    "of others": ("mask = torch.rand(3, 7) > 0.5", "out = model(input_ids)[0]"),
    "starred": (MASK, "out = model(**dict(input_ids=input_ids))[0]"),
    "none": ("", "out = model(input_ids)[0]"),
}


@pytest.mark.parametrize("name", PASSED)
def test_models_that_have_their_mask_are_quiet(name: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    mask, call = PASSED[name]
    text = OF_MODEL.format(model="BertModel", mask=mask, inner="pass", call=call)
    report = rehearsed(tmp_path, text)
    assert "mask-axis" not in [f.code for f in report.findings]


OF_ROWS = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import BertConfig, {model}

config = BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=32, is_decoder={decodes},
)
model = {model}(config).eval()
rows = [torch.randint(5, 40, (n,)) for n in {counts}]
input_ids = pad_sequence(rows, batch_first=True{value})


def tokenize(rows, padding):
    ids = torch.full((len(rows), 9), 2)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    return {{"input_ids": ids, "attention_mask": (ids != 2).long()}}


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = model

    def forward(self, ids):
        return self.bert(ids)[0]


with torch.no_grad():
    {call}
print(out.shape)
"""
BERT = {
    "model": "BertModel", "decodes": "False", "counts": "(4, 9, 7)",
    "value": ", padding_value=config.pad_token_id", "call": "out = model(input_ids)[0]",
}  # fmt: skip
WITHOUT = {
    "by place": ({}, "attention_mask=(input_ids != config.pad_token_id).long()"),
    "by name": (
        {"call": "out = model(input_ids=input_ids).last_hidden_state"},
        "attention_mask=(input_ids != config.pad_token_id).long()",
    ),
    "zeros": ({"value": ""}, "attention_mask=(input_ids != 0).long()"),
    "in a module": (
        {"call": "out = Reader()(input_ids)"},
        "attention_mask=(ids != config.pad_token_id).long()",
    ),
    "a tokenizer": (
        {
            "call": "enc = tokenize(rows, padding=True); "
            "out = model(enc['input_ids'])[0]"
        },
        'attention_mask=enc["attention_mask"]',
    ),
}
WITH = {
    "tokens and their mask": {
        "call": "enc = tokenize(rows, padding=True); out = model(**enc)[0]"
    },
    "given": {
        "call": "out = model(input_ids, attention_mask=(input_ids != 0).long())[0]"
    },
    "by place": {"call": "out = model(input_ids, (input_ids != 0).long())[0]"},
    "of one length": {"counts": "(6, 6, 6)"},
    "one after the other": {"call": "out = model(rows[0][None])[0]"},
    "a model of next tokens": {"model": "BertLMHeadModel", "decodes": "True"},
}


def write_rows(words: dict[str, str]) -> str:
    """The script with other words."""
    return OF_ROWS.format(**{**BERT, **words})


@pytest.mark.parametrize("name", WITHOUT)
def test_padded_tokens_get_their_mask(name: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    words, fix = WITHOUT[name]
    report = rehearsed(tmp_path, write_rows(words))
    (finding,) = [f for f in report.findings if f.code == "mask-axis"]
    assert fix in finding.fixes[0].message
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", WITH)
def test_tokens_that_need_no_mask_are_quiet(name: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    report = rehearsed(tmp_path, write_rows(WITH[name]))
    assert "mask-axis" not in [f.code for f in report.findings]
