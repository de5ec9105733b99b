"""Messages of torch, and the page that explains each.

A person who has only the message (`mat1 and mat2 shapes cannot be multiplied (8x256 and
400x120)`) finds the page by it. An entry may say what the numbers of the message are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class _Message:
    """What torch says, as a pattern, the code of the page, and words on the numbers.

    `words` are formatted with the named groups of the pattern.
    """

    pattern: str
    code: str
    words: str = ""


def _make_size_pattern(name: str) -> str:
    """Return the pattern of a size as torch prints it, as a named group."""
    return rf"(?:torch\.Size\()?\[(?P<{name}>[^\]]*)\]\)?"


MESSAGES = (
    _Message(
        r"Expected size for first two dimensions of batch2 tensor to be: "
        r"\[(?P<batch>\d+), (?P<columns>\d+)\] "
        r"but got: \[(?P<other>\d+), (?P<rows>\d+)\]",
        "inner-dim-mismatch",
        "`torch.bmm` multiplies the matrices of two batches one by one: those of the "
        "first have {columns} columns, in a batch of {batch}, those of the second "
        "{rows} rows, in a batch of {other}. Both numbers have to be the same.",
    ),
    _Message(
        r"mat1 and mat2 shapes cannot be multiplied "
        r"\((?P<rows>\d+)x(?P<got>\d+) and (?P<needs>\d+)x(?P<gives>\d+)\)",
        "inner-dim-mismatch",
        "The left one has {rows} rows of {got} numbers: that is what came in. "
        "The right "
        "one is the weight: {needs} features in, {gives} out, as of "
        "`nn.Linear({needs}, "
        "{gives})`. {got} and {needs} have to be the same number. If the data is "
        "right, "
        "it is `nn.Linear({got}, {gives})`.",
    ),
    _Message(
        r"(?:size mismatch, m1: \[(?P<rows>\d+) x (?P<got>\d+)\], m2: "
        r"\[(?P<needs>\d+) x (?P<gives>\d+)\])",
        "inner-dim-mismatch",
        "The first has {rows} rows of {got} numbers; the weight takes {needs} features "
        "and gives {gives}. {got} and {needs} have to be the same number.",
    ),
    _Message(
        r"size mismatch, got input \((?P<rows>\d+)\), mat \((?P<mat>[\dx]+)\), vec "
        r"\((?P<vec>\d+)\)",
        "inner-dim-mismatch",
        "A matrix of {mat} is multiplied by a vector of {vec}: the columns of "
        "the matrix "
        "have to be as many as the vector has numbers.",
    ),
    _Message(
        r"inconsistent tensor size, expected tensor .* and src",
        "inner-dim-mismatch",
    ),
    _Message(
        r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b "
        r"\((?P<b>\d+)\) at non-singleton dimension (?P<dim>\d+)",
        "broadcast-mismatch",
        "`a` is the left one, `b` the right one. In dim {dim} of the result one has "
        "size {a} and the other {b}; they fit if both are equal or one of them is 1.",
    ),
    _Message(
        r"shapes cannot be broadcast|shape mismatch: indexing tensors could not be",
        "broadcast-mismatch",
    ),
    _Message(
        r"output with shape .* doesn't match the broadcast shape", "in-place-too-small"
    ),
    _Message(
        r"weight of size \[(?P<out>\d+), (?P<needs>\d+)[^\]]*\], expected input"
        r"\[(?P<shape>[^\]]*)\] to have (?P<wants>\d+) channels, but got (?P<got>\d+)",
        "channel-mismatch",
        "The input is ({shape}): its dim 1 holds the channels, {got} of them. "
        "The layer "
        "was built for {wants}, as of `in_channels={wants}`.",
    ),
    _Message(
        r"Expected (?:3D|4D|5D|2D) \(unbatched\) or (?:3D|4D|5D) \(batched\) input|"
        r"Expected \d-dimensional input for \d-dimensional weight|"
        r"[Ee]xpected \dD (?:or \dD )?input \(got \dD input\)|"
        r"expected \d or \d dims|Expected input to be \d|must be (?:\d-?D|"
        r"\d-dimensional)|"
        r"dimension mismatch|tensors? (?:must|should|expected)[^.]*\dD|"
        r"Input must have|expects? a \d-?D|\dD tensors? expected",
        "wrong-rank",
    ),
    _Message(
        r"t\(\) expects a tensor with <= 2 dimensions, but self is (?P<rank>\d+)D",
        "wrong-rank",
        "`t` and `T` turn matrices. Of {rank} dims, `transpose(-2, -1)` or `mT` turns "
        "the last two.",
    ),
    _Message(
        r"Calculated padded input size per channel: \((?P<got>[^)]*)\)\. Kernel size: "
        r"\((?P<kernel>[^)]*)\)",
        "kernel-too-large",
        "The image, padded, is {got} there, smaller than the kernel of {kernel}.",
    ),
    _Message(
        r"Given input size: \((?P<got>[^)]*)\)\. Calculated output size: "
        r"\((?P<out>[^)]*)\)\. Output size is too small",
        "kernel-too-large",
        "Channels x height x width are {got}: the window has no place in them.",
    ),
    _Message(
        r"pad should be (?:at most|smaller than or equal to) half of "
        r"(?:effective )?kernel",
        "pool-padding",
    ),
    _Message(r"[Pp]adding size should be less than", "padding-too-large"),
    _Message(r"Padding length|padding length (?:should|too)", "padding-pairs"),
    _Message(r"output padding must be smaller", "output-padding-too-large"),
    _Message(
        r"divisible by (?:num_)?groups|channels to be divisible", "groups-do-not-divide"
    ),
    _Message(
        r"shape '\[(?P<shape>[^\]]*)\]' is invalid for input of size (?P<count>\d+)",
        "element-count-mismatch",
        "The tensor has {count} elements; no view of them is [{shape}]. A view keeps "
        "every element, so the sizes have to multiply to {count}.",
    ),
    _Message(r"only one dimension can be inferred", "two-unknown-sizes"),
    _Message(
        r"view size is not compatible with input tensor's size and stride",
        "not-contiguous",
    ),
    _Message(
        r"number of dimensions in the tensor input does not match", "permuted-dims"
    ),
    _Message(
        r"expanded size of the tensor \((?P<new>-?\d+)\) must match the existing size "
        r"\((?P<old>\d+)\)",
        "expand-mismatch",
        "Only a dim of size 1 is expanded; this one has size {old} and {new} was "
        "asked for.",
    ),
    _Message(
        r"number of dims don't match in permute|repeated dim in permute",
        "permuted-dims",
    ),
    _Message(r"Number of dimensions of repeat dims", "repeat-counts"),
    _Message(r"(?:self|mat2|batch[12]) must be a (?:matrix|3D tensor)", "wrong-rank"),
    _Message(
        r"Index tensor must have the same number of dimensions",
        "wrong-rank",
        "`gather` and `scatter` take an index with as many dims as the tensor: "
        "`index.unsqueeze(-1)` for one entry of each row.",
    ),
    _Message(
        r"one_hot is only applicable to index tensor of type LongTensor",
        "dtype-mismatch",
    ),
    _Message(
        r"For 1D input, 1D target must have size 1, but got target size: (?P<n>\d+)",
        "target-shape",
        "The predictions have one dim, which counts classes: the batch is missing, "
        "or it was squeezed away beside {n} targets.",
    ),
    _Message(
        r"Sizes of tensors must match except in dimension (?P<dim>\d+)\. "
        r"(?:Expected size (?P<needs>\d+) but got size (?P<got>\d+) for tensor number "
        r"(?P<place>\d+))?",
        "joined-sizes-differ",
        "Dim {dim} is the joined one, which may differ. In another dim, tensor "
        "{place} of "
        "the list (counted from 0) has {got} where the first has {needs}.",
    ),
    _Message(
        r"Tensors must have same number of dimensions: got (?P<a>\d+) and (?P<b>\d+)",
        "wrong-rank",
        "`cat` joins tensors along a dim that all of them have: one has {a} dims and "
        "another {b}. The one with fewer lacks a dim, which `unsqueeze` gives it.",
    ),
    _Message(r"zero-dimensional tensor .* cannot be concatenated", "joined-scalars"),
    _Message(
        rf"stack expects each tensor to be equal size(?:, but got "
        rf"{_make_size_pattern('a')} at entry 0 "
        rf"and {_make_size_pattern('b')} at entry (?P<place>\d+))?",
        "stacked-shapes-differ",
        "Tensor 0 is ({a}), tensor {place} is ({b}). In a data loader, these are "
        "two items "
        "of the data set: each batch stacks its items.",
    ),
    _Message(r"split_with_sizes expects|split_size can only", "split-sizes"),
    _Message(
        r"not enough values to unpack|too many values to unpack", "unpacked-sizes"
    ),
    _Message(
        r"Dimension out of range \(expected to be in range of \[(?P<low>-?\d+), "
        r"(?P<high>\d+)\], but got (?P<got>-?\d+)\)",
        "dim-out-of-range",
        "The tensor's dims are 0 to {high} (or {low} to -1); dim {got} is not "
        "among them.",
    ),
    _Message(r"too many indices for tensor of dimension", "too-many-indices"),
    _Message(r"mask .*does not match the shape of the indexed tensor", "mask-shape"),
    _Message(r"shape mismatch: value tensor of shape", "written-shape"),
    _Message(
        r"index (?P<got>-?\d+) is out of bounds for dimension (?P<dim>\d+) with size "
        r"(?P<size>\d+)",
        "index-out-of-range",
        "Dim {dim} has size {size}: indices are 0 to {size} - 1, and {got} came.",
    ),
    _Message(
        r"Target (?P<got>-?\d+) is out of bounds",
        "index-out-of-range",
        "A class label is {got}: with C classes, labels are 0 to C - 1. Labels "
        "from 1 on, a "
        "marker as 255 or -1 (`ignore_index`), or a last layer with too few outputs.",
    ),
    _Message(
        r"index out of range in self|Assertion .*t >= 0 && t < n_classes|"
        r"device-side assert triggered|indexSelectLargeIndex|srcIndex < "
        r"srcSelectDimSize",
        "index-out-of-range",
    ),
    _Message(
        r"Size does not match at dimension \d+ expected index",
        "index-larger-than-source",
    ),
    _Message(
        r"index_copy_|index_add_.*(?:source|self)|Source/destination tensor",
        "source-shape",
    ),
    _Message(r"selected index k out of range", "k-too-large"),
    _Message(
        r"normalized_shape=\[(?P<needs>[^\]]*)\], expected input with shape \[\*, "
        r"(?:[^\]]*)\], but got input of size\s*\[(?P<got>[^\]]*)\]",
        "normalized-shape",
        "The layer was built for last dims of ({needs}); what came is ({got}).",
    ),
    _Message(
        r"running_mean should contain (?P<got>\d+) elements not (?P<needs>\d+)",
        "channel-mismatch",
        "Dim 1 of the input has {got} channels; the batch norm was built for {needs}.",
    ),
    _Message(
        r"Expected more than 1 value per channel when training", "one-value-per-channel"
    ),
    _Message(
        r"[Ee]xpected hidden(?:\[\d\])? size|[Ee]xpected (?:hx|cx|h_0)",
        "hidden-state-shape",
    ),
    _Message(r"input\.size\(-1\) must be equal to input_size", "rnn-input-size"),
    _Message(
        r"Expected `len\(lengths\)`|Expected sequence length|Length of all "
        r"samples has to|`lengths` array must be sorted",
        "packed-lengths",
    ),
    _Message(r"'lengths' argument should be a 1D CPU int64 tensor", "lengths-on-gpu"),
    _Message(r"argument 'hx' .* must be tuple of Tensors", "hidden-state-shape"),
    _Message(r"input, hx should also be \d-D", "hidden-state-shape"),
    _Message(r"parameter group with duplicate parameters", "parameter-repeated"),
    _Message(r"'input' and 'target' must have the same shape", "target-shape"),
    _Message(
        r"size mismatch \(got input: \[(?P<input>[\d, ]+)\] , target: "
        r"\[(?P<target>[\d, ]+)\]",
        "target-shape",
        "The predictions are ({input}), with the classes in dim 1, and the targets are "
        "({target}): all other sizes have to be the same.",
    ),
    _Message(
        rf"Mismatch in shape: grad_output\[\d+\] has a shape of "
        rf"{_make_size_pattern('given')} and output\[\d+\] has a shape of "
        rf"{_make_size_pattern('wanted')}",
        "shape-mismatch",
        "The gradient that is given has the shape ({given}), and what it is the "
        "gradient of ({wanted}): both have to be the same.",
    ),
    _Message(
        r"Expected dtype (?:int32/int64|int64|int32 or int64) for index",
        "dtype-mismatch",
    ),
    _Message(r"Implicit dimension choice for \w+ has been", "wrong-axis"),
    _Message(r"attn_mask|key_padding_mask|key_padded_mask", "attention-mask-shape"),
    _Message(
        r"feature number of|embed_dim.* must be|was expecting embedding dimension",
        "attention-features",
    ),
    _Message(r"batch number of src and tgt", "layout"),
    _Message(r"einsum\(\): .*does not broadcast|einsum\(\): .*size", "einsum-sizes"),
    _Message(r"einsum\(\): the number of subscripts", "einsum-letters"),
    _Message(r"einsum\(\): (?:more|fewer) operands", "einsum-operands"),
    _Message(r"einsum\(\)", "einsum-equation"),
    _Message(
        r"[Ee]rror while processing (?:rearrange|repeat|\w+)-reduction "
        r"pattern|EinopsError|"
        r"can't divide axis of length",
        "einops-pattern",
    ),
    _Message(
        r"Expected input batch_size \((?P<a>\d+)\) to match target "
        r"batch_size \((?P<b>\d+)\)",
        "target-shape",
        "The predictions have {a} rows, the targets {b}: one of them lost or "
        "merged its "
        "batch dim on the way.",
    ),
    _Message(
        r"Expected target size|only batches of spatial targets supported|"
        r"0D or 1D target tensor expected|multi-target not supported",
        "one-hot-target",
    ),
    _Message(
        r"Target size .* must be the same as input size|input and target "
        r"shapes do not match",
        "target-shape",
    ),
    _Message(
        rf"Using a target size \({_make_size_pattern('target')}\) that is "
        rf"different to the input size "
        rf"\({_make_size_pattern('input')}\)",
        "outer-broadcast",
        "The target is ({target}), the prediction ({input}): they are broadcast "
        "against "
        "each other, so the loss compares pairs that do not belong together.",
    ),
    _Message(r"weight tensor should be defined either for all", "class-weights"),
    _Message(
        r"expected (?:m1 and m2|scalar type|mat1 and mat2)|must have the "
        r"same dtype|"
        r"[Ff]ound dtype|tensors used as indices must be|to have the same dtype, but|"
        r"not implemented for '|have one of the following scalar types|"
        r"floating point type for target|expected target dtype|result type .* "
        r"can't be cast",
        "dtype-mismatch",
    ),
    _Message(
        r"tensors? (?:to|must) be on the same device|found at least two devices|"
        r"indices should be either on cpu or on the same device|"
        r"Input and (hidden|parameter) tensors are not at the same device|"
        r"Input type \(torch\.cuda\.\w+\) and weight type \(torch\.(?!cuda)\w+\)|"
        r"Input type \(torch\.(?!cuda)\w+\) and weight type \(torch\.cuda\.\w+\)",
        "mixed-devices",
    ),
    _Message(
        r"Input type .* and (?:bias|weight) type .* should be the same",
        "dtype-mismatch",
    ),
    _Message(
        r"CUDA-capable device|not compiled with CUDA|No CUDA GPUs|invalid "
        r"device ordinal",
        "missing-device",
    ),
    _Message(r"CUDA out of memory", "out-of-memory"),
    _Message(r"backward through the graph a second time", "graph-freed"),
    _Message(r"modified by an inplace operation", "saved-tensor-written"),
    _Message(r"is a view and is being modified inplace", "saved-tensor-written"),
    _Message(
        r"leaf [Vv]ariable that requires grad is being used in an in-place",
        "leaf-written",
    ),
    _Message(
        r"does not require grad and does not have a grad_fn|"
        r"differentiated Tensors does not require grad",
        "graph-cut",
    ),
    _Message(r"[Gg]rad attribute of a Tensor that is not a leaf", "no-gradient-kept"),
    _Message(r"empty parameter list|can't optimize a non-leaf", "nothing-to-train"),
    _Message(r"finished reduction in the prior iteration", "unused-parameters"),
    _Message(r"before Module\.__init__\(\) call", "not-a-module-yet"),
    _Message(
        r"Can't call numpy\(\)|can't convert cuda.*numpy|unsupported "
        r"ScalarType BFloat16",
        "to-numpy",
    ),
    _Message(
        r"size mismatch for (?P<key>[\w.]+): copying a param with shape "
        rf"{_make_size_pattern('saved')} from checkpoint, the shape in current model "
        rf"is {_make_size_pattern('built')}",
        "state-dict-mismatch",
        "`{key}` is ({saved}) in what is loaded and ({built}) in the model: it was "
        "saved of a model that was built with other sizes, or of another one.",
    ),
    _Message(
        r"invalid index of a 0-dim tensor",
        "too-many-indices",
        "A single number has no dims, so `[0]` takes nothing out of it: `x.item()` is "
        "the number.",
    ),
    _Message(
        r"masked_fill_? only supports boolean masks, but got (?:mask with )?dtype "
        r"(?P<kind>[\w ]+)",
        "dtype-mismatch",
        "The mask is of {kind}: `mask.bool()`, or a comparison such as `tokens == 0`, "
        "is true and false.",
    ),
    _Message(
        r"random_ expects 'from' to be less than 'to', but got from=(?P<low>-?\d+) >= "
        r"to=(?P<high>-?\d+)",
        "torch-error",
        "No number is at least {low} and less than {high}: the upper limit is mostly a "
        "length less another one, such as that of a crop that is longer than its data.",
    ),
    _Message(
        r"Expected parameter (?P<name>\w+) .* of distribution (?P<kind>\w+)\(.*to "
        r"satisfy the constraint",
        "nan-in-data",
        "`{name}` of `{kind}` holds NaN, infinity or what is out of its range. Mostly "
        "an earlier step made it so: a logarithm of 0, a division by 0, a learning "
        "rate that is too large. The loss of the step before was no number either.",
    ),
    _Message(
        r"cannot access local variable '(?P<name>\w+)' where it is not associated "
        r"with a value|local variable '\w+' referenced before assignment",
        "program-error",
        "No statement that gives the name a value has run before this line: it stands "
        "in a branch, or a loop, that was not entered.",
    ),
    _Message(
        r"IndexError: index (?P<got>\d+) is out of range",
        "program-error",
        "An `nn.ModuleList` or `nn.Sequential` is read at place {got}, and holds fewer "
        "layers: places are 0 to `len(layers) - 1`.",
    ),
    _Message(
        r"in loading state_dict|Missing key|Unexpected key", "state-dict-mismatch"
    ),
    _Message(
        r"grad can be implicitly created only for scalar outputs",
        "shape-mismatch",
        "`backward()` starts from a single number, and the loss holds several: "
        "nothing has reduced it. `loss.mean()` or `loss.sum()` does, behind the whole "
        "product where each error has its own weight.",
    ),
    _Message(
        r"loaded state dict (?:has a different number of parameter groups|contains a "
        r"parameter group that doesn't match the size of optimizer's group)",
        "state-dict-mismatch",
        "It is the state of an optimizer: it was saved with other parameter groups "
        "than those of the optimizer that loads it, as where layers were frozen or "
        "added in between. The optimizer is built with the same groups first.",
    ),
    _Message(r"lr_scheduler\.step\(\)` before `optimizer\.step\(\)", "scheduler-order"),
    _Message(r"Tried to step \d+ times", "scheduler-too-long"),
    _Message(
        r"tuple' object has no attribute|tuple indices must be integers|"
        r"must be Tensor, not (?:tuple|torch\.return_types)",
        "tuple-as-tensor",
    ),
    _Message(
        r"each element in list of batch should be of equal size|"
        r"in DataLoader worker process",
        "items-do-not-stack",
    ),
    _Message(
        r"a Tensor with (?P<count>\d+) elements cannot be converted to Scalar",
        "shape-mismatch",
        "One number is read of a tensor that holds {count}.",
    ),
    _Message(r"No module named|No such file or directory", "not-here"),
    _Message(r"must be batches of square|linalg.* square", "not-square"),
    _Message(
        r"divisible by the square|pixel_shuffle|pixel_unshuffle", "shuffled-sizes"
    ),
)
"""The first that is found in a message counts."""


@cache
def _build_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def find_message(text: str) -> tuple[str, str] | None:
    """Return the code for a message of torch, and what its numbers are (or nothing).

    Example: ``find_message("mat1 and mat2 shapes cannot be multiplied (8x4 and 5x2)")``
    gives ``("inner-dim-mismatch", "The left one has 8 rows of 4 numbers: ...")``.
    """
    line = " ".join(text.split())
    for message in MESSAGES:
        match = _build_pattern(message.pattern).search(line)
        if match is None:
            continue
        groups = {name: value for name, value in match.groupdict().items() if value}
        try:
            return message.code, message.words.format(**groups)
        except KeyError:  # a form of the message without these numbers
            return message.code, ""
    return None
