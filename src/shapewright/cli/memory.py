"""`shapewright memory`: what a step takes, before any of it is allocated."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from shapewright.cli import child_process, output, result_files
from shapewright.cli import parser as shared
from shapewright.cli.parser import Parser, Unusable

if TYPE_CHECKING:
    from shapewright.record.memory import Memory

SUMMARY = "what a training step or a forward pass takes, and whether it fits"

DESCRIPTION = """\
Run two steps of TARGET (forward, backward, optimizer) with tensors that hold no data,
and say what the second takes: the peak, what lives at it and at which lines, what
torch's allocator reserves for it on a GPU, and whether that fits.

The loss is the sum of the means of all outputs, the output's own `loss`, or a number
that TARGET returns. TARGET is what `shapewright trace` takes, except scripts.
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `shapewright memory`."""
    add = parser.add_argument
    shared.add_specs(parser)
    add(
        "--optimizer",
        default="adamw",
        metavar="NAME",
        help="an optimizer of torch in small letters, with options: "
        "`sgd(momentum=0.9)`; or `none` (default: adamw)",
    )
    add(
        "--autocast",
        metavar="DTYPE",
        help="bf16 or fp16: run forward and the loss under `torch.autocast`; what "
        "TARGET itself does is followed anyway",
    )
    shared.add_mode(parser)
    add(
        "--device",
        metavar="D",
        help='whose kernels run: cpu, "H100 80GB", "A100 40GB", "RTX 4090", T4, H200, '
        '"M3 Max 64GB" and others, or a file that describes a GPU, gpu.toml (default: '
        "cpu)",
    )
    add(
        "--fits",
        metavar="D",
        help="the same as --device, with exit code 1 if the step does not surely fit",
    )
    add(
        "--largest-batch",
        action="store_true",
        help="find the largest batch that fits on the device, in at most six runs",
    )
    add(
        "--generate",
        type=int,
        default=0,
        metavar="N",
        help="instead of a step, generate N tokens after the prompt that -i gives, by "
        "a model that returns its cache, and say what the cache takes",
    )
    add(
        "--formula",
        action="store_true",
        help="say the bytes at the peak as a formula in the letters of -i, by a few "
        "runs more",
    )
    add(
        "--what-if",
        action="append",
        metavar="CHANGES",
        help="run the step with changes as well, as in `bf16`, `checkpoint:Block`, "
        "`batch=64`, `accumulate=4`, `no-foreach`, `offload-optimizer`, `sgd`; commas "
        "join them, and the option may stand several times; without a value, those "
        "that may help",
    )
    add(
        "--format",
        choices=shared.list_formats("memory"),
        help="lines and bars, or versioned JSON (default: text, or what the ending of "
        "-o says)",
    )
    shared.add_file(parser, "memory")
    shared.add_display(parser, "no progress line")
    shared.add_timeout(parser, "stop after S seconds")
    shared.add_files(parser)
    shared.add_target(parser)


def run(options: argparse.Namespace) -> int:
    """Run the steps, print what they take, and return the exit code."""
    if options.device and options.fits and options.device != options.fits:
        raise Unusable("`--fits D` runs on D; leave out `--device`")
    target = options.target
    options.format = result_files.choose_format("memory", options)
    if (
        options.format == "pickle"
        and (options.fits or options.device or "cpu") == "cpu"
    ):
        raise Unusable(
            "a snapshot is of a GPU's allocator: name a GPU, as in --device T4"
        )
    file = options.file and options.file.absolute()  # the program may change folder

    def work(parent: child_process.Here[None]) -> int:
        memory = _measure_target(options, parent.folder)
        _print_memory(memory, options, file, parent)
        return _choose_exit_code(memory, options)

    def ended(child: child_process.Ended[None]) -> int:
        from shapewright.cli.child_process import build_ended_finding
        from shapewright.record.memory import Memory, MemoryEvents, Peak

        finding = build_ended_finding(child, options.timeout)
        memory = Memory(
            target, shared.get_spec(options) or "", options.fits or options.device
            or "cpu", "", options.training is not False,
            MemoryEvents((), (), 0, (), finding), Peak(0, "", {}, ()),
        )  # fmt: skip
        _print_memory(memory, options, file, child_process.Here[None]())
        return 1

    def describe(state: None) -> str:
        return f"running two steps of {target}"

    return child_process.run(work, ended, None if options.quiet else describe)


def _choose_exit_code(memory: Memory, options: argparse.Namespace) -> int:
    """Return 1 for an error, and with `--fits` for a step that may not fit."""
    from shapewright.record.memory import FITS

    if not memory.complete:
        return 1
    return 1 if options.fits and memory.verdict != FITS else 0


def _print_memory(
    memory: Memory,
    options: argparse.Namespace,
    file: Path | None,
    parent: child_process.Here[None],
) -> None:
    """Print the record, or write it to the file."""
    text = output.render_result("memory", options.format, memory, options)
    result_files.save_or_show("memory", text, options, file, parent)


def _measure_target(options: argparse.Namespace, folder: str | None) -> Memory:
    """Return what a step of the target takes."""
    from shapewright import api
    from shapewright.inputs.errors import InputError

    try:
        return api.measure_target(
            options.target,
            shared.get_spec(options),
            arguments=options.arguments,
            optimizer=options.optimizer,
            device=options.fits or options.device or "cpu",
            training=options.training is not False,
            largest_batch=options.largest_batch,
            autocast=options.autocast,
            what_if=None
            if options.what_if is None
            else [*filter(None, options.what_if)],
            must_fit=True,
            generate=options.generate,
            formula=options.formula,
            timeout=options.timeout,
            files=shared.build_file_handling(options, folder),
        )
    except InputError as error:
        raise Unusable(str(error)) from None
