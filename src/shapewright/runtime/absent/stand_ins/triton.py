"""triton: kernels that are launched on a grid; what they write into is passed to them.

A kernel is not run: its tensors keep their shapes, and the values of those that it
stores in are not known afterwards. What is checked is what a launch checks: arguments,
the grid, options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor

from shapewright.runtime.absent.stand_ins._kernel_outputs import find_outputs

SOURCE = "signatures of https://triton-lang.org/main/python-api, 3.4"
VERSION = "3.4.0"
OPTIONS = frozenset({
    "num_warps", "num_stages", "num_ctas", "maxnreg", "ir_override", "debug",
    "cluster_dims", "ptx_version", "enable_fp_fusion", "extern_libs",
    "sanitize_overflow",
    "launch_cooperative_grid", "launch_pdl", "waves_per_eu", "matrix_instr_nonkdim",
    "kpack", "allow_fp8e4nv", "max_num_imprecise_acc_default", "warp_size", "arch",
    "num_consumer_groups", "num_buffers_warp_spec", "allowed_dot_input_precisions",
    "default_dot_input_precision", "supported_fp8_dtypes", "instrumentation_mode",
})  # fmt: skip
"""Keyword arguments of a launch that are no parameters of the kernel."""
MOST = (2**31 - 1, 65535, 65535)
"""The most programs in each dim of a grid, as in CUDA."""


class _Kernel:
    """A function that `kernel[grid](...)` launches, or a wrapper around one."""

    fn: Any

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Return what launches the kernel on a grid."""
        return lambda *args, **kwargs: self.run(
            *args, grid=grid, warmup=False, **kwargs
        )

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """Launch the kernel."""
        raise NotImplementedError


class JITFunction(_Kernel):
    """A kernel."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.signature = inspect.signature(fn)
        self.arg_names = list(self.signature.parameters)
        self.outputs = find_outputs(fn)
        self.__name__, self.__doc__ = fn.__name__, fn.__doc__
        self.__module__ = fn.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """Check a launch; return None."""
        known = {k: v for k, v in kwargs.items() if k in self.arg_names}
        for name in kwargs:
            if name not in known and name not in OPTIONS:
                raise KeyError(
                    f"Keyword argument {name} was specified but unrecognised"
                )
        bound = self.signature.bind(*args, **known)
        bound.apply_defaults()
        _require_arguments(bound.arguments)
        if warmup:
            return None
        assert grid is not None
        sizes = grid(bound.arguments) if callable(grid) else grid
        _require_grid(tuple(sizes))
        for name, value in bound.arguments.items():
            if name in self.outputs and isinstance(value, Tensor):
                fresh = torch.empty(value.shape, dtype=value.dtype, device=value.device)
                value.data.copy_(fresh)
        return None

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """Check the arguments of a launch."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)


def _require_arguments(arguments: dict[str, Any]) -> None:
    """Refuse tensors on the CPU beside others, and arguments that are no numbers."""
    tensors = [value for value in arguments.values() if isinstance(value, Tensor)]
    on_cpu = [tensor.device.type == "cpu" for tensor in tensors]
    if any(on_cpu) and not all(on_cpu):
        place = on_cpu.index(True)
        raise ValueError(
            f"Pointer argument (at {place}) cannot be accessed from Triton "
            "(cpu tensor?)"
        )
    for value in arguments.values():
        if isinstance(value, list | dict | set):
            raise TypeError(f"Unsupported type: {type(value)}")


def _require_grid(sizes: tuple[Any, ...]) -> None:
    """Refuse a grid that has not one to three sizes, or sizes that are no integers."""
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"a grid has one to three sizes, got {len(sizes)}")
    for size, most in zip(sizes, MOST, strict=False):
        if isinstance(size, float):
            raise TypeError("'float' object cannot be interpreted as an integer")
        if isinstance(size, int) and size > most:
            raise RuntimeError("Triton Error [CUDA]: invalid argument")


class Config:
    """A choice of the parameters of a kernel for `autotune`."""

    def __init__(
        self, kwargs: dict[str, Any], num_warps: int = 4, num_stages: int = 3,
        num_ctas: int = 1, maxnreg: int | None = None, pre_hook: Any = None,
        ir_override: str | None = None,
    ) -> None:  # fmt: skip
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages
        self.num_ctas, self.maxnreg, self.pre_hook = num_ctas, maxnreg, pre_hook
        self.ir_override = ir_override

    def all_kwargs(self) -> dict[str, Any]:
        """Return what is passed to a launch."""
        options = {
            "num_warps": self.num_warps, "num_ctas": self.num_ctas,
            "num_stages": self.num_stages, "maxnreg": self.maxnreg,
            "ir_override": self.ir_override,
        }  # fmt: skip
        return self.kwargs | {k: v for k, v in options.items() if v is not None}


