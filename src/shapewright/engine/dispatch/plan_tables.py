"""Tables of torch functions: sizes, views, factories, reads, and wrong kernels.

Where kernels err is generated from torch's own operator samples
(`meta_disagrees.json`, made by `tests/zoo`), for the version of torch that it names.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import torch

PASS = frozenset("""
    size dim ndim ndimension stride numel nelement shape is_contiguous
    is_floating_point is_complex is_signed is_inference element_size itemsize nbytes
    storage_offset __len__ layout is_sparse is_sparse_csr is_nested is_quantized
    is_mkldnn is_vulkan is_mps is_maia is_mtia is_xla is_ort is_ipu is_neg is_conj
    is_tensor is_storage is_same_size promote_types result_type can_cast is_nonzero_
    broadcast_shapes names name device_count get_default_dtype qscheme sparse_dim
    dense_dim is_coalesced _version output_nr has_names is_distributed is_set_to
    data_ptr _typed_storage untyped_storage storage _cdata _base __hash__ __dir__
    __dlpack_device__ get_rng_state set_rng_state
    is_shared retains_grad _backward_hooks _post_accumulate_grad_hooks grad_dtype
    _backward_hooks_ are_deterministic_algorithms_enabled _parse_to
""".split())  # fmt: skip
"""Metadata reads whose answer is the same for the stand-in."""


VIEWS = frozenset("""
    view view_as reshape reshape_as transpose swapaxes swapdims t T mT H mH permute
    movedim moveaxis expand expand_as broadcast_to squeeze unsqueeze flatten
    unflatten ravel narrow select slice split chunk unbind tensor_split hsplit
    vsplit dsplit split_with_sizes unsafe_split unsafe_chunk diagonal unfold
    contiguous detach data real imag view_as_real view_as_complex as_strided type_as
    alias positive resolve_conj resolve_neg conj adjoint broadcast_tensors
    atleast_1d atleast_2d atleast_3d float double half bfloat16 int long short char
    byte bool cfloat cdouble chalf requires_grad_ diag_embed_ linalg_diagonal
    select_scatter_ squeeze_multiple unflatten_dense_tensors swapdims_
    view_as_real_copy_ type values_ indices_ align_to __reversed___ slice_inverse
""".split())  # fmt: skip
"""Functions that may return a view of an input, so torch runs every call."""

FACTORIES = frozenset("""
    zeros ones full empty rand randn randint arange range linspace logspace tensor
    as_tensor asarray frombuffer scalar_tensor eye tril_indices triu_indices randperm
    empty_strided empty_permuted hann_window hamming_window blackman_window
    bartlett_window kaiser_window from_numpy fftfreq rfftfreq fft_fftfreq
    fft_rfftfreq zeros_like ones_like full_like empty_like rand_like randn_like
    randint_like new_zeros new_ones new_full new_empty new_tensor new_empty_strided
    new
""".split())  # fmt: skip

DATA = frozenset("tensor as_tensor asarray from_numpy frombuffer".split())
"""Factories that take their values from the program."""

BLANK_FACTORIES = frozenset(
    "empty empty_strided empty_permuted empty_like new_empty new_empty_strided".split()
)
"""Factories of uninitialized memory: values are never known."""

LIKE = frozenset("""
    zeros_like ones_like full_like empty_like rand_like randn_like randint_like
    new_zeros new_ones new_full new_empty new_empty_strided
""".split())  # fmt: skip
"""Factories whose values follow from the arguments, not from the given tensor."""

RANDOM = frozenset("""
    rand randn randint randperm rand_like randn_like randint_like bernoulli
    bernoulli_ normal normal_ uniform_ random_ exponential_ geometric_ cauchy_
    log_normal_ multinomial poisson dropout dropout_ alpha_dropout alpha_dropout_
    feature_dropout feature_alpha_dropout dropout1d dropout2d dropout3d rrelu rrelu_
    native_dropout gumbel_softmax binomial _standard_gamma _sample_dirichlet
""".split())  # fmt: skip

FILLING = frozenset("""
    uniform_ normal_ random_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_
    fill_ zero_ copy_
""".split())  # fmt: skip
"""Functions that overwrite every element."""

OF_NUMBERS = frozenset(
    "add sub subtract mul multiply div divide true_divide floor_divide".split()
)
"""Functions that also take plain numbers and return a CPU tensor."""

READS = frozenset("""
    item tolist numpy __bool__ __int__ __float__ __index__ __complex__ __contains__
    equal allclose is_nonzero __array__ __format__ __repr__ __str__ __dlpack__
    _local_scalar_dense cpu_numpy
""".split())  # fmt: skip
"""Functions that return a Python value."""

DATA_DEPENDENT = frozenset("""
    nonzero argwhere masked_select unique unique_consecutive bincount _unique2
    unique_dim repeat_interleave where combinations _pack_padded_sequence
    _pad_packed_sequence
""".split())  # fmt: skip
"""Functions whose result shape depends on values."""

NAMED_OTHERWISE = {"ReshapeAliasBackward0": "ViewBackward0"}
"""Node names of real tensors, and their names for data-free tensors."""

RESHAPES = frozenset({"reshape", "reshape_as", "flatten", "ravel"})

RESHAPED_IN_PLACE = frozenset("""
    t_ transpose_ swapaxes_ swapdims_ squeeze_ unsqueeze_ resize_ resize_as_ as_strided_
    set_ detach_ requires_grad_ rename_
""".split())  # fmt: skip
"""Functions that change the tensor object, so they run on the program's own."""

CUTS = frozenset({"detach", "data"})
"""Functions whose views never require grad."""

DEVICE_READS = frozenset(
    "device is_cuda is_cpu is_meta is_xpu get_device is_hpu".split()
)

MOVES = frozenset("to cuda cpu xpu hpu ipu pin_memory".split())

GRADIENT = frozenset("""
    backward grad register_hook retain_grad register_post_accumulate_grad_hook
""".split())  # fmt: skip
"""Functions that need torch's graph: the program is rerun in graph mode."""


TAKES_VALUES = frozenset(
    "lstm gru rnn_tanh rnn_relu _pad_packed_sequence ctc_loss tensor_split".split()
)
"""Functions whose kernels read integers (lengths, batch sizes) even without data."""


WRONG = frozenset({"stride", "shape", "dtype", "alias", "accepts-error"})
"""Kinds of disagreement in which the data-free kernel answers, and answers wrongly."""

_kinds: dict[Any, frozenset[str]] = {}


def wrong_in(func: Any) -> frozenset[str]:
    """Return the kinds of error of a function's data-free kernel; mostly none."""
    if not _kinds:
        _read()
    try:
        return _kinds.get(func, frozenset())
    except TypeError:
        return frozenset()


def _read() -> None:
    text = (files("shapewright.engine.dispatch") / "meta_disagrees.json").read_text()
    for name, entries in json.loads(text)["functions"].items():
        kinds = frozenset(kind for entry in entries for kind in entry["kinds"]) & WRONG
        if not kinds:
            continue
        dotted = name if name.startswith("torch.") else f"torch.{name}"
        last = dotted.rpartition(".")[2]
        for place in (
            dotted, f"torch.Tensor.{last}", f"torch.{last}", f"torch.Tensor.{last}_"
        ):  # fmt: skip
            found: Any = torch
            for part in place.split(".")[1:]:
                found = getattr(found, part, None)
            if found is not None:
                _kinds[found] = kinds
    _kinds.setdefault(None, frozenset())
