"""Models of `transformers` that are built or called otherwise than they can be: a width
that the heads do not divide, a bare model that is asked for logits, a model of two
sequences that is given one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.assigned_values import find_known_value
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_name,
)

CONFIG = re.compile(r"^[A-Z]\w*Config$")


def find_library_model(program: Program, finding: Finding) -> Explanation | None:
    """Return why a model of `transformers` refuses how it is built or called."""
    words = finding.words
    if HEADS.search(words):
        return _explain_heads(program, words)
    headless = HEADLESS.search(words)
    if headless is not None:
        return _explain_headless(program, headless[2])
    if ONE_SEQUENCE.search(words):
        return _explain_one_sequence(program, finding)
    return None


# -- widths and heads ------------------------------------------------------------------

HEADS = re.compile(
    r"(?i)(multiple of|divisible by|must divide).*\bn?(um)?[ _]?(\w+[ _])?heads?\b"
    r"|n_heads: \d+ must divide"
)
NUMBERS = re.compile(r"(?<![\w.])\d+(?![\w.])")
HEADS_OF = {
    "hidden_size": "num_attention_heads", "n_embd": "n_head", "dim": "n_heads",
    "embed_dim": "num_heads", "embedding_size": "num_attention_heads",
}  # fmt: skip
"""Widths among the arguments of configs, and the number of heads beside each."""
NAMED_HEADS = re.compile(r"heads?$")


def _explain_heads(program: Program, words: str) -> Explanation | None:
    """Return that the heads of a config do not divide its width."""
    numbers = sorted({int(number) for number in NUMBERS.findall(words)})
    if len(numbers) != 2 or numbers[0] < 2 or numbers[1] % numbers[0] == 0:
        return None
    heads, width = numbers
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or not CONFIG.match(
                get_called_name(call)
            ):
                continue
            settings = {word.arg: word.value for word in call.keywords if word.arg}
            wide = [
                name
                for name, value in settings.items()
                if name in HEADS_OF and _evaluate(text, value) == width
            ]
            few = [name for name in settings if NAMED_HEADS.search(name)]
            if not wide or (few and _evaluate(text, settings[few[0]]) != heads):
                continue
            name = few[0] if few else HEADS_OF[wide[0]]
            default = "" if few else ", the default"
            message = (
                f"`{get_called_name(call)}` has {heads} heads (`{name}`{default}),"
                f" which do not divide `{wide[0]}={width}`"
            )
            fixes: tuple[Fix, ...] = ()
            fitting = _find_heads(width, heads)
            if few and fitting:
                edit = Edit(text.span(settings[name]), str(fitting))
                fixes = (Fix("fits", f"`{name}={fitting}`", (edit,)),)
            elif fitting:
                fixes = (with_keyword(text, call, f"{name}={fitting}"),)
            where = Related(text.span(settings[wide[0]]), "the width is given here")
            return Explanation(message, (where,), fixes)
    return None


def _evaluate(text: SourceText, node: ast.expr) -> int | None:
    """Return the whole number that an argument is, or None."""
    return evaluate_whole_number(find_known_value(text, node))


def _find_heads(width: int, heads: int) -> int:
    """Return the largest number of heads below another that divides a width into heads
    of an even size, or 0.
    """
    for number in range(heads, 1, -1):
        if width % number == 0 and width // number % 2 == 0:
            return number
    return next((n for n in range(heads, 1, -1) if width % n == 0), 0)


# -- models without a head -------------------------------------------------------------

HEADLESS = re.compile(r"'(\w+Output\w*)' object has no attribute '(logits|loss)'")
BARE = re.compile(r"^(?:[A-Z]\w*)Model$")
OF_IMAGES = re.compile(
    r"^(ViT|DeiT|Beit|Swin|ConvNext|ResNet|Dinov2|RegNet|MobileNet|MobileViT|AutoImage)"
)
OF_NEXT_TOKENS = re.compile(
    r"^(GPT2|GPTNeo|GPTNeoX|Llama|Mistral|Qwen2|Qwen3|OPT|Bloom|Gemma|Phi)"
)
OF_TWO = re.compile(r"^(M?T5|U?MT5|M?Bart|Pegasus|BlenderbotSmall|LED|BigBirdPegasus)")
CHOSEN = ("num_labels", "id2label", "label2id")


def _explain_headless(program: Program, attribute: str) -> Explanation | None:
    """Return that a bare model gives hidden states, and the class with a head."""
    bare = {name for text in program.own_texts() for name in _iter_bare(text)}
    if len(bare) != 1:
        return None
    name = bare.pop()
    message = (
        f"`{name}` is the model without a head: it gives hidden states and no"
        f" `{attribute}`"
    )
    related = []
    fixes = []
    for head in _list_heads(program, name):
        edits = [
            Edit(span, head)
            for text in program.own_texts()
            for span in _iter_uses(text, name)
        ]
        fixes.append(Fix("fits", f"`{head}` for `{name}`", tuple(edits)))
    for text in program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.Call) and name in _list_called(node):
                related.append(Related(text.span(node), f"`{name}` is built here"))
    return Explanation(message, tuple(related[:1]), tuple(fixes))


def _list_called(node: ast.AST) -> list[str]:
    """Return the last two names of a callee: `BertModel.from_pretrained`."""
    if not isinstance(node, ast.Call):
        return []
    names = [get_last_name(node.func)]
    if isinstance(node.func, ast.Attribute):
        names.append(get_last_name(node.func.value))
    return names


def _iter_bare(text: SourceText) -> Iterator[str]:
    """Yield the classes of models without a head that a file imports and builds."""
    imported = {
        alias.name
        for node in text.nodes
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").partition(".")[0] == "transformers"
        for alias in node.names
    }
    imported |= {
        node.attr
        for node in text.nodes
        if isinstance(node, ast.Attribute)
        and get_last_name(node.value) == "transformers"
    }
    bases = {
        get_last_name(base)
        for node in text.nodes
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    }
    for node in text.nodes:
        for name in _list_called(node):
            is_bare = BARE.match(name) and not re.search("Head|Encoder", name)
            if is_bare and name in imported - bases:
                yield name


def _list_heads(program: Program, name: str) -> list[str]:
    """Return the classes with a head that may stand for a bare one, the likeliest
    first.
    """
    stem = name if name == "AutoModel" else name.removesuffix("Model")
    words = {
        word.arg
        for text in program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Call)
        for word in node.keywords
    }
    if OF_IMAGES.match(name):
        return [f"{stem}ForImageClassification"]
    if OF_TWO.match(name):
        return [f"{stem}ForConditionalGeneration"]
    if OF_NEXT_TOKENS.match(name) and not words & set(CHOSEN):
        return [f"{stem}LMHeadModel" if stem == "GPT2" else f"{stem}ForCausalLM"]
    return [f"{stem}ForSequenceClassification", f"{stem}ForTokenClassification"]


def _iter_uses(text: SourceText, name: str) -> Iterator[Span]:
    """Yield where a file imports and names a class."""
    for node in text.nodes:
        if isinstance(node, ast.Name) and node.id == name:
            yield text.span(node)
        elif isinstance(node, ast.Attribute) and node.attr == name:
            end = text.span(node)
            begin = end.end_column - len(name)
            yield Span(text.file, end.end_line, begin, end.end_line, end.end_column)
        elif isinstance(node, ast.alias) and node.name == name and not node.asname:
            column = text.column(node.lineno, node.col_offset)
            last = column + len(name)
            yield Span(text.file, node.lineno, column, node.lineno, last)


# -- models of two sequences -----------------------------------------------------------

ONE_SEQUENCE = re.compile(
    r"specify exactly one of input_ids or inputs_embeds"
    r"|specify either decoder_input_ids or decoder_inputs_embeds"
    r"|no `decoder_input_ids` or `decoder_inputs_embeds` are passed"
    r"|specify exactly one of decoder_input_ids"
)
TWO = re.compile(
    r"^(M?T5|U?MT5|LongT5|M?Bart|Pegasus|PegasusX|Marian|Blenderbot\w*|LED|Plbart|M2M100"
    r"|FSMT|Prophet\w*|AutoModelForSeq2Seq|EncoderDecoder)\w*$"
)
"""Classes of models with an encoder and a decoder."""
HEADED = re.compile(r"ForConditionalGeneration|MTModel|ForSeq2Seq|^EncoderDecoder")
TARGETS = (
    "labels", "target_ids", "tgt_ids", "targets", "target", "tgt", "trg", "label_ids",
    "decoder_labels", "summary_ids", "y", "yb", "output_ids",
)  # fmt: skip
GIVEN = ("labels", "decoder_input_ids", "decoder_inputs_embeds")


def _explain_one_sequence(program: Program, finding: Finding) -> Explanation | None:
    """Return that the decoder of a model gets nothing: labels, or its inputs."""
    built = [
        name
        for text in program.own_texts()
        for node in text.nodes
        for name in _list_called(node)
        if TWO.match(name) and not re.search("Config|Tokenizer", name)
    ]
    if not built:
        return None
    for text, call in program.iter_calls(finding):
        words = {word.arg: word.value for word in call.keywords}
        has_input = bool(call.args) or "input_ids" in words or None in words
        if not has_input or any(word in words for word in GIVEN):
            continue
        written = text.written(call.func)
        word = "labels" if HEADED.search(built[0]) else "decoder_input_ids"
        message = (
            f"`{written}` is a `{built[0]}`, which has a decoder, and gets nothing for"
            f" it: `{word}`, the tokens that are to follow from the input"
        )
        ids = words.get("input_ids") or next(iter(call.args), None)
        target = _find_target(text, call, ids)
        fixes = (with_keyword(text, call, f"{word}={target}"),) if target else ()
        return Explanation(message, (), fixes)
    return None


def _find_target(text: SourceText, call: ast.Call, ids: ast.expr | None) -> str:
    """Return the expression of a call's scope that names its targets, if any does."""
    if isinstance(ids, ast.Subscript) and isinstance(ids.slice, ast.Constant):
        keys = {node.value for node in text.nodes if isinstance(node, ast.Constant)}
        key = next((name for name in TARGETS if name in keys), "")
        return f'{text.written(ids.value)}["{key}"]' if key else ""
    scope = text.around(call, *FUNCTIONS) or text.tree
    names = collect_names(scope) if scope is not None else set()
    if isinstance(scope, ast.FunctionDef):
        names |= {argument.arg for argument in scope.args.args}
    return next((name for name in TARGETS if name in names), "")
