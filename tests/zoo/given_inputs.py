"""Inputs that a person wrote down, for models for which the search finds none.

They follow the documentation and the tests of transformers itself, by model type. They
tell whether a model fails for want of an input or in the trace; the product never reads
them.
"""

from __future__ import annotations

IDS = "i64[1, 16]=ones"
IMAGE = "f32[1, 3, 224, 224]"

GIVEN = {
    "bark": IDS,
    "blip-2": f"{IMAGE}, {IDS}",
    "deepseek_v2": IDS,
    "edgetam": "f32[1, 3, 1024, 1024]",
    "edgetam_vision_model": "f32[1, 3, 1024, 1024]",
    "glm46v": IDS,
    "glm4v": IDS,
    "glm4v_moe": IDS,
    "glm4v_moe_text": IDS,
    "glm4v_text": IDS,
    "glm_image": IDS,
    "glm_image_text": IDS,
    "glm_image_vqmodel": "f32[1, 3, 64, 64]",
    "glmga": IDS,
    "instructblip": f"{IMAGE}, {IDS}, input_ids={IDS}",
    "instructblipvideo": f"f32[1, 4, 3, 224, 224], {IDS}, input_ids={IDS}",
    "lightglue": "f32[1, 2, 1, 28, 28]",
    "lw_detr": "f32[1, 3, 640, 640]",
    "minicpm_ocr_vision": "f32[1, 3, 224, 224], i64[1, 2]=14",
    "minicpmv4_7_vision": "f32[1, 3, 224, 224], i64[1, 2]=14",
    "pi0": "f32[1, 51, 1024], i64[1, 272]=ones, f32[1, 1, 3, 224, 224],"
    " pixel_attention_mask=i64[1, 1]=ones",
    "pp_ocrv6_small_det": "f32[1, 3, 640, 640]",
    "qwen3_omni_moe_thinker": IDS,
    "step3p7": IDS,
    "uvdoc": "f32[1, 3, 712, 488]",
}
