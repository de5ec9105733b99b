"""What names of arguments that libraries share nearly always mean."""

from __future__ import annotations

from typing import Any

from shapewright.inputs.finding.hypothesis import Tensor

TOKENS = Tensor(("B", "T"), "int64", "ones")
ONES = Tensor(("B", "T"), "int64", "ones")
ZEROS = Tensor(("B", "T"), "int64", "zeros")
IMAGE = Tensor(("B", "C", "H", "W"))
STEP = Tensor(("B",), "int64", "1")
SOUND = Tensor(("B", "A"))
NODES = Tensor(("N", "F"))

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


def meaning(name: str) -> Any:
    """What a name means, by its end if not by itself; None where it says nothing."""
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
