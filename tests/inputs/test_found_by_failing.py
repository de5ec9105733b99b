"""What a failed run says leads to inputs, however far the failure is from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from shapewright.inputs.callables import make_loaded
from shapewright.inputs.python_files import ProgramFolder
from shapewright.inputs.search import Found, search_inputs


def found(model: nn.Module) -> Found:
    """What is found for a model."""
    loaded = make_loaded(model.eval(), "model", ProgramFolder(Path()))
    with loaded.program.running():
        result = search_inputs(loaded)
    assert result is not None
    return result


class Patched(nn.Module):
    """Cuts a series, and where it is padded, into stretches of 32."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 8)

    def forward(self, series: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        """series (`torch.Tensor` of shape `(batch_size, length)`)

        padding (`torch.Tensor` of shape `(batch_size, length)`)
        """
        cut = series.view(series.shape[0], -1, 32)
        return self.layer(cut) * padding.view(series.shape[0], -1, 32).mean(-1, True)


def test_a_length_is_a_multiple_of_what_a_view_asks_for() -> None:
    result = found(Patched())
    assert result.fits
    assert str(result.candidate.inputs) == "f32[B=2, T=32], f32[B, T]"


class Joined(nn.Module):
    """Features as many as the steps that 600 calls make of a sound."""

    def __init__(self) -> None:
        super().__init__()
        self.sound = nn.Conv1d(1, 8, 320, 320)
        self.norm = nn.LayerNorm(24)

    def forward(self, waveform: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        steps = self.sound(waveform)
        for _ in range(600):
            steps = steps + 1
        return torch.cat([steps, self.norm(features).transpose(1, 2)], dim=1)


def test_a_way_back_of_many_calls_is_followed() -> None:
    result = found(Joined())
    assert result.fits
    waveform, features = (each.shape for each in result.candidate.inputs.leaves)
    assert waveform[-1] // 320 == features[1]
    assert features[2] == 24


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 8)

    def forward(self, input_ids: Any = None, inputs_embeds: Any = None) -> torch.Tensor:
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("You must specify exactly one of input_ids or embeds")
        return self.table(input_ids) if inputs_embeds is None else inputs_embeds


class Transcriber(nn.Module):
    """Its documentation is wrong about features; the decoder has its own words."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(40, 8)
        self.decoder = Decoder()

    def forward(
        self,
        input_features: torch.Tensor,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_embeds: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """input_features (`torch.Tensor` of shape `(batch_size, length)`)"""
        hidden = self.encoder(input_features)
        read = self.decoder(decoder_input_ids, decoder_embeds)
        return read @ hidden.transpose(1, 2)


def test_what_an_inner_module_misses_is_what_is_handed_to_it() -> None:
    result = found(Transcriber())
    assert result.fits
    assert "decoder_input_ids" in str(result.candidate.inputs) or "i64" in str(
        result.candidate.inputs
    )
    assert result.runs <= 20


class Film(nn.Module):
    """Eight frames have places; how many is nowhere but in the table."""

    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Conv2d(3, 16, 32, 32)
        self.places = nn.Parameter(torch.zeros(1, 8, 16))

    def forward(self, video: torch.Tensor) -> torch.Tensor:
        batch, frames, channels, height, width = video.shape
        seen = self.image(video.reshape(-1, channels, height, width)).mean((2, 3))
        return seen.view(batch, frames, -1) + self.places


def test_a_letter_of_the_wrong_size_is_changed_alone() -> None:
    result = found(Film())
    assert result.fits
    assert result.candidate.inputs.leaves[0].shape[1] == 8


class Stepping(nn.Module):
    """Makes many calls, and none of them fails."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(45_000):
            x = x + 1
        return self.layer(x)


def test_a_model_of_many_calls_is_waited_for() -> None:
    result = found(Stepping())
    assert result.fits
    assert result.runs == 2


class Spoken(nn.Module):
    """Tokens behind names that say nothing; images and settings may be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Conv2d(3, 8, 16, 16)
        self.weight = nn.Parameter(torch.zeros(50, 8))

    def looked_up(self, places: Any) -> torch.Tensor:
        return nn.functional.embedding(*[places, self.weight])

    def forward(self, a: Any = None, b: Any = None, c: Any = None) -> torch.Tensor:
        if a is None:
            raise ValueError("You must specify input_ids")
        if c is not None and c["image"] is not None:
            return self.tower(c["image"])
        made = self.looked_up(a)
        _batch, _length, _width = made.shape
        return made if b is None else made + b


def test_tokens_are_rows_of_numbers_whatever_they_are_called() -> None:
    result = found(Spoken())
    assert result.fits
    assert str(result.candidate.inputs) == "i64[2, 16]=0..50"


class Cut(nn.Module):
    """A patch has as many numbers as two settings of the config say, multiplied."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3 * 24 * 24, 8)

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        """patches (`torch.Tensor` of shape `(count, size * merge, size * merge, 3)`)"""
        return self.layer(patches.reshape(-1, 3 * 24 * 24))


class Sizes:
    def __init__(self) -> None:
        self.size, self.merge = 12, 2


def test_a_product_of_settings_is_a_dim() -> None:
    model = Cut().eval()
    loaded = make_loaded(model, "model", ProgramFolder(Path()))
    with loaded.program.running():
        result = search_inputs(replace(loaded, config=Sizes()))
    assert result is not None
    assert result.fits
    assert result.runs == 1
    assert str(result.candidate.inputs) == "f32[16, 24, 24, 3]"


class Slope(nn.Module):
    """Time is joined to the state before the first layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 2))

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        time = torch.zeros(state.shape[0], 1)
        return state + self.layers(torch.cat([state, time], dim=1))


def test_what_is_joined_to_an_input_is_taken_off_its_size() -> None:
    result = found(Slope())
    assert result.fits
    assert str(result.candidate.inputs) == "f32[2, 2]"


class Windowed(nn.Module):
    """Five halvings, then windows of 2 x 2: 224 leaves 7, and 256 leaves 8."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 96, 4, stride=4)
        self.middle = nn.Conv2d(96, 144, 2, stride=2)
        self.last = nn.Conv2d(144, 192, 4, stride=4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.last(self.middle(self.stem(x)))
        batch, width, rows, columns = x.shape
        if rows % 2 or columns % 2:
            raise ValueError(
                f"while processing 'b d (h 2) (w 2)': shape is {list(x.shape)}, "
                f"additional sizes are 2, 2; cannot divide axis of length {rows} by 2"
            )
        return x.view(batch, width, -1, 4).mean(-1)


def test_an_image_that_is_not_divided_gets_a_side_of_many_halves() -> None:
    result = found(Windowed())
    assert result.fits
    assert str(result.candidate.inputs) == "f32[2, 3, 256, 256]"
