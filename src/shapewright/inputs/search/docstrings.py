"""Learn about arguments from their names, signatures, docstrings and comments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from shapewright.inputs.search.hypotheses import Dim, Tensor
from shapewright.inputs.search.layer_inputs import find_setting
from shapewright.program.source_text import SourceText, get_function_text

TOKENS = Tensor(("B", "T"), "int64", "ones")
ONES = Tensor(("B", "T"), "int64", "ones")
ZEROS = Tensor(("B", "T"), "int64", "zeros")
IMAGE = Tensor(("B", "C", "H", "W"))
STEP = Tensor(("B",), "int64", "1")
SOUND = Tensor(("B", "A"))
_MEANINGS: dict[str, Any] = {
    "input_ids ids idx tokens token_ids input_tokens src_tokens source_ids text"
    " decoder_input_ids prev_output_tokens target_ids word_ids words": TOKENS,
    "attention_mask decoder_attention_mask encoder_attention_mask": ONES,
    "token_type_ids position_ids segment_ids token_type": ZEROS,
    "lengths length lens seq_len seq_lens seq_lengths input_lengths src_lengths"
    " x_lengths x_lens": Tensor(("B",), "int64", "T"),
    "timestep timesteps labels label target targets class_labels": STEP,
    "t time_step": STEP,
    "edge_index edges": Tensor((2, "E"), "int64", "zeros"),
    "edge_weight": Tensor(("E",)),
    "edge_attr": Tensor(("E", "F")),
    "pixel_values image images img imgs": IMAGE,
    "pixel_values_videos video videos frames clip": Tensor(("B", 16, "C", "H", "W")),
    "pixel_mask": Tensor(("B", "H", "W"), "int64", "ones"),
    "input_features": Tensor(("B", "M", 3000)),
    "input_values waveform wav audio waveforms wave": SOUND,
    "grid_thw image_grid_thw video_grid_thw": Tensor((1, 3), "int64", "[[1, 4, 4]]"),
    "merge_sizes": Tensor((1,), "int64", "2"),
    "spatial_shapes target_sizes": Tensor(("B", 2), "int64", "4"),
    "pixel_attention_mask input_features_mask": ONES,
    "past_values past_observed_mask": Tensor(("B", "L")),
    "past_time_features": Tensor(("B", "L", "F")),
    "bbox boxes": Tensor(("B", "T", 4), "int64", "zeros"),
    "inputs_embeds encoder_hidden_states hidden_states decoder_inputs_embeds"
    " encoder_outputs context memory": Tensor(("B", "T", "F")),
    "mask attn_mask src_mask tgt_mask padding_mask key_padding_mask": None,
    "hidden hidden_state state cache past_key_values": None,
}
MEANINGS = {name: value for names, value in _MEANINGS.items() for name in names.split()}
"""A value for each such name. Letters that are no size of the input stand for sizes
of the model: C channels, F features, M bins;
A is a second of sound."""

PATCHED = frozenset("hidden_states pixel_values pixel_values_videos".split())
"""Names of images that may have been cut into patches."""
PATCHED_BY: dict[str, tuple[str, ...]] = {
    "grid_thw": ("T",), "image_grid_thw": ("T",), "video_grid_thw": ("T",),
    "spatial_shapes": ("B", "T"),
}  # fmt: skip
"""Names of arguments that count patches, and the dims of patches before the last."""

EMBEDDED = Tensor(("B", "T", "F"))
LIKE = {"_embeds": EMBEDDED, "_embeddings": EMBEDDED, "_hidden_states": EMBEDDED,
        "_input_ids": TOKENS, "_attention_mask": ONES}  # fmt: skip
"""The same for names that end so."""


def find_meaning(name: str) -> Any:
    """Return the meaning of a whole name or of its ending, or None if it is unknown."""
    if name in MEANINGS:
        return MEANINGS[name]
    return next((LIKE[end] for end in LIKE if name.endswith(end)), None)


ALSO = {
    "input_features": (Tensor(("B", "L", "M")),),
    "input_values": (Tensor(("B", 1, "A")),),
}
"""What else such a name may mean."""

MASKS = frozenset(
    "mask attn_mask src_mask tgt_mask padding_mask key_padding_mask pad_mask".split()
)
"""Names of masks, which may be left out and else are as the tokens are."""


LETTERS = {
    "B": "b bs batch batch_size bsz nbatch n_batch num_samples batchsize",
    "T": "t l s seq seq_len sequence_length time length steps seqlen len tokens"
    " num_tokens n_tokens time_steps timesteps num_frames",
    "H": "h height image_size img_size frame_size", "W": "w width",
    "C": "c channels channel in_channels num_channels", "M": "num_mel_bins n_mels",
    "D": "depth", "N": "n nodes num_nodes n_nodes points num_points",
    "E": "e edges num_edges n_edges",
    "F": "f features feature dim d d_model hidden_size embed_dim hidden in_features"
    " hidden_dim embedding_dim embed_size feature_dim feature_size num_features",
}  # fmt: skip
LETTER_OF = {
    word: letter for letter, words in LETTERS.items() for word in words.split()
}

KINDS = (
    ("list", r"(List|list|Sequence|Iterable)\["),
    ("tuple", r"(Tuple|tuple)\["),
    ("whole", r"LongTensor|IntTensor|Int\[|Int64"),
    ("boolean", r"BoolTensor|Bool\["),
    ("tensor", r"Tensor|Float\["),
    ("dict", r"Dict|dict|Mapping"),
    ("bool", r"\bbool\b"),
    ("int", r"\bint\b"),
    ("float", r"\bfloat\b"),
    ("str", r"\bstr\b"),
)

ITEM = r"\s*[-\w.*/+\" ']+\s*"
SHAPE = re.compile(rf"[\[(]((?:{ITEM}[,x])*{ITEM},?)[\])]")


@dataclass(frozen=True, slots=True)
class DocumentedArguments:
    """The annotated type and the documented shapes of each argument."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, tuple[tuple[tuple[Dim, ...], str], ...]] = field(
        default_factory=dict
    )