class _Autotuner(_Kernel):
    """A kernel with choices; the first is taken."""

    def __init__(self, fn: Any, configs: list[Config], key: list[str]) -> None:
        self.fn, self.keys = fn, key
        self.configs = configs or [Config({}, num_warps=4, num_stages=3, num_ctas=1)]
        self.arg_names = fn.arg_names
        self.best_config = self.configs[0]

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch the kernel with the first choice."""
        twice = kwargs.keys() & self.best_config.kwargs.keys()
        if twice:
            raise ValueError(
                f"Conflicting meta-parameters: {', '.join(sorted(twice))}. Make sure "
                "that you don't re-define auto-tuned symbols."
            )
        if self.best_config.pre_hook is not None:
            arguments = dict(zip(self.arg_names, args, strict=False))
            self.best_config.pre_hook(
                {**arguments, **kwargs, **self.best_config.all_kwargs()}
            )
        return self.fn.run(
            *args, grid=grid, warmup=warmup, **kwargs, **self.best_config.all_kwargs()
        )


class _Heuristics(_Kernel):
    """A kernel some of whose parameters are computed from the others."""

    def __init__(self, fn: Any, values: dict[str, Callable[..., Any]]) -> None:
        self.fn, self.values, self.arg_names = fn, values, fn.arg_names

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Compute the parameters and launch the kernel."""
        for name, compute in self.values.items():
            arguments = dict(zip(self.arg_names, args, strict=False))
            kwargs[name] = compute({**arguments, **kwargs})
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)


def jit(
    fn: Any = None, *, version: Any = None, repr: Any = None,
    launch_metadata: Any = None, do_not_specialize: Any = None,
    do_not_specialize_on_alignment: Any = None, debug: bool | None = None,
    noinline: bool | None = None,
) -> Any:  # fmt: skip
    """Make a kernel of a function."""
    return JITFunction if fn is None else JITFunction(fn)


def autotune(
    configs: list[Config], key: list[str], prune_configs_by: Any = None,
    reset_to_zero: Any = None, restore_value: Any = None, pre_hook: Any = None,
    post_hook: Any = None, warmup: Any = None, rep: Any = None,
    use_cuda_graph: bool = False, do_bench: Any = None, cache_results: bool = False,
) -> Callable[[Any], Any]:  # fmt: skip
    """Choose parameters of a kernel: the first choice."""
    return lambda fn: _Autotuner(fn, configs, key)


def heuristics(values: dict[str, Callable[..., Any]]) -> Callable[[Any], Any]:
    """Compute parameters of a kernel from its arguments."""
    return lambda fn: _Heuristics(fn, values)


def cdiv(x: int, y: int) -> int:
    """Return x / y, rounded up."""
    return (x + y - 1) // y


def next_power_of_2(n: int) -> int:
    """Return the smallest power of two that is n or more."""
    return 1 << max(n - 1, 0).bit_length() if n > 0 else 0


class constexpr:
    """A parameter that is known when a kernel is compiled, or a value of one."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __index__(self) -> int:
        return int(self.value)

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls


class _Language:
    """A name of ``triton.language``, which has a meaning in kernels only."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"triton.language.{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            "Did you forget to add @triton.jit ? (`_semantic` argument must be provided"
            " outside of JIT functions.)"
        )


class _Type(_Language):
    """A kind of types, as in ``tl.pointer_type(tl.int64)``, also outside a kernel."""

    def __call__(self, *args: Any, **kwargs: Any) -> _Language:
        return _Language(f"{self.name}({', '.join(map(repr, args))})")


_DTYPES = (
    "int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float8e4nv", "float8e5", "float16", "bfloat16", "float32", "float64", "void",
)  # fmt: skip
_OPERATORS = (
    "program_id", "num_programs", "arange", "load", "store", "zeros", "zeros_like",
    "full", "dot", "sum", "max", "min", "argmax", "argmin", "softmax", "sigmoid", "exp",
    "exp2", "log", "log2", "sqrt", "rsqrt", "abs", "sin", "cos", "erf", "floor", "ceil",
    "where", "maximum", "minimum", "clamp", "cat", "join", "split", "reshape", "view",
    "trans", "permute", "broadcast_to", "expand_dims", "ravel", "cumsum", "cumprod",
    "associative_scan", "reduce", "sort", "flip", "histogram", "gather", "atomic_add",
    "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg", "atomic_and", "atomic_or",
    "atomic_xor", "rand", "randn", "randint", "philox", "make_block_ptr", "advance",
    "make_tensor_descriptor", "multiple_of", "max_contiguous", "max_constancy",
    "assume", "static_range", "range", "static_print", "static_assert", "device_print",
    "device_assert", "debug_barrier", "inline_asm_elementwise", "swizzle2d", "umulhi",
    "fma", "fdiv", "div_rn", "sqrt_rn", "xor_sum", "interleave", "cast", "dot_scaled",
    "tensor", "math", "extra",
)  # fmt: skip
_CORE: dict[str, Any] = {
    **{name: _Language(name) for name in (*_DTYPES, *_OPERATORS)},
    **{name: _Type(name) for name in ("pointer_type", "block_type", "dtype")},
    "constexpr": constexpr, "cdiv": cdiv,
}  # fmt: skip
_RUNTIME = {"JITFunction": JITFunction, "Config": Config, "autotune": autotune,
            "heuristics": heuristics}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {**_RUNTIME, "jit": jit, "cdiv": cdiv, "next_power_of_2": next_power_of_2},
    "language": _CORE,
    "language.math": {}, "language.extra": {}, "language.extra.libdevice": {},
    "runtime": _RUNTIME, "runtime.jit": {"JITFunction": JITFunction, "jit": jit},
    "runtime.autotuner": {"Config": Config, "autotune": autotune}, "testing": {},
}  # fmt: skip
