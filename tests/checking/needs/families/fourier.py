"""Fourier transforms that torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import fft

from checking.needs.breaking import Call, call
from checking.needs.families import family


@family("transforms along one dim")
def one() -> Iterator[Call]:
    x, z = torch.ones(3, 5), torch.ones(3, 5, dtype=torch.complex64)
    for function in (fft.fft, fft.ifft, fft.irfft, fft.hfft):
        yield call(function, x)
        yield call(function, z, 4, 0)
    for function in (fft.rfft, fft.ihfft):
        yield call(function, x)
        yield call(function, torch.ones(2, 3, 4), n=6, dim=1)


@family("transforms along several dims")
def several() -> Iterator[Call]:
    x, z = torch.ones(2, 3, 5), torch.ones(2, 3, 5, dtype=torch.complex64)
    for function in (fft.fft2, fft.ifft2, fft.irfft2, fft.hfft2):
        yield call(function, x)
        yield call(function, z, (4, 4))
        yield call(function, z, s=(4, 6), dim=(0, 2))
    for function in (fft.rfft2, fft.ihfft2):
        yield call(function, x, (4, 4), (0, 1))
    for function in (fft.fftn, fft.ifftn, fft.irfftn, fft.hfftn):
        yield call(function, x, s=(2, 4))
        yield call(function, z, dim=(0, 2))
    for function in (fft.rfftn, fft.ihfftn):
        yield call(function, x, (3, 3), (1, 2))


@family("shifts")
def shifts() -> Iterator[Call]:
    for function in (fft.fftshift, fft.ifftshift):
        yield call(function, torch.ones(2, 3))
        yield call(function, torch.ones(2, 3, 4), (0, 2))
        yield call(function, torch.ones(2, 3, 4), 1)


@family("spectrograms")
def spectrograms() -> Iterator[Call]:
    x, window = torch.ones(2, 40), torch.hann_window(8)
    yield call(torch.stft, x, 8, 2, 8, window, return_complex=True)
    yield call(torch.stft, x[0], 8, window=window, return_complex=True)
    yield call(torch.stft, x, 12, 4, 8, window, center=False, return_complex=True)
    z = torch.stft(x, 8, 2, window=window, return_complex=True)
    yield call(torch.istft, z, 8, 2, window=window)
    yield call(torch.istft, z[0], 8, 2, 8, window)
