"""The registry of findings: an entry for each code, and the functions that look for it.

Whoever reports a finding imports its code by name from here, so that a misspelt code
fails at import: ``from shapewright.findings.codes import WRONG_RANK``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from shapewright.findings.finding import Finding, Severity

Kind = Literal["need", "error", "hazard", "loop", "edge", "mistake"]
"""What is looked at: a call that torch refused; the end of a run; the calls of a run;
its loops over elements; runs at other sizes; a training."""

ERRORS: tuple[Kind, ...] = ("need", "error")
"""Kinds whose findings are never switched off."""

FOLDER = Path(__file__).parent / "explain"


@dataclass(frozen=True, slots=True)
class Code:
    """All facts of one finding.

    `severity` is the usual one, `title` says what is found, `edit` what usually mends
    it; `page` is the file that `shapewright explain` prints. A `strict` finding is
    reported by `check --strict` only. With `of_shapes`, a finding is doubtful where a
    shape was supposed because a call had failed.
    """

    name: str
    kind: Kind
    severity: Severity
    title: str
    edit: str
    page: Path
    strict: bool = False
    of_shapes: bool = True

    @property
    def is_switchable(self) -> bool:
        """Return whether a project or a comment may switch the finding off."""
        return self.kind not in ERRORS


CODES: dict[str, Code] = {}
"""Every code, by its name. What is looked for is looked for in this order."""


def add_code(code: Code) -> str:
    """Register a code and return its name.

    Example::

        DEEP_STACK = add_code(
            Code(
                "deep-stack", "hazard", "warning", "a stack of more than 8 dims",
                "fewer dims", Path("deep-stack.md"),
            )
        )
    """
    assert code.name not in CODES, f"two codes `{code.name}`"
    CODES[code.name] = code
    return code.name


def find_page(code: str) -> str | None:
    """Return the page of a code as Markdown, or None if there is no such code.

    Example: ``find_page("torch-error")``.
    """
    entry = CODES.get(code)
    return entry.page.read_text("utf-8") if entry is not None else None


Find = TypeVar("Find", bound=Callable[..., Iterable[Finding]])


@dataclass(frozen=True, slots=True)
class Looker:
    """A function that looks for findings, and the codes that it may report.

    It gets the context of its kind: a `HazardContext`, an `EdgeContext`, a
    `RehearsalContext`. With `of_whole_runs`, it is not called for a run that did not
    reach its end; with `misled_by_errors`, not for one with errors.
    """

    codes: tuple[str, ...]
    find: Callable[[Any], Iterable[Finding]]
    of_whole_runs: bool = False
    misled_by_errors: bool = False


LOOKERS: list[Looker] = []
"""Every function that looks for hazards, edges or mistakes of a training."""


def looks_for(*codes: str, **facts: bool) -> Callable[[Find], Find]:
    """Register the decorated function as the one that looks for `codes`.

    Example::

        @looks_for(LAYOUT)
        def layouts(context: HazardContext) -> Iterator[Finding]: ...

    Raises `KeyError` for a code that is not registered.
    """
    kinds = {CODES[code].kind for code in codes}
    assert len(kinds) == 1, f"codes of several kinds: {codes}"

    def register(find: Find) -> Find:
        LOOKERS.append(Looker(codes, find, **facts))
        return find

    return register


def list_lookers(kind: Kind) -> list[Looker]:
    """Return the lookers for findings of a kind, in the order of their codes."""
    order = list(CODES)
    lookers = [looker for looker in LOOKERS if CODES[looker.codes[0]].kind == kind]
    return sorted(lookers, key=lambda looker: order.index(looker.codes[0]))


def _register_own(
    kind: Kind, usual: Severity, name: str, title: str, edit: str,
    *, severity: Severity | None = None, strict: bool = False, of_shapes: bool = True,
) -> str:  # fmt: skip
    """Register a code whose page is in `explain/`."""
    page = FOLDER / f"{name}.md"
    severity = severity or usual
    return add_code(Code(name, kind, severity, title, edit, page, strict, of_shapes))


_need = partial(_register_own, "need", "error")
_error = partial(_register_own, "error", "error")
_hazard = partial(_register_own, "hazard", "warning")
_loop = partial(_register_own, "loop", "note")
_edge = partial(_register_own, "edge", "warning")
_mistake = partial(_register_own, "mistake", "warning")

# fmt: off

# -- needs: what a call that torch refuses lacks -----------------------------------

ATTENTION_FEATURES = _need("attention-features",
    "queries and keys have different numbers of features", "project both to one size")
ATTENTION_MASK_SHAPE = _need("attention-mask-shape",
    "a mask does not broadcast to the scores",
    "`(batch, keys)` as `key_padding_mask`, `(queries, keys)` as `attn_mask`")
BAG_OFFSETS = _need("bag-offsets",
    "offsets with rows of ids, or a vector of ids without offsets",
    "one of the two forms")
BATCH_DIM_MISMATCH = _need("batch-dim-mismatch",
    "the batch dims of the matrices do not broadcast",
    "a dim of 1 where one side is shared: `unsqueeze`")
BOUNDARIES_SHAPE = _need("boundaries-shape",
    "boundaries are neither one row nor one for each row", "equal dims in front")
BROADCAST_MISMATCH = _need("broadcast-mismatch",
    "two sizes that should broadcast differ",
    "a dim of 1 where the sizes should repeat: `y[:, None]`")
CHANNEL_MISMATCH = _need("channel-mismatch",
    "the layer was built for another number of channels",
    "`in_channels` is the `out_channels` of the layer before")
CHANNELS_LAST = _need("channels-last",
    "the channels are in the last dim", "`x.permute(0, 3, 1, 2)`")
CLASS_WEIGHTS = _need("class-weights",
    "the weights are not one for each class",
    "as many weights as the predictions have classes")
CLASSES_IN_LAST_DIM = _need("classes-in-last-dim",
    "predictions have their classes in the last dim",
    "`x.transpose(1, 2)`, or flatten both")
CROSS_OF_THREE = _need("cross-of-three",
    "a cross product of vectors that do not have three numbers",
    "name the dim that holds the three")
CTC_LENGTHS = _need("ctc-lengths",
    "lengths that are not one for each sample, or longer than the time",
    "`log_probs.transpose(0, 1)`: time comes first")
DIM_OUT_OF_RANGE = _need("dim-out-of-range",
    "a dim that the tensor does not have", "negative dims count from the end")
DOES_NOT_DIVIDE = _need("does-not-divide",
    "no size for the -1 is a whole number", "a multiple, or another dim first")
DTYPE_MISMATCH = _need("dtype-mismatch",
    "a tensor has a dtype that the call does not accept",
    "cast once, where the data enters")
EINSUM_EQUATION = _need("einsum-equation",
    "the equation cannot be read", "after the arrow, letters of the inputs, each once")
EINSUM_LETTERS = _need("einsum-letters",
    "a tensor has more or fewer dims than letters",
    "a letter for each dim, `...` for those that stay")
EINSUM_OPERANDS = _need("einsum-operands",
    "more or fewer tensors than groups of letters",
    "one group of letters for each tensor")
EINSUM_SIZES = _need("einsum-sizes",
    "a letter has two sizes", "letters in the order of the tensor as it is")
ELEMENT_COUNT_MISMATCH = _need("element-count-mismatch",
    "the new shape has more or fewer elements", "let torch infer a size with -1")
EXPAND_MISMATCH = _need("expand-mismatch",
    "`expand` of a dim whose size is not 1", "`y[:, None].expand(8, 4)`")
FOLD_BLOCKS = _need("fold-blocks",
    "the number of blocks does not fit the output",
    "the same kernel, stride and padding as `unfold`")
FOLD_CHANNELS = _need("fold-channels",
    "`fold` of a dim 1 that is not a multiple of the block's elements",
    "`x.transpose(1, 2)`")
FOURIER_POINTS = _need("fourier-points",
    "no point is left along a dim", "say how many come out: `irfft(z, n=16)`")
FOURIER_SIZES = _need("fourier-sizes",
    "`s` does not have a size for each dim that is transformed",
    "`s=x.shape[-2:]`, or name the dims")
FREQUENCY_COUNT = _need("frequency-count",
    "`istft` gets another number of frequencies than `n_fft` gives",
    "the same `n_fft` in both directions")
GRID_SHAPE = _need("grid-shape",
    "the coordinates are not in the last dim of the grid", "`grid.permute(0, 2, 3, 1)`")
GROUPS_DO_NOT_DIVIDE = _need("groups-do-not-divide",
    "the channels cannot be divided into the groups", "groups that divide both")
HIDDEN_STATE_SHAPE = _need("hidden-state-shape",
    "a state does not fit layers, batch and hidden size", "build it from `x.size(0)`")
IN_PLACE_TOO_SMALL = _need("in-place-too-small",
    "the result is larger than the tensor that it is written to",
    "`y = y + x` makes a new tensor")
INDEX_LARGER_THAN_SOURCE = _need("index-larger-than-source",
    "an index of `gather` is larger in another dim",
    "the `dim` that was meant, or `index_select`")
INDEX_OUT_OF_RANGE = _need("index-out-of-range",
    "an index is not less than the size that it indexes",
    "a larger table, or `clamp` and a look at the ids")
INDICES_OF_ANOTHER_POOLING = _need("indices-of-another-pooling",
    "unpooling with the indices of another pooling",
    "what was pooled last is unpooled first")
INNER_DIM_MISMATCH = _need("inner-dim-mismatch",
    "the sizes that are summed over differ",
    "give the layer the size that arrives: the `got` line says where it comes from")
INTERPOLATED_SIZES = _need("interpolated-sizes",
    "a size for dims that are not resized",
    "only height and width: `size=x.shape[-2:]`")
JOINED_SCALARS = _need("joined-scalars",
    "`cat` of scalars, which have no dim to join along", "`torch.stack`")
JOINED_SIZES_DIFFER = _need("joined-sizes-differ",
    "`cat` of tensors that differ in another dim than the joined one",
    "the other dim, or equal sizes before")
K_TOO_LARGE = _need("k-too-large",
    "more elements are requested than there are", "`k=min(k, x.shape[-1])`")
KERNEL_TOO_LARGE = _need("kernel-too-large",
    "the image is smaller than the kernel",
    "less pooling before, padding, or `AdaptiveAvgPool2d`")
KEYS_AND_VALUES = _need("keys-and-values",
    "the numbers of keys and values differ", "both from the same memory")
LENGTHS_ON_GPU = _need("lengths-on-gpu",
    "lengths of packed sequences on a GPU", "`lengths.cpu()`")
MASK_SHAPE = _need("mask-shape",
    "a mask does not have the sizes of the dims that it indexes",
    "`mask.expand_as(x)`, or `torch.where`")
MISSING_CHANNEL_DIM = _need("missing-channel-dim",
    "a grayscale image without a channel dim", "`x.unsqueeze(1)`")
MISSING_TRANSPOSE = _need("missing-transpose",
    "one operand would fit if it were transposed", "`.mT`, or `.transpose(-2, -1)`")
MOVED_DIMS = _need("moved-dims",
    "the numbers of shifts and dims, or of places and dims, differ",
    "lists of one length")
NORMALIZED_SHAPE = _need("normalized-shape",
    "the last dims do not have the sizes of `normalized_shape`",
    "`normalized_shape` is the size of the last dim")
NOT_CONTIGUOUS = _need("not-contiguous",
    "a view cannot reorder elements", "`reshape`, or `.contiguous()` before")
NOT_FLATTENED = _need("not-flattened",
    "the features are spread over several dims",
    "`torch.flatten(x, 1)` before the layer")
NOT_POSITIVE = _need("not-positive",
    "a size or a factor below 1", "look at what it is computed from; `max(1, size)`")
NOT_SQUARE = _need("not-square",
    "a matrix that is not square", "`x.mT @ x`, `torch.linalg.pinv`, `lstsq`")
ONE_HOT_TARGET = _need("one-hot-target",
    "one-hot rows where class indices are expected", "`target.argmax(1)`")
ONE_VALUE_PER_CHANNEL = _need("one-value-per-channel",
    "batch norm in training with one value per channel",
    "`drop_last=True` in training, `model.eval()` in evaluation")
OUTPUT_PADDING_TOO_LARGE = _need("output-padding-too-large",
    "an output padding that is not smaller than the stride",
    "an output padding below the stride")
PACKED_LENGTHS = _need("packed-lengths",
    "lengths do not fit the batch, or are not sorted",
    "`enforce_sorted=False`, and lengths along time")
PADDING_PAIRS = _need("padding-pairs",
    "the padding is not two numbers for each dim, from the last on",
    "a pair less, or `mode=\"constant\"`")
PADDING_TOO_LARGE = _need("padding-too-large",
    "a reflected padding that is not shorter than the dim",
    "a smaller padding, or `replicate`")
PERMUTED_DIMS = _need("permuted-dims",
    "`permute` without a place for each dim", "every dim once: `x.permute(0, 2, 1)`")
POOL_PADDING = _need("pool-padding",
    "a padding of more than half the kernel", "at most half the kernel")
REPEAT_COUNTS = _need("repeat-counts",
    "`repeat` without a number for each dim", "write 1 for dims that stay")
REPEATED_DIM = _need("repeated-dim",
    "a dim is named twice", "each dim once")
RNN_INPUT_SIZE = _need("rnn-input-size",
    "the last dim is not `input_size`", "`input_size` of the layer, or a `transpose`")
SHUFFLED_SIZES = _need("shuffled-sizes",
    "the sizes are not divisible by the factor", "channels·factor² for `pixel_shuffle`")
SIGNAL_TOO_SHORT = _need("signal-too-short",
    "a frame is longer than the signal", "a smaller `n_fft`, or `F.pad` before")
SOURCE_SHAPE = _need("source-shape",
    "the source does not have a slice or element for each index",
    "as many indices as slices")
SPLIT_SIZES = _need("split-sizes",
    "the split sizes do not add up to the size of the dim",
    "a number for equal parts, or the right sum")
STACKED_SHAPES_DIFFER = _need("stacked-shapes-differ",
    "`stack` of tensors with different shapes",
    "`pad_sequence` for lengths, `cat` to continue")
SUMMED_DIMS = _need("summed-dims",
    "`tensordot` with too many dims, or lists of different lengths",
    "pairs of dims: `dims=([1], [0])`")
TARGET_SHAPE = _need("target-shape",
    "the shapes of predictions and targets differ", "`squeeze(1)`, or `view_as`")
THETA_SHAPE = _need("theta-shape",
    "`theta` is not a 2 x 3 matrix for each image", "`theta.view(-1, 2, 3)`")
TO_NUMPY = _need("to-numpy",
    "NumPy reads a tensor that requires a gradient, is on a GPU or in bfloat16",
    "`x.detach().cpu().numpy()`")
TOO_MANY_INDICES = _need("too-many-indices",
    "more indices than dims", "count the dims: `x.shape`")
TWO_UNKNOWN_SIZES = _need("two-unknown-sizes",
    "more than one size is -1", "write one of them")
UNPOOLED_SIZE = _need("unpooled-size",
    "this kernel and stride do not give the pooled size",
    "keep the size from before the pooling")
WINDOW_LENGTH = _need("window-length",
    "window, `win_length`, `n_fft` and `hop_length` do not fit each other",
    "pass the length of the window too")
WINDOW_NUMBERS = _need("window-numbers",
    "a window size for dims along which the window does not move",
    "one number, or one for each of those dims")
WRITTEN_SHAPE = _need("written-shape",
    "a value does not broadcast to the part that it is written to",
    "the shape of the part: `x[:, 0].shape`")
WRONG_RANK = _need("wrong-rank",
    "a tensor has more or fewer dims than the call accepts",
    "a dim added or removed: `unsqueeze`, `flatten`")

# -- errors: what ends a run, or a check of the program's own ----------------------

COLLECTIVE_MISMATCH = _error("collective-mismatch",
    "tensors that a collective of `torch.distributed` refuses",
    "`zeros_like` of what is sent")
COLLATED_LIST = _error("collated-list",
    "a list of numbers in the items of a data set, which collating transposes",
    "`torch.tensor(...)` around the list in `__getitem__`")
EINOPS_PATTERN = _error("einops-pattern",
    "a tensor that a pattern of einops does not fit: which dim, which letters",
    "the sizes of the letters, or their order")
GRAPH_CUT = _error("graph-cut",
    "a loss without a graph: nothing trainable leads to it",
    "the tensor itself where a number, an index or a copy of it stands")
GRAPH_FREED = _error("graph-freed",
    "a second backward pass through a graph: which tensor brings it, which line freed "
    "it",
    "`state = state.detach()` between iterations, one pass for the sum of two losses")
ITEMS_DO_NOT_STACK = _error("items-do-not-stack",
    "items of the data set that cannot be collated into a batch: which, which field, "
    "both shapes",
    "items of one size, or a `collate_fn` that pads")
LEAF_WRITTEN = _error("leaf-written",
    "a parameter written while gradients are recorded",
    "`with torch.no_grad():` around the write")
MISSING_DEVICE = _error("missing-device",
    "the program asks for a device that the rehearsed machine does not have",
    "`--device cuda`, or `torch.cuda.is_available()`")
MIXED_DEVICES = _error("mixed-devices",
    "tensors of one call are on different devices", "`.to(x.device)`")
NO_GRADIENT_KEPT = _error("no-gradient-kept",
    "`x.grad` of a tensor that is no leaf: torch keeps none",
    "`x.retain_grad()` before `backward()`, or the leaf itself")
NOT_A_MODULE_YET = _error("not-a-module-yet",
    "a model whose `__init__` makes layers before `super().__init__()`",
    "`super().__init__()` first in `__init__`")
NOT_HERE = _error("not-here",
    "what is not on this machine (a file, a package) decides a shape: which, at which "
    "line", "`--data` for a file, `--assume` for what a package gives")
NOTHING_TO_TRAIN = _error("nothing-to-train",
    "an optimizer without a parameter, or with a tensor that is the result of a call",
    "`nn.ModuleList` for a list of layers; `nn.Parameter(x.to(device))`")
PROGRAM_ERROR = _error("program-error",
    "the program raised an error for another reason", "what Python says")
PROGRAM_EXIT = _error("program-exit",
    "the program called `sys.exit`", "a function or a model of it as the target")
SAVED_TENSOR_WRITTEN = _error("saved-tensor-written",
    "a write to a tensor that a backward pass needs: which, by which line",
    "the form that makes a new tensor; the step after the backward pass")
SELF_CHECK = _error("self-check",
    "a rule and torch disagree: a fault of Shapewright", "a report of the call")
SHAPE_MISMATCH = _error("shape-mismatch",
    "a size or the number of dims does not fit", "one of the changes that were tried")
SIZE_CHECK = _error("size-check",
    "an assertion or a comparison of sizes", "where both sides came from")
SIZE_OF_EXAMPLE = _error("size-of-example",
    "a program that was traced or exported for the sizes of its example gets others",
    "`dynamic_shapes` for `torch.export`, no `int()` of sizes for `torch.jit.trace`")
STATE_DICT_MISMATCH = _error("state-dict-mismatch",
    "a state dict has other keys or shapes than the model",
    "rename the keys, or leave the new part out")
TIMEOUT = _error("timeout",
    "the time limit was reached", "`--timeout`, or a smaller part")
TORCH_ERROR = _error("torch-error",
    "torch refused a call, and no change of one argument fixes it", "what torch says")
TUPLE_AS_TENSOR = _error("tuple-as-tensor",
    "a tuple used as a tensor, such as what an LSTM returns",
    "`out, _ = self.lstm(x)`")
UNUSED_PARAMETERS = _error("unused-parameters",
    "`DistributedDataParallel` waits for gradients of parameters that no loss used",
    "`find_unused_parameters=True` where the model is wrapped")
UNPACKED_SIZES = _error("unpacked-sizes",
    "more or fewer names than dims or values", "`*batch, channels = x.shape`")

# -- hazards of one run; of two at one place, the first of these is reported -------

WRONG_AXIS = _hazard("wrong-axis",
    "softmax over the queries or heads; the last sample instead of the last step",
    "the axis that is summed afterwards; `out[:, -1]` for the last step")
BATCH_AXIS = _hazard("batch-axis",
    "softmax, `normalize`, a running sum, positions, joined parts along the batch",
    "`dim` counted from the end: `softmax(x, dim=-1)`")
BATCH_DEPENDENCE = _hazard("batch-dependence",
    "samples divided by a value that is computed over the whole batch",
    "the dims of one sample, with `keepdim=True`")
BUILT_IN_FORWARD = _hazard("built-in-forward",
    "a layer with weights that `forward` builds anew in each call",
    "the layer in `__init__`", of_shapes=False)
CPU_TENSOR = _hazard("cpu-tensor",
    "a tensor made in `forward` without a device, or one that is not a buffer",
    "`device=x.device`, `x.new_zeros`, or a registered buffer", of_shapes=False)
EINSUM_REDUCTION = _hazard("einsum-reduction",
    "`einsum` without an arrow, which sums the batch or reorders the result",
    "the arrow and the intended letters")
DIAGONAL_ONLY = _hazard("diagonal-only",
    "an `einsum` or a product that reads only the diagonal of a matrix",
    "two letters for the matrix: `dk,bck->bcd`")
DRAWN_INDEX = _hazard("drawn-index",
    "ids or classes that are drawn beyond the end of what they index",
    "a table or a loss with as many rows or classes, or a smaller upper limit")
IMPLICIT_BROADCAST = _hazard("implicit-broadcast",
    "every broadcast; with `--strict` alone, as a note",
    "equal sizes, or `expand_as` where it is intended", severity="note", strict=True)
LAYOUT = _hazard("layout",
    "a layer with time first in a program with the batch first",
    "`batch_first=True`, or a transpose before and after the layer")
LOST_BATCH = _hazard("lost-batch",
    "`squeeze()` that also removes a batch of one sample (a note for larger ones)",
    "`squeeze(-1)` or `flatten(1)`")
LOSS_INPUT = _hazard("loss-input",
    "a loss of probabilities where it expects logits, or the reverse",
    "the loss without the activation before it: logits into `cross_entropy`")
COMPARED_SCORES = _hazard("compared-scores",
    "scores compared with class labels: they are never equal",
    "`argmax`, or the indices of `max`")
LOGIT_THRESHOLD = _hazard("logit-threshold",
    "logits that are compared with 0.5, or rounded, as if they were probabilities",
    "`.sigmoid()` before the threshold", of_shapes=False)
PAIRED_ROWS = _hazard("paired-rows",
    "predictions in another order than their targets: flattened, or sorted by length",
    "`transpose` before one of the two is flattened")
PADDED_LAST_STEP = _hazard("padded-last-step",
    "the last step of padded sequences, which is padding for the shorter ones",
    "`x[torch.arange(len(x)), lengths - 1]`", of_shapes=False)
PADDED_MEAN = _hazard("padded-mean",
    "a mean over all steps of padded sequences, or by the count of what is left out",
    "`(x * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)`", of_shapes=False)
LAST_STEP = _hazard("last-step",
    "the last step of a bidirectional layer, where the backward direction began",
    "the last state of each direction")
DROPOUT_ALWAYS_ON = _hazard("dropout-always-on",
    "`F.dropout` without `training`: `eval()` does not switch it off",
    "`training=self.training`, or `nn.Dropout`")
EQUAL_SAMPLES = _hazard("equal-samples",
    "the spread of outputs of a model in evaluation that are all the same",
    "`train()` of the dropout layers behind `eval()`", of_shapes=False)
NOT_A_PARAMETER = _hazard("not-a-parameter",
    "a weight that is a plain tensor, which no optimizer gets",
    "`nn.Parameter`")
INTERPOLATED_LABELS = _hazard("interpolated-labels",
    "class labels resized with an interpolation that averages them",
    "`mode=\"nearest\"` for labels")
PADDED_TARGETS = _hazard("padded-targets",
    "targets whose padding the loss takes for a class",
    "`ignore_index`, or a padding of -100")
GRAPHS_WITHOUT_OFFSETS = _hazard("graphs-without-offsets",
    "edges of several graphs joined without adding the nodes before each",
    "`edge_index + offset` in the loop that joins them")
SOFTMAX_OVER_GROUPS = _hazard("softmax-over-groups",
    "a softmax over all edges whose weights are then summed for each node",
    "`exp` of the scores, divided by its sum over the edges of each node")
GRAD_OF_RESULT = _hazard("grad-of-result",
    "the `grad` of a tensor that a call returned: it is None",
    "`x.retain_grad()` before `backward()`", of_shapes=False)
ONE_SIDE_NORMALIZED = _hazard("one-side-normalized",
    "a similarity of which one side has no unit length, or that of other rows",
    "`F.normalize` for both sides")
INVERTED_MOMENTUM = _hazard("inverted-momentum",
    "a `momentum` of batch normalization of 0.9 or more: the last batch alone counts",
    "`momentum=0.01` for the 0.99 of Keras", of_shapes=False)
LARGE_EPS = _hazard("large-eps",
    "a number of another meaning at the place of `eps` of a normalization layer",
    "`momentum=`, or no such argument", of_shapes=False)
INCLUSIVE_TRANSMITTANCE = _hazard("inclusive-transmittance",
    "opacities along a ray multiplied by a cumulative product that includes them",
    "the product shifted by one: a leading 1, without the last factor")
REVERSED_STRAIGHT_THROUGH = _hazard("reversed-straight-through",
    "`q + (z - q).detach()`, the value of `z`; `z + (q - z)`, without its gradient",
    "`z + (q - z).detach()`", of_shapes=False)
SUMMED_DERIVATIVES = _hazard("summed-derivatives",
    "`autograd.grad` of a field of several columns, which adds their derivatives up",
    "one `grad` for each column: `grad(v[:, 0].sum(), xy)`")
UNLIKE_INVERSE = _hazard("unlike-inverse",
    "an `istft` with another window or step than the `stft` of its spectrum",
    "`window=window` in both directions", of_shapes=False)
GRADIENT_LEFT_OUT = _hazard("gradient-left-out",
    "a `backward` of a custom `Function` that never reads the gradient it is given",
    "`grad_output * ...`", of_shapes=False)
REVERSED_MINING = _hazard("reversed-mining",
    "a triplet loss of the nearest of a class, the farthest of others; reversed pairs",
    "`max` of the distances within a class, `min` of the others", of_shapes=False)
PERMUTED_TWICE = _hazard("permuted-twice",
    "rows that are put back by the permutation that reordered them, not its inverse",
    "`argsort` of the permutation", of_shapes=False)
FLIP_NOT_UNDONE = _hazard("flip-not-undone",
    "a sum of predictions for a picture and for the flipped one, not flipped back",
    "`model(x.flip(-1)).flip(-1)`", of_shapes=False)
PARAMETRIZED_WRITE = _hazard("parametrized-write",
    "a write to a weight that `weight_norm` or a parametrization computes anew",
    "the initialization before the parametrization", of_shapes=False)
ASCENDING_RISK_SET = _hazard("ascending-risk-set",
    "a partial likelihood of Cox with risks added up in the ascending order of times",
    "`torch.argsort(time, descending=True)`", of_shapes=False)
UNREACHABLE_TARGETS = _hazard("unreachable-targets",
    "targets outside of what a last activation or a binary loss can reach",
    "a last layer without the activation, or targets scaled into its range")
SINGLE_CLASS = _hazard("single-class",
    "`argmax` or a cross entropy over an only output; `argmax` of one class number",
    "`(logits.squeeze(1) > 0).long()`, and a binary loss")
MASK_AXIS = _hazard("mask-axis",
    "a mask along the queries, one that shows the next token, or no mask at all",
    "a mask along the last dim of the scores")
VIEW_MIXES_DIMS = _hazard("view-mixes-dims",
    "a `view` or `reshape` in place of a transpose",
    "`transpose` first, then `reshape`")
OUTER_BROADCAST = _hazard("outer-broadcast",
    "`(N, 1)` meets `(N,)` in a loss, an accuracy, a difference: all pairs",
    "`pred.squeeze(-1)` or `target.unsqueeze(1)`")
LOSS_SHAPES = _hazard("loss-shapes",
    "a loss of the same elements in two shapes, of which torch warns",
    "`target.view_as(prediction)`")
ONE_SAMPLE = _hazard("one-sample",
    "a loss of one sample with each of a batch; an accuracy of the first sample alone",
    "the whole prediction, or `sample.expand_as(prediction)`")
REPEATED_INDEX = _hazard("repeated-index",
    "`x[index] += y` with repeated indices: all but the last are lost",
    "`x.index_add_(0, index, y)`")
INDEX_OF_ALL_ROWS = _hazard("index-of-all-rows",
    "`x[:, index]` with an index for each row; a row of indices in `gather`",
    "`x[torch.arange(len(x)), index]`, or `gather`")
REPEATED_LAYER = _hazard("repeated-layer",
    "`[layer] * n`: one layer n times, whose weights all of them share",
    "`[Layer(...) for _ in range(n)]`", of_shapes=False)
WEAK_MASK = _hazard("weak-mask",
    "masked scores that a softmax counts: filled with about 0, or masked after it",
    "`float(\"-inf\")` or `-1e9` as the fill", of_shapes=False)
FLOAT_MASK = _hazard("float-mask",
    "a mask of numbers 0 and 1 that attention adds to its scores, or an index reads",
    "a mask of truths: leave out `.float()`, or `mask.bool()`", of_shapes=False)
RESULT_DROPPED = _hazard("result-dropped",
    "a changed tensor that is thrown away; one of two results that nothing reads",
    "`x = x.masked_fill(mask, 0)`", of_shapes=False)
UNSHIFTED_TARGET = _hazard("unshifted-target",
    "a language model whose targets are the tokens that it reads, at the same place",
    "`logits[:, :-1]` with `tokens[:, 1:]`", of_shapes=False)
UNRELATED_NOISE = _hazard("unrelated-noise",
    "a prediction of noise compared with noise that is drawn anew",
    "the noise that was added to the data", of_shapes=False)
ADVANTAGE_WITH_GRAPH = _hazard("advantage-with-graph",
    "a policy loss that trains the critic through the advantage",
    "`advantage.detach()`", of_shapes=False)
TERM_WITHOUT_GRAPH = _hazard("term-without-graph",
    "a term of a loss that follows from a comparison or is always 0: it trains nothing",
    "a differentiable measure: `relu(x - limit)`, a sigmoid", of_shapes=False)
TEACHER_WITH_GRAPH = _hazard("teacher-with-graph",
    "a distillation loss that also trains the teacher; a siamese loss without `detach`",
    "`teacher_output.detach()`", of_shapes=False)
MINIMIZED_ENTROPY = _hazard("minimized-entropy",
    "an entropy bonus that is added to a loss, and so minimized",
    "`loss - coefficient * entropy`", of_shapes=False)
OPTIMISTIC_BOUND = _hazard("optimistic-bound",
    "the better of a policy's clipped and unclipped surrogates, which undoes clipping",
    "`torch.max` of negated surrogates, `-torch.min` of others", of_shapes=False)
MIXED_REDUCTIONS = _hazard("mixed-reductions",
    "a reconstruction that is summed, with a divergence that is averaged",
    "`torch.sum` for both, or the mean over samples of both sums", of_shapes=False)
FOCAL_ON_MEAN = _hazard("focal-on-mean",
    "a focal factor of the mean over a batch, which weights no sample",
    "`reduction=\"none\"` for the loss below it", of_shapes=False)
WRAPPED_DIFFERENCE = _hazard("wrapped-difference",
    "a difference of uint8 numbers: negative ones come out near 255",
    "`a.float() - b.float()`", of_shapes=False)
INVERTED_INTEGERS = _hazard("inverted-integers",
    "a mask of integers that `~` inverts: 1 becomes -2, 0 becomes -1",
    "`~mask.bool()` or `1 - mask`", of_shapes=False)
SAME_TENSOR_KEPT = _hazard("same-tensor-kept",
    "a list of one tensor that is written in place: all entries are its last values",
    "`states.append(state.clone())`", of_shapes=False)
WEIGHTS_NOT_TIED = _hazard("weights-not-tied",
    "weights that are said to be tied, and copied once",
    "`decoder.weight = encoder.weight`", of_shapes=False)
SEVERAL_LABELS = _hazard("several-labels",
    "a cross entropy over classes that are decided one by one with a sigmoid",
    "`nn.BCEWithLogitsLoss()`", of_shapes=False)
OTHER_PADDING = _hazard("other-padding",
    "a mask of padding that compares tokens with the padding of another vocabulary",
    "the padding index of the embedding of these tokens", of_shapes=False)
PADDING_AS_TOKEN = _hazard("padding-as-token",
    "tokens that have the number of padding",
    "numbers from 1 on, and a row more in the embedding", of_shapes=False)
OWN_STATISTICS = _hazard("own-statistics",
    "rows for a test that are standardized by their own mean and deviation",
    "the mean and the deviation of the rows for training", of_shapes=False)
SEPARATE_PERMUTATIONS = _hazard("separate-permutations",
    "inputs and targets that are shuffled by two different permutations",
    "one `torch.randperm` for both", of_shapes=False)
DECAY_SWAPPED = _hazard("decay-swapped",
    "an average of weights, or a running mean, that keeps next to nothing of itself",
    "`average.mul_(decay).add_(weight, alpha=1 - decay)`", of_shapes=False)
CENTRED_AXIS = _hazard("centred-axis",
    "a covariance of features that takes the mean over the features of each sample",
    "`x - x.mean(0, keepdim=True)`", of_shapes=False)
VARIANCE_AS_SCALE = _hazard("variance-as-scale",
    "noise scaled by `exp` of a log-variance: a variance, not a deviation",
    "`torch.exp(0.5 * logvar)`", of_shapes=False)
REVERSED_DIVERGENCE = _hazard("reversed-divergence",
    "a divergence that a loss subtracts: minimizing it makes the distributions differ",
    "`-0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()`", of_shapes=False)
UNIFORM_NOISE = _hazard("uniform-noise",
    "numbers between 0 and 1 where noise of a normal distribution is meant",
    "`torch.randn_like`", of_shapes=False)
ADVERSARIAL_LABELS = _hazard("adversarial-labels",
    "a discriminator or a generator that is taught the label of the other side",
    "ones for real data, zeros for generated ones; ones for the generator",
    of_shapes=False)
INDEX_AS_VALUE = _hazard("index-as-value",
    "the number of a best action, or the place of a step, in the place of its value",
    "`q.max(1).values`, not `q.max(1)[1]`; `model(x, steps[i])`", of_shapes=False)
MINIMIZED_OVERLAP = _hazard("minimized-overlap",
    "an overlap of prediction and mask that is minimized, or lacks its factor of 2",
    "`1 - dice`", of_shapes=False)
SCALED_LABELS = _hazard("scaled-labels",
    "numbers of classes that `ToTensor` divides by 255",
    "`torch.from_numpy(np.array(mask)).long()`", of_shapes=False)
REVERSED_POLICY = _hazard("reversed-policy",
    "a policy loss that makes the actions with a high return less likely",
    "`-(log_prob * advantage).mean()`", of_shapes=False)
NAN_IN_DATA = _hazard("nan-in-data",
    "data with NaN or infinities that reach a layer or a loss",
    "rows without them, or values put in their place", of_shapes=False)
LOG_OF_ZERO = _hazard("log-of-zero",
    "the logarithm of data that are 0 at places: minus infinity",
    "`torch.log(x + 1e-6)`, `x.clamp(min=1e-6).log()`", of_shapes=False)
LIMIT_AFTER_LOG = _hazard("limit-after-log",
    "a tiny limit behind a logarithm: all of what was less than 1 becomes one number",
    "`torch.log(x.clamp(min=1e-5))`", of_shapes=False)
ROOT_OF_ZERO = _hazard("root-of-zero",
    "the root of distances of samples to themselves: its derivative at 0 is infinite",
    "`torch.sqrt(x.clamp(min=1e-12))`", of_shapes=False)
MEAN_OF_NONE = _hazard("mean-of-none",
    "a mean over the others of a class, of which a sample may be the only one: 0 / 0",
    "`mask.sum(1).clamp(min=1)`", of_shapes=False)
IGNORED_LABELS_COUNTED = _hazard("ignored-labels-counted",
    "a confusion matrix that counts the label that the loss ignores",
    "only the pixels that have a class: `truth[truth != 255]`", of_shapes=False)
MASKED_TARGETS = _hazard("masked-targets",
    "targets of masked tokens that are masked with the tokens: one tensor",
    "`labels = tokens.clone()`", of_shapes=False)
SHIFTED_TWICE = _hazard("shifted-twice",
    "labels that a data set shifts for a model that shifts them itself",
    "labels that are the tokens, -100 where there is none", of_shapes=False)
BOX_FORMAT = _hazard("box-format",
    "an overlap of boxes given as centre and size, or one that negative sides make",
    "`box_convert(boxes, \"cxcywh\", \"xyxy\")`", of_shapes=False)
QUANTILES_SWAPPED = _hazard("quantiles-swapped",
    "a quantile loss of the prediction minus the target: q becomes 1 - q",
    "`target - prediction`", of_shapes=False)
PARTIAL_NORM = _hazard("partial-norm",
    "a gradient penalty with a norm for each pixel, not for each sample",
    "`gradients.flatten(1).norm(dim=1)`", of_shapes=False)
UNSCALED_PIXELS = _hazard("unscaled-pixels",
    "bytes that are normalized like pixels between 0 and 1; those divided by 255 twice",
    "`x.float() / 255`", of_shapes=False)
STATE_DROPPED = _hazard("state-dropped",
    "a loop over single steps of a recurrent layer that drops its state",
    "`out, state = layer(x, state)`", of_shapes=False)
SELF_AS_CANDIDATE = _hazard("self-as-candidate",
    "a contrastive loss with the similarity of each sample to itself",
    "a mask of the diagonal: `masked_fill(eye, float(\"-inf\"))`")
UNMATCHED_STATE_DICT = _hazard("unmatched-state-dict",
    "`strict=False` where next to no key matches: nothing is loaded",
    "the keys renamed as the model names them", of_shapes=False)
LOADED_WEIGHTS_LOST = _hazard("loaded-weights-lost",
    "weights that are drawn anew after they were loaded, before anything used them",
    "`load_state_dict` after the initialisation", of_shapes=False)
TEMPERATURE_CANCELS = _hazard("temperature-cancels",
    "probabilities divided by a temperature and normalized again: it cancels",
    "`softmax(logits / temperature, dim=-1)`", of_shapes=False)
SCORE_SCALE = _hazard("score-scale",
    "scores of attention scaled by the width of all heads, or multiplied by the root",
    "`q @ k.transpose(-2, -1) * q.size(-1) ** -0.5`", of_shapes=False)
EQUAL_STEPS = _hazard("equal-steps",
    "a decoder whose input is the same at every position",
    "the targets, moved by one step: `model(x, y[:, :-1])` and `y[:, 1:]`",
    of_shapes=False)
EQUAL_UNITS = _hazard("equal-units",
    "weights of a hidden layer that are all one number: its units stay alike",
    "a random initialisation: `nn.init.xavier_uniform_`", of_shapes=False)
PYTHON_LOOP = _loop("python-loop",
    "a loop over single elements that one call replaces",
    "the replacement in the place of the loop")

# -- edges: what breaks at sizes that nobody gave ----------------------------------

BATCH_HARD_CODED = _edge("batch-hard-coded",
    "runs only with the given batch, or returns the same number of rows for every "
    "batch",
    "`x.size(0)`, `-1` or `flatten(1)`")
LOST_DIM = _edge("lost-dim",
    "the output has fewer dims for one step, or for the smallest image (a note)",
    "`x[:, 0]` or `flatten(1)` in place of `squeeze()`", severity="note")

# -- mistakes of a training, in the order in which they are reported ---------------

GRADIENTS_NOT_CLEARED = _mistake("gradients-not-cleared",
    "a step, of an optimizer or by hand, that also uses gradients of earlier steps",
    "`optimizer.zero_grad()` before `backward()`")
GRADIENTS_CLEARED_UNUSED = _mistake("gradients-cleared-unused",
    "`zero_grad()` between `backward()` and `step()`",
    "`zero_grad()` before `backward()` or after `step()`")
GRAPH_KEPT = _mistake("graph-kept",
    "a loss kept with its graph: memory that grows with each step",
    "`loss.item()` or `loss.detach()`")
NOT_IN_OPTIMIZER = _mistake("not-in-optimizer",
    "parameters that get gradients but are in no optimizer",
    "`nn.ModuleList`; an optimizer built after the model is complete")
PARAMETER_REPEATED = _mistake("parameter-repeated",
    "an optimizer that has a parameter more than once",
    "each parameter once, as `nn.Module.parameters()` of one module has them")
NO_GRADIENT = _mistake("no-gradient",
    "parameters of an optimizer that never get a gradient",
    "add that part to the loss, or `requires_grad_(False)`")
TRAINED_IN_EVAL_MODE = _mistake("trained-in-eval-mode",
    "training that goes on after `eval()`",
    "`model.train()` at the beginning of each epoch")
EVALUATED_IN_TRAINING_MODE = _mistake("evaluated-in-training-mode",
    "evaluation with dropout and batch norm in training",
    "`model.eval()` before, `model.train()` after")
EVALUATED_WITH_GRAPH = _mistake("evaluated-with-graph",
    "an evaluation that records gradients: memory for nothing",
    "`with torch.no_grad():` around the loop")
NEVER_STEPPED = _mistake("never-stepped",
    "an optimizer whose `step()` is never called", "`optimizer.step()`")
COUNT_OVER_BATCHES = _mistake("count-over-batches",
    "correct answers divided by the number of batches, or by a fixed batch size",
    "divide by the number of samples")
MEAN_OF_MEANS = _mistake("mean-of-means",
    "an accuracy averaged over batches of which the last is smaller, or `exp(loss)`",
    "add up the correct answers, divide by the number of samples")
COUNT_NOT_READ = _mistake("count-not-read",
    "the count of another loop for that of a loop, or the length of another loader",
    "the count of the loop above")
COUNT_NOT_RESET = _mistake("count-not-reset",
    "counts of an epoch that begin at zero only once, before all epochs",
    "`correct, total = 0, 0` first in the loop over epochs")
FLAG_WITHOUT_EFFECT = _mistake("flag-without-effect",
    "`requires_grad` misspelt, on a module, or the wrong way round; unread options",
    "`module.requires_grad_(False)`")
SAME_BRANCHES = _mistake("same-branches",
    "an `if` whose two branches do the same: what it asks has no effect",
    "what one of the branches was meant to do")
RETURN_IN_LOOP = _mistake("return-in-loop",
    "a `return` that ends a loop in its first turn: only the first batch counts",
    "the `return` behind the loop")
LOSS_OVERWRITTEN = _mistake("loss-overwritten",
    "a loss that each turn of a loop assigns anew: only the last step is trained",
    "`loss += criterion(...)`")
LATE_BINDING = _mistake("late-binding",
    "a function that a loop keeps and that reads the loop's variable: of the last turn",
    "`lambda x, name=name: ...`")
MISPLACED_ARGUMENT = _mistake("misplaced-argument",
    "a weight decay given as `dampening`, the sampler of another data set",
    "`weight_decay=decay`, `nn.Dropout(1 - keep_prob)`")
CHANGED_DRAW = _mistake("changed-draw",
    "`log_prob` of a draw that was squashed or scaled, or of another than the action",
    "`log_prob` of what was drawn")
EQUAL_POLICIES = _mistake("equal-policies",
    "a ratio of probabilities that the policy of now computes twice: always 1",
    "the log-probabilities that were kept when the actions were drawn")
FILTERED_INDEX = _mistake("filtered-index",
    "an index among the rows that a mask has kept, which takes rows of all",
    "`boxes[mask][keep]`")
ORDER_AS_RANK = _mistake("order-as-rank",
    "one `argsort` taken for ranks: it says which item stands at each place",
    "`scores.argsort().argsort()`")
SIZE_ATTRIBUTE_SET = _mistake("size-attribute-set",
    "a size that is set on a layer, an attribute set behind what is built of it",
    "a new layer in its place: `model.fc = nn.Linear(512, 3)`")
GRADIENT_WITHOUT_GRAPH = _mistake("gradient-without-graph",
    "a gradient penalty that trains nothing: `autograd.grad` without `create_graph`",
    "`create_graph=True`")
MODEL_NOT_COPIED = _mistake("model-not-copied",
    "a target network or an average that is the model itself, or that nothing calls",
    "`copy.deepcopy(model)`")
METRIC_ARGUMENTS = _mistake("metric-arguments",
    "a metric with predictions for labels, or a curve of decisions",
    "`precision_score(labels, predictions)`")
METRIC_FORMULA = _mistake("metric-formula",
    "a metric with the formula of another, or an IoU or F1 that lacks a part",
    "`precision = tp / (tp + fp)`")
REBOUND_PARAMETER = _mistake("rebound-parameter",
    "a parameter whose name in a loop gets a new tensor: the parameter stays",
    "`parameter.copy_(...)` under `torch.no_grad()`")
REVERSED_UPDATE = _mistake("reversed-update",
    "a trained model that gets the weights of its copy, which nothing changes",
    "`copy.load_state_dict(model.state_dict())`")
RETURN_ORDER = _mistake("return-order",
    "discounted returns that are kept in another order than their steps",
    "`for reward in reversed(rewards)` with `returns.insert(0, total)`")
STATISTICS_NOT_FROZEN = _mistake("statistics-not-frozen",
    "frozen layers of batch norm that go on with their running statistics",
    "`backbone.eval()` after `model.train()`", severity="note")
STATISTICS_NOT_COPIED = _mistake("statistics-not-copied",
    "an average of a model that is evaluated with the statistics it began with",
    "copy `buffers()` as well as `parameters()`")
STATE_NOT_COPIED = _mistake("state-not-copied",
    "a best state that later steps change too, loaded at the end",
    "`copy.deepcopy(model.state_dict())`")
STATE_OF_OTHER_SAMPLES = _mistake("state-of-other-samples",
    "a recurrent state that goes from batch to batch of a shuffled loader",
    "`model(x)`, which begins with a state of zeros")
SAMPLER_WEIGHTS = _mistake("sampler-weights",
    "a sampler with other weights than one for each sample, such as one for each class",
    "`weights[labels]`: the weight of each sample's class")
UNUSED_SPLIT = _mistake("unused-split",
    "training on a whole data set, with the part that is evaluated",
    "the part for training in its loader")
TERMINAL_IGNORED = _mistake("terminal-ignored",
    "a target of value learning that goes on behind the end of an episode",
    "`reward + gamma * next_value * (1 - done)`")
FITTED_ANEW = _mistake("fitted-anew",
    "a scaler that is fitted on the data for training, and on the test data again",
    "`scaler.transform(x_test)`")
DEVIATION_SHIFTED = _mistake("deviation-shifted",
    "a standard deviation that a scaler transforms back: the mean is added to it",
    "`std * scaler.scale_`")
UNEQUAL_TRANSFORMS = _mistake("unequal-transforms",
    "a `Normalize` that one part lacks; predictions in other units than their targets",
    "the same `Normalize` at the end of both")
ITEM_WRITTEN = _mistake("item-written",
    "a data set whose `__getitem__` changes in place what it stores",
    "`sample = (sample - mean) / std`, or `sample.clone()` first")
MODEL_KEPT_OVER_FOLDS = _mistake("model-kept-over-folds",
    "a model that is built once and trained on in each fold of a cross validation",
    "`model = Net()` in the loop over folds")
RATE_AS_FACTOR = _mistake("rate-as-factor",
    "a `LambdaLR` whose function returns a learning rate: it is a factor of another",
    "`lr=1.0` in the optimizer")
ARRAYS_BROADCAST = _mistake("arrays-broadcast",
    "a NumPy array of results, (n, 1), that meets n labels, (n,)",
    "`predictions.ravel()`")
SEED_REPEATED = _mistake("seed-repeated",
    "a seed that is set again in each epoch, so that all draw the same",
    "`torch.manual_seed` once, before the training")
EPOCH_NOT_SET = _mistake("epoch-not-set",
    "a `DistributedSampler` that is never told the epoch: the same order in each",
    "`sampler.set_epoch(epoch)` first in each epoch")
CLASSES_BY_TEXT = _mistake("classes-by-text",
    "numbers of classes by the order of folders, 1, 10, 2, or by the order of a set",
    "`data_set.classes[index]` for the number of a predicted class")
COPIES_BEFORE_SPLIT = _mistake("copies-before-split",
    "rows in both parts of a split: oversampled before it, or cut with an overlap",
    "the split first, and the rare rows of the training part drawn again")
FITTED_BEFORE_SPLIT = _mistake("fitted-before-split",
    "data that are scaled by statistics of all rows, and split afterwards",
    "`scaler.fit(x_train)` after the split")
LABEL_AMONG_FEATURES = _mistake("label-among-features",
    "features that still hold the column that is predicted",
    "`df.drop(columns=[\"price\"]).values`, `data[:, 1:-1]`")
SORTED_LABELS = _mistake("sorted-labels",
    "a training that reads one class after the other: sorted data, without a shuffle",
    "`shuffle=True` for the loader that trains")
SPLIT_BY_CLASS = _mistake("split-by-class",
    "data that were cut into parts while they lay sorted: other classes are evaluated",
    "a shuffle, or a stratified split, before the data are cut")
SHARED_TRANSFORM = _mistake("shared-transform",
    "a transform for each part of one data set: the last one is that of both",
    "`val_set.dataset = copy.copy(val_set.dataset)` before")
AUGMENTED_EVALUATION = _mistake("augmented-evaluation",
    "data for evaluation that get the random changes of the training",
    "a transform without random steps for the part that is evaluated")
REPEATED_BY_WORKERS = _mistake("repeated-by-workers",
    "an `IterableDataset` that each worker of the loader reads as a whole",
    "a share for each worker, by `get_worker_info()`")
SHUFFLED_ORDER = _mistake("shuffled-order",
    "results of a shuffled loader beside what is in the order of the data set",
    "`shuffle=False` for the loader that predicts")
SEPARATE_DRAWS = _mistake("separate-draws",
    "an image and its mask that are flipped or turned by separate random draws",
    "one draw for both")
STATE_NOT_RESUMED = _mistake("state-not-resumed",
    "a checkpoint with the state of an optimizer that resuming never loads",
    "`optimizer.load_state_dict(checkpoint[\"optimizer\"])`")
SUM_AFTER_LOOP = _mistake("sum-after-loop",
    "a sum after its loop, which counts only the last batch", "indent the sum")
MEAN_OVER_SAMPLES = _mistake("mean-over-samples",
    "sums divided by too much: means by the number of samples, one of several by all",
    "each mean times the number of samples of its batch")
UNDIVIDED_LOSS = _mistake("undivided-loss",
    "gradients of several batches added up for a step of SGD, of losses as they are",
    "`(loss / accumulation_steps).backward()`")
SCHEDULER_ORDER = _mistake("scheduler-order",
    "a scheduler that steps before its optimizer",
    "`scheduler.step()` after `optimizer.step()`")
SCHEDULER_OF_REPLACED = _mistake("scheduler-of-replaced",
    "a scheduler that goes on with an optimizer which another one has replaced",
    "a scheduler of the new optimizer")
SCHEDULE_RESTARTED = _mistake("schedule-restarted",
    "a schedule, or a model, that each epoch builds anew: the epochs before are lost",
    "one optimizer and one schedule, built before the loop over epochs")
RESTARTED_LOADER = _mistake("restarted-loader",
    "a loader that each step begins anew: only its first batches are trained on",
    "`shuffle=True`, or `batches = iter(loader)` before the steps")
FIRST_GROUP_ONLY = _mistake("first-group-only",
    "a rate that is written into the first of several groups of an optimizer",
    "`for group in optimizer.param_groups`")
METRIC_DIRECTION = _mistake("metric-direction",
    "an accuracy that is waited for to fall, a loss to rise; the lowest scores as best",
    "`mode=\"max\"` for an accuracy; the other comparison")
PATIENCE_NOT_RESET = _mistake("patience-not-reset",
    "early stopping whose count of bad epochs goes on where the best result is kept",
    "`wait = 0` where the best result is kept")
CLASS_WEIGHTS_INVERTED = _mistake("class-weights-inverted",
    "weights that let frequent classes count more: positives by negatives, shares",
    "`pos_weight=negatives / positives`; `counts.sum() / counts`")
REVERSED_GUIDANCE = _mistake("reversed-guidance",
    "guidance that goes from the conditional prediction to the unconditional one",
    "`uncond + scale * (cond - uncond)`")
FLOORED_FACTOR = _mistake("floored-factor",
    "a factor that `//` makes 0: of a warm-up, of the frequencies of positions",
    "`step / warmup_steps`")
SCHEDULER_UNIT = _mistake("scheduler-unit",
    "a schedule planned in batches that is stepped once for each epoch, or the reverse",
    "`scheduler.step()` as often as the schedule counts")
CLIPPED_AFTER_STEP = _mistake("clipped-after-step",
    "gradients that are clipped after the step has used them",
    "the clipping between `backward()` and `step()`")
SCALED_STEP = _mistake("scaled-step",
    "a step with the gradients of a scaled loss, which nothing has divided again",
    "`scaler.step(optimizer)` and `scaler.update()`")
CLIPPED_SCALED = _mistake("clipped-scaled",
    "gradients that are clipped while a scaler has them scaled",
    "`scaler.unscale_(optimizer)` before the clipping")
SCHEDULER_TOO_LONG = _mistake("scheduler-too-long",
    "a schedule that is shorter than the whole run: an error",
    "`total_steps` as many as the loops have", severity="error")
OUT_OF_MEMORY = _mistake("out-of-memory",
    "the GPU that is named has no room for the next tensor: an error",
    "a smaller batch, or what the finding says", severity="error")

# fmt: on