def read_docstrings(
    called: Any, parameters: Mapping[str, Any], owner: Any, config: Any = None
) -> DocumentedArguments:
    """Read the annotations, the source and the docstrings of a callable.

    Words of shapes are settings of the owner, letters, or settings of the config.
    """
    annotations: dict[str, str] = {}
    shapes: dict[str, tuple[tuple[tuple[Dim, ...], str], ...]] = {}
    texts = list(_iter_texts(called, owner))
    for name, parameter in parameters.items():
        annotation = _format_annotation(parameter.annotation)
        for kind, pattern in KINDS:
            if annotation and re.search(pattern, annotation):
                annotations[name] = kind
                break
        if not re.fullmatch(r"\*?\w+", name):
            continue
        documented = list(_iter_shapes(name, annotation, texts, (owner, config)))
        if documented:
            shapes[name] = tuple(documented)
    return DocumentedArguments(annotations, shapes)


def _format_annotation(annotation: Any) -> str:
    """Return an annotation as text, or an empty string if there is none."""
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__name__
    return str(annotation)


def _iter_texts(called: Any, owner: Any) -> Iterator[str]:
    """Yield the docstrings of a function and its owner, and the function's comments."""
    function = inspect.unwrap(getattr(called, "__func__", called))
    for documented in (function, type(owner) if owner is not None else None):
        text = getattr(documented, "__doc__", None)
        module = getattr(documented, "__module__", None) or ""
        if text and module.split(".")[0] != "torch":
            yield inspect.cleandoc(text)
    written = get_function_text(function)
    if written is not None:
        yield _find_comments(written)


def _find_comments(text: SourceText) -> str:
    """Return the comments on parameters, and those on lines of their own."""
    if text.tree is None or not text.tree.body:
        return ""
    body = text.function.body[0].lineno if text.function is not None else 1
    comments = []
    for number, line in enumerate(text.text.splitlines(), start=1):
        code, mark, comment = line.partition("#")
        if not mark:
            continue
        name = re.match(r"\s*(?:def \w+\(self, )?(\w+)", code)
        if number < body and name:
            comments.append(f"{name[1]}: {comment}")
        elif not code.strip():
            comments.append(comment)
    return "\n".join(comments)


def _iter_shapes(
    name: str, annotation: str, texts: list[str], owners: tuple[Any, Any]
) -> Iterator[tuple[tuple[Dim, ...], str]]:
    """Yield the shapes that the annotation or a text documents for an argument."""
    for quoted in re.findall(r"[\"']([\w ]+)[\"']\]", annotation):
        dims = read_dims(quoted.split(), owners)
        if dims is not None:
            yield dims, f"`{name}` is annotated `{quoted}`"
    opening = rf"(?:^|[\s`*])\*?{re.escape(name)}\b[`*]*\s*(?:[:=\-]|of|is|has|\()?"
    for text in texts:
        for opened in re.finditer(opening + r"[^\n\[(]{0,60}(?=[\[(])", text):
            for written in SHAPE.finditer(text, opened.end()):
                if (
                    written.start() > opened.end() + 60
                    or "\n" in text[opened.end() : written.start()]
                ):
                    break
                inner = written[1].strip(" ,")
                dims = read_dims(inner.split("," if "," in inner else "x"), owners)
                if dims is not None:
                    yield dims, f"`{name}` is described as ({written[1].strip()})"
                    break


def read_dims(words: list[str], owners: tuple[Any, Any]) -> tuple[Dim, ...] | None:
    """Convert words to sizes and letters, or return None if they are not a shape."""
    words = [word.strip(" '\"") for word in words if word.strip(" '\"")]
    if not words or words == ["*"] or any(word in PROSE for word in words):
        return None
    dims = []
    for word in words:
        dim = _read_dim(word, *owners)
        if dim is None:
            return None
        dims.append("W" if dim == "H" and "H" in dims else dim)
    if all(type(dim) is int for dim in dims) and len(dims) < 2:
        return None
    return tuple(dims)


PROSE = frozenset("optional Tensor tensor torch.Tensor int float bool str None".split())


def _read_dim(word: str, owner: Any, config: Any) -> Dim | None:
    """Convert a word to a dim: a number, a setting of the model, or a letter."""
    if word.isdigit():
        return int(word)
    if "*" in word:
        parts = [_read_dim(part.strip(), owner, config) for part in word.split("*")]
        known = [part for part in parts if isinstance(part, int)]
        return prod(known) if len(known) == len(parts) else None
    if not re.fullmatch(r"[A-Za-z_]\w*", word):
        return None
    value = getattr(owner, "__dict__", {}).get(word)
    if type(value) is int and value > 0:
        return value
    value = find_setting(config, (word,)) if word == "num_frames" else None
    if value is not None:
        return value
    letter = LETTER_OF.get(word.lower())
    if letter is not None:
        return letter
    value = find_setting(config, (word,))
    if value is not None:
        return value
    return word.upper() if len(word) <= 2 else word
