"""Inputs found by what a model's config and the names of its arguments say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from shapewright.inputs.callables import make_loaded
from shapewright.inputs.python_files import ProgramFolder
from shapewright.inputs.search import Found, search_inputs


class Config:
    def __init__(self, **settings: int) -> None:
        self.__dict__.update(settings)


def found(model: nn.Module, config: Any = None) -> Found:
    loaded = make_loaded(model.to("meta"), "f", ProgramFolder(Path()), config=config)
    with loaded.program.running():
        result = search_inputs(loaded)
    assert result is not None
    return result


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv3d(3, 8, (2, 14, 14), (2, 14, 14))

    def forward(self, hidden_states: torch.Tensor, grid_thw: torch.Tensor) -> Any:
        t, h, w = grid_thw[0].tolist()
        patches = self.layer(hidden_states.view(-1, 3, 2, 14, 14))
        return patches.view(t, h // 2, 2, w // 2, 2, 8)


def test_a_grid_counts_the_patches() -> None:
    result = found(Patches())
    assert result.fits
    assert str(result.candidate.inputs) == "f32[16, 1176], i64[1, 3]=[[1, 4, 4]]"


class Large(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 8, 16, 16)

    def forward(self, pixel_values: Any, inputs_embeds: Any = None) -> Any:
        if pixel_values is None and inputs_embeds is None:
            raise ValueError("You have to specify either pixel_values or inputs_embeds")
        if pixel_values.shape[-1] < 896:
            raise ValueError("the image is too small")
        return self.layer(pixel_values)


def test_an_image_that_is_too_small_grows() -> None:
    result = found(Large())
    assert (str(result.candidate.inputs), result.runs) == ("f32[2, 3, 896, 896]", 2)


class Sound(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv1d(1, 8, 400, 160)

    def forward(self, input_values: torch.Tensor) -> Any:
        """Features of sound.

        input_values (`torch.Tensor` of shape `(batch_size, channels, sequence_length)`)
        """
        return self.layer(input_values)


def test_sound_is_a_second_long() -> None:
    result = found(Sound())
    assert (str(result.candidate.inputs), result.runs) == ("f32[2, 1, 16000]", 1)


class Spectrogram(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(1, 8, 16, 16)
        self.places = nn.Parameter(torch.zeros(1, 64, 8))

    def forward(self, input_values: torch.Tensor) -> Any:
        """Features of a spectrogram.

        input_values (`torch.Tensor` of shape `(batch_size, max_length, num_mel_bins)`)
        """
        made = self.layer(input_values.unsqueeze(1).transpose(2, 3))
        return made.flatten(2).transpose(1, 2) + self.places


def test_a_word_with_an_x_in_it_is_one_word() -> None:
    result = found(Spectrogram(), Config(max_length=128, num_mel_bins=128))
    assert (str(result.candidate.inputs), result.runs) == ("f32[2, 128, 128]", 1)


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state, self.reward = nn.Linear(17, 8), nn.Linear(1, 8)

    def forward(
        self,
        states: Any = None,
        mask: Any = None,
        extra: Any = None,
        returns: Any = None,
    ) -> Any:
        """Both are needed.

        states (`torch.Tensor` of shape `(batch_size, length, state_dim)`)
        returns (`torch.Tensor` of shape `(batch_size, length, 1)`)
        """
        made = self.reward(returns).relu() + self.state(states)
        return made if extra is None else made + extra


def test_dims_are_settings_and_what_may_be_left_out_is_given_where_it_is_used() -> None:
    result = found(Steps(), Config(state_dim=17))
    assert result.fits
    assert str(result.candidate.inputs) == "f32[B=2, T=16, 17], returns=f32[B, T, 1]"


class Pairs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(1, 8, 3)

    def forward(self, pixel_values: Any) -> Any:
        if pixel_values.ndim != 5 or pixel_values.shape[1] != 2:
            raise ValueError(
                "Input must be 5D: (batch_size, 2, channels, height, width)"
            )
        return self.layer(pixel_values[:, 0]), self.layer(pixel_values[:, 1])


def test_a_shape_that_a_message_writes_out_is_taken() -> None:
    result = found(Pairs())
    assert result.fits
    assert str(result.candidate.inputs) == "f32[2, 2, 1, 28, 28]"


class Session(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, session: Any) -> Any:
        return self.layer(session.frames())


def test_a_search_ends_where_nothing_changes_the_failure() -> None:
    result = found(Session())
    assert not result.fits
    assert result.runs <= 30
