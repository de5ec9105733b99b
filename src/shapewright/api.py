"""The conductor: from a target and a spec to a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shapewright.record.ops import Op
from shapewright.record.trace import Trace

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from shapewright.commands.explain import Explaining
    from shapewright.commands.targets import Outcome, Progress
    from shapewright.engine.memo import Memo
    from shapewright.record.memory import LargestBatch, Memory
    from shapewright.record.report import Rehearsal, Report
    from shapewright.record.solution import Solution
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.runtime.recorded_values import Recording
    from shapewright.views.drawing.drawing import Drawing


@dataclass(frozen=True, slots=True)
class Options:
    """How to run, apart from what belongs to the model.

    Example::

        trace = sw.options(timeout=10).trace(model, "f32[8, 3, 224, 224]")

    `timeout` is in seconds; `by` is the view that `print(trace)` shows ("module", "op"
    or "line"); `values=False` treats every given tensor as unknown data; `verify`
    asks torch itself about every answer of a rule or of the memo, and notes where it
    differs; `inside` adds to the notes of each op the kernels that torch runs for it,
    with their shapes; `memo` shares answers between runs.
    """

    timeout: float | None = None
    by: str = "module"
    values: bool = True
    verify: bool = False
    inside: bool = False
    memo: Memo | None = field(default=None, repr=False)

    def trace(self, target: Any, *args: Any, **kwargs: Any) -> Trace:
        """`shapewright.trace` under these options."""
        return _run_trace(target, args, kwargs, self)

    def formulas(self, target: Any, *args: Any, **kwargs: Any) -> Trace:
        """`shapewright.formulas` under these options."""
        return _run_trace(target, args, kwargs, self, freed=True)


def options(
    *,
    timeout: float | None = None,
    by: str = "module",
    values: bool = True,
    verify: bool = False,
    inside: bool = False,
    memo: Memo | None = None,
) -> Options:
    """Return options for a run, which `Options` describes.

    Example: ``sw.options(timeout=10, by="op").trace(model, x)``.
    """
    return Options(timeout, by, values, verify, inside, memo)


def trace(target: Any, *args: Any, **kwargs: Any) -> Trace:
    """Run a model or function without data and return every tensor's shape.

    Example::

        >>> import shapewright as sw
        >>> trace = sw.trace(torch.nn.Linear(400, 120), "f32[1024, 400]")
        >>> trace.output.shape
        (1024, 120)

    `target` is an `nn.Module`, a bound method or any function. The arguments are those
    of the call: real tensors, meta tensors, or spec strings ("f32[8, 3, 32, 32]");
    every keyword belongs to the model. Without arguments, inputs are looked for as on
    the command line. The model is not touched: parameters get data-free stand-ins.

    What the program raises ends the trace and becomes its last finding; `complete` is
    then False. Raises `InputError` for a spec that cannot be read.
    """
    return _run_trace(target, args, kwargs, Options())


def formulas(target: Any, *args: Any, **kwargs: Any) -> Trace:
    """Every size of a program as a formula in the letters of its inputs.

    Example::

        >>> trace = sw.formulas(encoder, "f32[B, 3, H, W]")
        >>> trace.output.shape
        (B, 16, (H - 12)//4, (W - 12)//4)
        >>> trace.formulas.letters["H"]
        Checked(low=16, high=254, step=1)

    The arguments are those of `trace`, tensors as specs with letters. The program runs
    at some ten sizes without data; each formula agrees with every one of these runs,
    and claims nothing outside of the sizes in `trace.formulas`. A letter with a size
    (``B=8``) is varied as well, from there. The sizes are whole numbers, those of the
    first run, that print as their formulas; `size.formula.value({"H": 100, ...})` is
    what they are elsewhere.

    Raises `InputError` where no input has a letter.
    """
    return Options().formulas(target, *args, **kwargs)


def recording(
    model: Any,
    *paths: str,
    detach: bool = False,
    cpu: bool = False,
    copy: bool = False,
) -> AbstractContextManager[Recording]:
    """Record what modules get and return while the program really runs.

    Example, a penalty on the size of activations, (8, 64, 56, 56) each::

        with sw.recording(model, "layer1.*.conv1") as seen:
            loss = criterion(model(images), labels)
        for call in seen:
            loss = loss + 1e-4 * call.output.pow(2).mean()
        loss.backward()

    `paths` are module paths or shell-style patterns of them, all modules without any.
    ``seen["layer1.0.conv1"].output`` is what that module returned, ``.args`` and
    ``.kwargs`` what it was given; ``seen["pool", 2]`` is the second call of a module
    that ran twice, ``seen["pool", -1]`` the last. Tensors are the run's own, with their
    autograd graph: `detach` drops the graph, `cpu` moves them there, `copy` keeps them
    as they were where the program later writes them in place.

    On exit, also by an exception, the hooks are gone and the values stay readable.
    Raises `LookupError` for a pattern that matches no module.
    """
    from shapewright.runtime.recorded_values import record_values as record_calls

    return record_calls(model, *paths, detach=detach, cpu=cpu, copy=copy)


def explaining() -> Explaining:
    """Explain the torch call that ends a real run, in a note of its exception.

    Example::

        with sw.explaining():
            loss = criterion(model(images), labels)

    The exception keeps its type and text; below them stands what `check` says of such
    a call: what it needs and what it got, by the program's own names, where the sizes
    were decided, and what would fit. Also a decorator: ``@sw.explaining()``.

    Only once an exception leaves the block is anything looked at: the locals of its
    frames, and the failing expression, run again on tensors without data. No tensor,
    module or random generator changes. Where nothing can be said there is no note.
    """
    from shapewright.commands.explain import Explaining

    return Explaining()


def explain(call: Any, *args: Any, **kwargs: Any) -> Drawing:
    """Draw what an operator of torch does with each element.

    Example, with tensors whose values are shown, (4, 6) and (2, 6)::

        sw.explain(torch.gather, x, 0, index)
        sw.explain("torch.gather(f32[4, 6], 0, i64[2, 6])")

        sw.explain("model.py:57", "f32[8, 3, 32, 32]")
        sw.explain(trace.ops[12])

    `call` is a function of torch, a method of `torch.Tensor` or of a tensor, with its
    arguments; or the text of a call, which is read as data and run on made-up values;
    or a line of a program, which is run on the inputs that follow, as specs; or an op
    of a trace. A function runs on copies: no argument is changed. The drawing shows
    itself in a notebook, prints as text and can be saved.

    What torch refuses is drawn with torch's message. Raises `TypeError` for a function
    that is not torch's, `InputError` for a text that is not a call of an operator.
    """
    from shapewright.views.drawing.drawing import Drawing

    if isinstance(call, Op):
        from shapewright.runtime.operator_calls.recorded_calls import replay_call

        return Drawing(replay_call(call).drawn)
    if isinstance(call, str):
        from shapewright.inputs.program_lines import is_line

        if (
            is_line(call)
            and not kwargs
            and all(isinstance(argument, str) for argument in args)
        ):
            return explain_line(call, ", ".join(args) or None)
        if args or kwargs:
            raise TypeError("a call in text has its arguments in the text")
        from shapewright.commands.explain import draw_text

        return draw_text(call)
    from shapewright.runtime.operator_calls.live_tensors import explain_tensors

    return Drawing(explain_tensors(call, args, kwargs))


def explain_line(
    place: str,
    spec: str | None = None,
    *,
    arguments: Sequence[str] = (),
    timeout: float | None = None,
    progress: Progress | None = None,
    files: ProgramFiles | None = None,
) -> Drawing:
    """What a line of a program does: ``explain_line("model.py:57", "f32[8, 3]")``.

    The program is run once without data, as by `trace_target`; then each tensor call
    of the line is called again on small real tensors of the same shapes, and drawn.
    Raises `InputError` for a file, a line or inputs that cannot be used.
    """
    from shapewright.inputs.program_lines import read_line

    line = read_line(place, spec is not None)
    from shapewright.commands.explain import draw_line
    from shapewright.runtime.operator_calls.recorded_calls import Watch
    from shapewright.views.drawing.drawing import Drawing

    watch = Watch()
    run_trace = trace_target(
        line.target,
        spec,
        arguments=arguments,
        timeout=timeout,
        progress=progress,
        watch=watch,
        files=files,
    ).trace
    return Drawing(draw_line(line, run_trace, watch))


def draw(tensor: Any, name: str = "tensor") -> Drawing:
    """Draw one tensor: its elements, its strides, and the storage that it looks at.

    Example, of a (3, 2) view::

        >>> print(sw.draw(torch.arange(6).view(2, 3).t()))

    It says whether the tensor is contiguous and why not, whether it is a view, and
    which cells of its storage it reaches. Nothing of it is changed.
    """
    from shapewright.runtime.operator_calls.live_tensors import describe_stored
    from shapewright.views.drawing.drawing import Drawing

    return Drawing(describe_stored(tensor, name))


def trace_target(
    target: str,
    spec: str | None = None,
    *,
    arguments: Sequence[str] = (),
    training: bool | None = None,
    timeout: float | None = None,
    progress: Progress | None = None,
    abandoned: Callable[[Outcome], None] | None = None,
    watch: Any = None,
    files: ProgramFiles | None = None,
) -> Outcome:
    """Trace a command-line target, as in ``trace_target("model.py:Net", "f32[8, 3]")``.

    Raises `InputError` for a target or spec that cannot be used. What the program
    raises, prints (to stderr) or exits with is part of the outcome. A program that
    cannot be stopped after `timeout` seconds ends this process; `abandoned` is given
    the outcome until then. `arguments` are the script's own; `training` puts the model
    into that mode first. `watch` sees every
    call, as `runtime/operator_calls/recorded_calls.py` says. `files` says what becomes
    of what the program writes: it goes to a temporary folder. Of a script that only
    defines things, each of them is traced: `outcome.parts`.
    """
    from shapewright.commands.targets import Manner, trace_command

    how = Manner(arguments, timeout, progress, abandoned, watch, files, training)
    return trace_command(target, spec, how)


def check(target: Any, *args: Any, **kwargs: Any) -> Report:
    """Run a model or function without data: its shape errors, and what is likely wrong.

    Example::

        >>> report = sw.check(Net(), "f32[8, 3, 32, 32]")
        >>> [finding.code for finding in report.findings]
        ['inner-dim-mismatch']

    The arguments are those of `trace`. An error does not end the run: it goes on with
    what would have come out, so that independent errors are found together. The model
    is not touched. Fixes are edits of the program's text; they are tried where the
    target is a file (`shapewright check model.py:Net`), not for a live model.
    """
    from shapewright.commands.check import check_model
    from shapewright.inputs.call_mistakes import refuse_arguments, refuse_target

    refuse_target("check", target)
    refuse_arguments("check", target, args, kwargs)
    return check_model(target, args, kwargs)


def assert_shapes(target: Any, spec: str) -> Trace:
    """Assert what a model takes and returns, in a test, without data.

    Example::

        sw.assert_shapes(model, "f32[B, 3, 224, 224] -> f32[B, 1000]")

    A letter without a size stands for every size: an output whose batch is fixed, or
    only happens to be as large, does not pass. Several inputs or outputs are separated
    by commas. Returns the trace. Raises `AssertionError` where a shape or a dtype is
    another, or where the model does not run; `InputError` for a spec that cannot be
    read.
    """
    from shapewright.commands.shape_assertions import check_outputs, split_spec

    into, out = split_spec(spec)
    run_trace = trace(target, into) if into else trace(target)
    check_outputs(run_trace, into, out)
    return run_trace


def check_target(
    target: str,
    spec: str | None = None,
    *,
    arguments: Sequence[str] = (),
    training: bool | None = None,
    timeout: float | None = None,
    first: bool = False,
    strict: bool = False,
    files: ProgramFiles | None = None,
) -> Report:
    """Check a command-line target, as in ``check_target("model.py:Net", "f32[8, 3]")``.

    `first` stops at the first finding; `strict` notes every implicit broadcast;
    `arguments` are a script's own; `training` puts the model into that mode first. Of a
    script that only defines things, each of them
    is checked: `report.parts`.

    Raises `InputError` for a target or spec that cannot be used.
    """
    from shapewright.commands.targets import check_command

    return check_command(
        target, spec, arguments, timeout, first, strict, files, training
    )


def rehearse_script(
    script: str,
    arguments: Sequence[str] = (),
    *,
    device: str | None = None,
    timeout: float | None = None,
    full_loaders: bool = False,
    heard: Callable[[Rehearsal, str, int], None] | None = None,
    files: ProgramFiles | None = None,
    data: Sequence[str] = (),
    assume: Sequence[str] = (),
    strict: bool = False,
    memory: bool | None = None,
) -> Report:
    """Run a training script without data, as in ``rehearse_script("train.py", [])``.

    From each loader come the first batches and the last; a loop that trains ends when
    its turns bring nothing new, with its last turn. `report.rehearsal` is the story of
    the run, `report.findings` are its errors and what is likely wrong. `device` is what
    the script is told that it runs on: `cpu`, `cuda`, `mps`, `"H100 80GB"`; without it
    a CPU, and once more a GPU if the script asks for one and has no error. `heard` is
    given the story while it grows, with the file and line at which the run is. `data`
    says what absent files hold (``"train.npy=f32[1000, 64]"``), `assume` what the names
    of absent packages give (``"pkg.embed(x) -> f32[B, 64]"``); if `strict`, nothing may
    stand for what is not on this machine. `script` may also be what starts it:
    ``rehearse_script("torchrun", ["--nproc_per_node=8", "train.py"])``. With `memory`
    the script is rehearsed once more for `report.rehearsal.memory`; by default for a
    GPU that has a name.

    Raises `InputError` for a file that is no script, or a device that is not known.
    """
    from shapewright.commands.rehearse import rehearse_command
    from shapewright.inputs.stand_ins import read_stand_ins

    return rehearse_command(
        script, arguments, device, timeout, full_loaders, heard, files,
        read_stand_ins(data, assume, strict), memory,
    )  # fmt: skip


def rehearse(
    target: Any,
    *args: Any,
    steps: int | None = None,
    device: str | None = None,
    full_loaders: bool = False,
    memory: bool | None = None,
    **kwargs: Any,
) -> Report:
    """Run a function that trains without data: its errors, and the story of the run.

    Example::

        def train_step(images, labels):
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()

        report = sw.rehearse(train_step, "f32[32, 3, 64, 64]", "i64[32]")
        print(report)

    `target` is a function that trains one step, or all of a training; the arguments are
    those of `trace`. What trains one step is called three times, so that a second step
    meets what the first has left; `steps` is how often a whole run calls it. `device`
    is what the function is told that it runs on, as in `rehearse_script`; without one,
    the machine says what it has. With `memory` it runs once more for
    `report.rehearsal.memory`; by default for a GPU that has a name. A text is the name
    of a script, what follows are its arguments.

    Nothing is changed: models, gradients, optimizers, schedulers, lists and names are
    as before. Only numpy arrays that the function writes into stay written. Raises
    `InputError` for a spec that cannot be read, or a device that is not known.
    """
    if isinstance(target, str):
        return rehearse_script(
            target, args, device=device or "cpu", full_loaders=full_loaders,
            memory=memory,
        )  # fmt: skip
    from shapewright.commands.rehearse import rehearse_function
    from shapewright.inputs.call_mistakes import refuse_arguments, refuse_target

    refuse_target("rehearse", target)
    refuse_arguments("rehearse", target, args, kwargs)
    return rehearse_function(target, args, kwargs, steps, device, full_loaders, memory)


def solve(
    target: Any,
    *args: Any,
    want: str | None = None,
    prove: float | None = None,
    **kwargs: Any,
) -> Solution:
    """Which sizes a program takes, and what comes out.

    Example::

        >>> solution = sw.solve(unet, "f32[B, 3, H, W]")
        >>> [each.text for each in solution.demands if not each.implied]
        ['H % 16 == 0 and W % 16 == 0']
        >>> solution.takes(B=1, H=64, W=72)
        False

    The arguments are those of `trace`, what may vary as letters; letters with a size
    are fixed there, unless all have one. The program runs without data at some fifty
    sizes: each line that refuses some gives a demand, which agrees with every run.
    `want` is the shape of an output, ``"[B, 10, 64, 64]"``: sizes that give it are
    looked for, and run. `prove` is how many seconds may go into asking torch's symbolic
    sizes whether formulas and demands hold for all sizes: `solution.proof`. Raises
    `InputError` where no input has a letter.
    """
    from shapewright.commands.solve import solve_model
    from shapewright.inputs.call_mistakes import refuse_arguments, refuse_target

    refuse_target("solve", target)
    refuse_arguments("solve", target, args, kwargs)
    return solve_model(target, args, kwargs, want, prove)


def solve_target(
    target: str,
    spec: str | None = None,
    *,
    arguments: Sequence[str] = (),
    want: str | None = None,
    training: bool | None = None,
    timeout: float | None = None,
    prove: float | None = None,
    files: ProgramFiles | None = None,
) -> Solution:
    """Solve a command-line target, as in ``solve_target("model.py:Net", "f32[B, 8]")``.

    `training` puts the model into that mode first; `prove` is how many seconds may go
    into proofs; `arguments` are what the file finds in `sys.argv`. Raises `InputError`
    for a target or spec that cannot be used.
    """
    from shapewright.commands.solve import solve_command

    return solve_command(target, spec, want, timeout, training, prove, arguments, files)


def memory(
    target: Any,
    *args: Any,
    optimizer: str = "adamw",
    device: str = "cpu",
    training: bool | None = None,
    loss: Callable[[Any], Any] | None = None,
    largest_batch: bool = False,
    autocast: str | None = None,
    what_if: bool | str | Sequence[str] = False,
    generate: int = 0,
    formula: bool = False,
    **kwargs: Any,
) -> Memory:
    """What a step of a model takes, before any of it is allocated.

    Example::

        >>> memory = sw.memory(model, "f32[B=64, 3, 224, 224]", device="A100 40GB")
        >>> memory.peak.bytes, memory.reserved, memory.verdict
        (12402558464, 12939427840, 'fits')
        >>> memory.peak.kinds["activations"]
        11811160064

    The arguments are those of `trace`. Two steps run on tensors without data: forward,
    a loss, backward, the optimizer; the second, which finds the optimizer's state, is
    the one that is told. `optimizer` is one of torch's, as ``"sgd(momentum=0.9)"``, or
    ``"none"``; `device` is ``"cpu"`` or a GPU, as in `rehearse_script`. `training` is
    the mode that the model is put into, its own without one; in evaluation, forward
    runs alone, under `no_grad`. `loss` computes a loss from the output; without one it
    is the sum of the means. `largest_batch` looks for the largest `B` that fits.
    `autocast` is ``"bf16"`` or ``"fp16"`` for autocast around forward and the loss;
    what the model itself says is followed anyway. `what_if` are changes that are run as
    well, for `memory.what_if`: ``"bf16"``, ``"checkpoint:Block"``, ``"B=32"``,
    ``"accumulate=4"``, ``"no-foreach"``, ``"offload-optimizer"``, an optimizer, or
    several with commas between; true is for those that may help. With `generate`, so
    many tokens follow the prompt that is given, instead of a step: `memory.generation`
    has the bytes of the cache. `formula` asks for the bytes at the peak as a polynomial
    in the letters of the inputs, `memory.formula`, by some runs more.

    Nothing of the model is changed. What the program raises is `memory.events.error`.
    Raises `InputError` for a spec, an optimizer or a device that is not known.
    """
    from shapewright.commands.memory import MemoryOptions, list_texts, measure_model
    from shapewright.inputs.call_mistakes import refuse_arguments, refuse_target

    refuse_target("memory", target)
    refuse_arguments("memory", target, args, kwargs)
    settings = MemoryOptions(
        optimizer, device, training, largest_batch, loss, autocast, list_texts(what_if),
        generate=generate, formula=formula,
    )  # fmt: skip
    return measure_model(target, args, kwargs, settings)


def largest_batch(
    target: Any,
    *args: Any,
    device: str,
    optimizer: str = "adamw",
    training: bool | None = None,
    loss: Callable[[Any], Any] | None = None,
    autocast: str | None = None,
    **kwargs: Any,
) -> LargestBatch:
    """Return the largest batch of which a step fits on a GPU, by running it.

    Example::

        >>> batch = sw.largest_batch(UNet(), "f32[B=8, 3, 256, 256]", device="RTX 4090")
        >>> batch.letter, batch.size, batch.is_exact
        ('B', 1076, True)

    The arguments are those of `memory`. The letter is `B` or `N`, or else the first of
    an input; `tried` has the bytes that torch's allocator reserves, for each size that
    was run. `size` is 0 where not even 1 fits. Raises `InputError` for inputs without a
    letter, for a device without a known memory, and where the step does not run.
    """
    from shapewright.inputs.errors import InputError

    record = memory(
        target,
        *args,
        device=device,
        optimizer=optimizer,
        training=training,
        loss=loss,
        autocast=autocast,
        largest_batch=True,
        **kwargs,
    )
    if record.largest_batch is None:
        error = record.events.error
        reason = error.message if error is not None else "nothing was recorded"
        raise InputError(f"the step does not run: {reason}")
    return record.largest_batch


def measure_target(
    target: str,
    spec: str | None = None,
    *,
    arguments: Sequence[str] = (),
    optimizer: str = "adamw",
    device: str = "cpu",
    training: bool | None = None,
    largest_batch: bool = False,
    autocast: str | None = None,
    what_if: Sequence[str] | None = None,
    must_fit: bool = False,
    generate: int = 0,
    formula: bool = False,
    timeout: float | None = None,
    files: ProgramFiles | None = None,
) -> Memory:
    """Measure a command-line target: ``measure_target("model.py:Net", "f32[8]")``.

    The options are those of `memory`; of an empty `what_if`, the changes that may help
    are run, and with `must_fit` also where the step does not surely fit. Raises
    `InputError` for a target or spec that cannot be used.
    """
    from shapewright.commands.memory import MemoryOptions, measure_command

    settings = MemoryOptions(
        optimizer,
        device,
        training,
        largest_batch,
        autocast=autocast,
        what_if=None if what_if is None else tuple(what_if),
        must_fit=must_fit and not generate,
        generate=generate,
        formula=formula,
    )
    return measure_command(target, spec, settings, timeout, arguments, files)


def _run_trace(
    target: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    settings: Options,
    freed: bool = False,
) -> Trace:
    from shapewright.commands.solve import trace_call
    from shapewright.commands.trace import trace_found_inputs, with_loops
    from shapewright.commands.traced_calls import TracedCall
    from shapewright.engine.engine import EngineOptions
    from shapewright.engine.failures.run_ends import Stopped
    from shapewright.inputs.call_mistakes import refuse_arguments, refuse_target
    from shapewright.runtime.limits import limit_time
    from shapewright.runtime.run import make_early_trace
    from shapewright.runtime.run_record import RunRequest

    options = EngineOptions(
        verify=settings.verify, values=settings.values, inside=settings.inside
    )
    request = RunRequest(memo=settings.memo, options=options)
    command = "formulas" if freed else "trace"
    refuse_target(command, target)
    refuse_arguments(command, target, args, kwargs)
    try:
        with limit_time(settings.timeout):
            if not args and not kwargs and not freed:
                search_result = trace_found_inputs(target, request)
                if search_result is not None:
                    return _show_trace(with_loops(search_result).trace, settings)
            result = trace_call(target, args, kwargs, request, freed)
            run_trace = _show_trace(with_loops(result).trace, settings)
            return replace(run_trace, measure=TracedCall(target, args, kwargs))
    except Stopped as stopped:  # between two tries of inputs
        name = getattr(target, "__name__", type(target).__name__)
        return _show_trace(make_early_trace(name, stopped), settings)


def _show_trace(run_trace: Trace, settings: Options) -> Trace:
    return (
        run_trace if settings.by == "module" else replace(run_trace, view=settings.by)
    )
