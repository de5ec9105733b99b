"""Models of transformers that are built or called otherwise than they can be."""

from __future__ import annotations

import pytest

from shapewright.analysis.refused_calls.library_models import find_library_model
from tests.rehearsing.library_errors import explain, mend

HEADS = [
    "`ValueError`: The hidden size (100) is not a multiple of the number of attention"
    " heads (12)",
    "`ValueError`: hidden_size must be divisible by num_heads (got `hidden_size`: 100"
    " and `num_heads`: 12).",
    "`ValueError`: self.n_heads: 12 must divide self.dim: 100 evenly",
]


@pytest.mark.parametrize("words", HEADS)
@pytest.mark.parametrize(
    ("config", "new"),
    [
        ("BertConfig(hidden_size=100)",
         "BertConfig(hidden_size=100, num_attention_heads=10)"),
        ("GPT2Config(n_embd=width)", "GPT2Config(n_embd=width, n_head=10)"),
        ("DistilBertConfig(dim=100, n_heads=12)",
         "DistilBertConfig(dim=100, n_heads=10)"),
        ("BertConfig(hidden_size=96)", None),
        ("BertConfig(hidden_size=100, num_attention_heads=4)", None),
    ],
)  # fmt: skip
def test_a_number_of_heads_that_divides(
    words: str, config: str, new: str | None
) -> None:
    text = f"width = 100\nconfig = {config}\nmodel = Model(config)\n"
    cause = explain(find_library_model, text, "Model(config)", words)
    if new is None:
        assert cause is None
        return
    assert cause is not None
    assert "which do not divide" in cause.message
    assert f"config = {new}\n" in mend(text, cause.fixes[0].edits)


BARE = """\
from transformers import {name}, {stem}Config
model = {name}({config})
out = model(input_ids=ids)
loss = criterion(out.logits, y)
"""
NO_LOGITS = "`AttributeError`: 'BaseModelOutput' object has no attribute 'logits'"


@pytest.mark.parametrize(
    ("name", "config", "head"),
    [
        ("DistilBertModel", "config", "DistilBertForSequenceClassification"),
        ("ViTModel", "config", "ViTForImageClassification"),
        ("GPT2Model", "config", "GPT2LMHeadModel"),
        ("LlamaModel", "config", "LlamaForCausalLM"),
        ("GPT2Model", "GPT2Config(num_labels=3)", "GPT2ForSequenceClassification"),
        ("T5Model", "config", "T5ForConditionalGeneration"),
    ],
)
def test_the_class_with_a_head_is_named(name: str, config: str, head: str) -> None:
    text = BARE.format(name=name, stem=name.removesuffix("Model"), config=config)
    cause = explain(find_library_model, text, "out.logits", NO_LOGITS)
    assert cause is not None
    assert f"`{name}` is the model without a head" in cause.message
    mended = mend(text, cause.fixes[0].edits)
    assert f"import {head}, " in mended
    assert f"model = {head}(" in mended


def test_a_pretrained_model_gets_a_head() -> None:
    text = (
        "import transformers\nnet = transformers.AutoModel.from_pretrained(name)\n"
        "out = net(ids)\nprint(out.logits)\n"
    )
    cause = explain(find_library_model, text, "out.logits", NO_LOGITS)
    assert cause is not None
    new = "transformers.AutoModelForSequenceClassification.from_pretrained(name)"
    assert new in mend(text, cause.fixes[0].edits)


@pytest.mark.parametrize(
    "text",
    [
        "class MyModel(nn.Module): ...\nmodel = MyModel()\nprint(out.logits)\n",
        "from transformers import BertModel\nclass Tagger(BertModel): ...\n"
        "model = Tagger(config)\nprint(out.logits)\n",
        "from transformers import BertForMaskedLM\nmodel = BertForMaskedLM(c)\n"
        "print(out.logits)\n",
    ],
)
def test_models_of_others_keep_their_names(text: str) -> None:
    assert explain(find_library_model, text, "out.logits", NO_LOGITS) is None


ONE = "`ValueError`: You must specify exactly one of input_ids or inputs_embeds"


@pytest.mark.parametrize(
    ("name", "call", "new"),
    [
        ("T5ForConditionalGeneration", "model(input_ids=src)", "labels=tgt)"),
        ("BartForConditionalGeneration", "model(src, attention_mask=m)", "labels=tgt)"),
        ("MarianMTModel", 'model(input_ids=b["input_ids"])', 'labels=b["labels"])'),
        ("T5ForConditionalGeneration", 'model(b["input_ids"])', 'labels=b["labels"])'),
        ("T5Model", "model(input_ids=src)", "decoder_input_ids=tgt)"),
    ],
)
def test_a_decoder_gets_its_labels(name: str, call: str, new: str) -> None:
    text = (
        f"model = {name}(config)\nkeys = ('input_ids', 'labels')\n"
        f"for src, tgt in loader:\n    out = {call}\n"
    )
    cause = explain(find_library_model, text, call, ONE)
    assert cause is not None
    assert f"`model` is a `{name}`, which has a decoder" in cause.message
    assert new in mend(text, cause.fixes[0].edits)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("BertForSequenceClassification", "model(attention_mask=m)"),
        ("T5ForConditionalGeneration", "model(labels=tgt, attention_mask=m)"),
    ],
)
def test_other_calls_lack_something_else(name: str, call: str) -> None:
    text = f"model = {name}(config)\nout = {call}\n"
    assert explain(find_library_model, text, call, ONE) is None
