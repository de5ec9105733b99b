"""librosa: sounds, their spectra and filters, as arrays of zeros.

Arguments may stand without their names, as before version 0.10: which version the
program is written for is not known.
"""

from __future__ import annotations

from typing import Any

SOURCE = "signatures of https://librosa.org/doc, 0.11"
VERSION = "0.11.0"
RATE = 22_050
SECONDS = 5


def _zeros(*shape: int, dtype: Any = "float32") -> Any:
    import numpy

    return numpy.zeros(shape, dtype)


def load(
    path: Any, sr: float | None = RATE, mono: bool = True, offset: float = 0.0,
    duration: float | None = None, dtype: Any = "float32", res_type: str = "soxr_hq",
) -> tuple[Any, float]:  # fmt: skip
    """Return (samples,) of zeros, and the samples in a second."""
    rate = sr or RATE
    return _zeros(int(rate * (duration or SECONDS)), dtype=dtype), rate


def get_duration(*, y: Any = None, sr: float = RATE, **kwargs: Any) -> float:
    """y (..., samples): its seconds."""
    return float(SECONDS if y is None else y.shape[-1] / sr)


def resample(y: Any, orig_sr: float, target_sr: float, **kwargs: Any) -> Any:
    """y (..., samples): (..., samples * target_sr / orig_sr)."""
    samples = -int(-y.shape[-1] * target_sr // orig_sr)
    return _zeros(*y.shape[:-1], samples, dtype=y.dtype)


def keep(S: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what has the shape of its first argument."""
    return S


def trim(y: Any, **kwargs: Any) -> tuple[Any, Any]:
    """y (..., samples): y, with its first and last sample."""
    import numpy

    return y, numpy.array([0, y.shape[-1]])


def _count_frames(y: Any, n_fft: int, hop_length: int, center: bool) -> int:
    samples = y.shape[-1] + (2 * (n_fft // 2) if center else 0)
    if samples < n_fft:
        raise ValueError(f"n_fft={n_fft} is too large for input of {y.shape[-1]}")
    return int(1 + (samples - n_fft) // hop_length)


def stft(
    y: Any, n_fft: int = 2048, hop_length: int | None = None,
    win_length: int | None = None, window: Any = "hann", center: bool = True,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """y (..., samples): (..., 1 + n_fft / 2, frames), complex."""
    hop = hop_length or (win_length or n_fft) // 4
    frames = _count_frames(y, n_fft, hop, center)
    return _zeros(*y.shape[:-1], 1 + n_fft // 2, frames, dtype="complex64")


def istft(
    stft_matrix: Any, hop_length: int | None = None, win_length: int | None = None,
    n_fft: int | None = None, length: int | None = None, center: bool = True,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """stft_matrix (..., 1 + n_fft / 2, frames): (..., samples)."""
    size = n_fft or 2 * (stft_matrix.shape[-2] - 1)
    hop = hop_length or (win_length or size) // 4
    samples = size + hop * (stft_matrix.shape[-1] - 1)
    if center:
        samples -= 2 * (size // 2)
    return _zeros(*stft_matrix.shape[:-2], length or samples)


def melspectrogram(
    y: Any = None, sr: float = RATE, S: Any = None, n_fft: int = 2048,
    hop_length: int = 512, n_mels: int = 128, center: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """y (..., samples): (..., n_mels, frames)."""
    if S is not None:
        return _zeros(*S.shape[:-2], n_mels, S.shape[-1])
    frames = _count_frames(y, n_fft, hop_length, center)
    return _zeros(*y.shape[:-1], n_mels, frames)


def mfcc(y: Any = None, n_mfcc: int = 20, S: Any = None, **kwargs: Any) -> Any:
    """y (..., samples): (..., n_mfcc, frames)."""
    return melspectrogram(y=y, S=S, n_mels=n_mfcc, **kwargs)


def mel(
    sr: float, n_fft: int, n_mels: int = 128, fmin: float = 0.0,
    fmax: float | None = None, dtype: Any = "float32", **kwargs: Any,
) -> Any:  # fmt: skip
    """Return (n_mels, 1 + n_fft / 2)."""
    return _zeros(n_mels, 1 + n_fft // 2, dtype=dtype)


def pad_center(data: Any, size: int, axis: int = -1, **kwargs: Any) -> Any:
    """data (..., n): (..., size), with zeros on both sides."""
    import numpy

    lengths, count = [(0, 0)] * data.ndim, data.shape[axis]
    left = (size - count) // 2
    if left < 0:
        raise ValueError(f"Target size ({size}) must be at least input size ({count})")
    lengths[axis] = (left, size - count - left)
    return numpy.pad(data, lengths)


def fix_length(data: Any, size: int, axis: int = -1, **kwargs: Any) -> Any:
    """data (..., n): (..., size), cut or with zeros at its end."""
    import numpy

    count = data.shape[axis]
    if count >= size:
        return numpy.take(data, numpy.arange(size), axis)
    lengths = [(0, 0)] * data.ndim
    lengths[axis] = (0, size - count)
    return numpy.pad(data, lengths)


def tiny(x: Any) -> float:
    """Return the smallest number of a dtype."""
    return 1.1754944e-38


_UTIL = {
    "normalize": keep, "pad_center": pad_center, "fix_length": fix_length, "tiny": tiny,
}  # fmt: skip
_DECIBELS = {
    "amplitude_to_db": keep, "power_to_db": keep, "db_to_amplitude": keep,
    "db_to_power": keep,
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {
        "load": load, "resample": resample, "stft": stft, "istft": istft,
        "get_duration": get_duration, **_DECIBELS,
    },
    "util": _UTIL, "util.utils": _UTIL, "filters": {"mel": mel},
    "effects": {"trim": trim, "preemphasis": keep},
    "feature": {"melspectrogram": melspectrogram, "mfcc": mfcc},
    "core": {"load": load, "resample": resample, "stft": stft, "istft": istft},
}  # fmt: skip
