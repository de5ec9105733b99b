"""The registry of facts about torch's operators.

Each family declares the facts of its operators in its ``__init__.py``; whoever needs
the operators of a fact asks here:

    >>> sorted(operators_with("is_convolution"))
    ['conv1d', 'conv2d', 'conv3d']
    >>> values_of("spatial_dims")["conv_transpose2d"]
    2

An operator has the last part of its name in torch, or a name that kernels, Python's
special methods or its sign have: `cat`, `_unique2`, `__add__`, `+`. The registry loads
no rules, needs or index maps; ask it at import, not for each call.
"""

from __future__ import annotations

from typing import Any

from shapewright.operators import (
    attention,
    convolution,
    creation,
    indexing,
    joining,
    linear_algebra,
    losses,
    matmul,
    normalization,
    padding,
    pointwise,
    pooling,
    recurrent,
    reduction,
    tensor_methods,
    view_operators,
)

MEANINGS = {
    # dims and shapes
    "concatenates": "joins tensors along a dim that they have",
    "joins_tensors": "takes a list of tensors and returns one",
    "repeats_whole": "repeats a whole tensor along its dims",
    "splits": "cuts a tensor into parts along a dim",
    "is_view": "may return a view of an input, so torch runs every call",
    "keeps_elements": "returns its elements in another shape, dtype or memory",
    "regroups_dims": "keeps the order of the elements and divides it into other dims",
    "copies_if_needed": "returns a view of contiguous memory, else a copy",
    "stretches_dims": "repeats elements along dims of size 1, without a copy",
    "takes_new_sizes": "takes the sizes of its output, which hold as many elements",
    "takes_entry_per_dim": "takes one number for each dim of its input",
    "takes_sizes": "takes only sizes after its tensor",
    "takes_size_first": "takes a size as its first argument after its tensor",
    "transposes_dims": "exchanges two dims",
    "moves_dims": "adds, removes or exchanges dims",
    "removes_dims": "removes so many dims (a negative number: adds)",
    "shows_elements": "shows all or some elements of its input, however large",
    "shows_range": "returns a range of positions if it is given one",
    "ranks_along": "returns where its largest elements are, the dim at this position",
    "keeps_shape": "returns a tensor of the shape of its first argument",
    "changes_tensor_itself": "changes sizes or flags of the tensor object",
    "has_no_kernel": "works on the tensor in place without a kernel of its own",
    "outgrows_inputs": "may return more elements than its inputs have",
    "may_be_superfluous": "a method that may be one too many: a fix leaves it out",
    "mistaken_for": "the function that was probably meant",
    # factories and random numbers
    "is_factory": "makes a tensor of no other tensor's elements",
    "is_sized_factory": "makes a tensor of the sizes that it is given",
    "is_range_factory": "makes evenly spaced numbers",
    "takes_program_data": "takes its values from data of the program",
    "leaves_values_unset": "makes a tensor of uninitialized memory",
    "ignores_given_values": "takes a tensor of which it reads metadata only",
    "preallocates": "makes a tensor that a loop then fills",
    "collects_results": "makes a tensor that holds what came step by step",
    "fills_with": "the number of which all elements are",
    "fill_value_at": "fills a tensor with a number, its argument at this position",
    "follows_from_numbers": "has values that follow from the numbers it is given",
    "has_default_dtype": "has torch's default dtype unless `dtype` is given",
    "has_integer_dtype": "has dtype int64 unless `dtype` is given",
    "has_dtype_of_values": "has a dtype that follows from its values unless `dtype` "
    "is given",
    "is_drawn_by_hand": "makes a tensor and is drawn without an index map",
    "is_random": "draws random numbers",
    "drops_elements": "sets random elements to zero while it trains",
    "makes_random_features": "makes features of a fixed random projection",
    "overwrites_all": "overwrites every element of a tensor",
    # values
    "returns_python_value": "returns a Python value that depends on elements",
    "has_representative": "the Python value returned where elements are unknown",
    "depends_on_data": "returns a shape that depends on elements",
    "finds_nonzero": "returns the places of elements that are not zero",
    "reads_integers": "has a kernel that reads integers even without data",
    "tests_finiteness": "tests whether elements are NaN or infinite",
    "keeps_promise": "returns values that keep a promise, such as a sum of 1",
    "stays_positive": "returns positive numbers for positive numbers",
    "counts_truths": "counts truths or shows how many there are",
    "compares_elements": "compares elements",
    "needs_all_truths": "returns truths only where all its operands are true",
    "needs_any_truth": "returns truths where any of its operands is true",
    "carries_guesses": (
        "may be computed on representatives that have answered a question"
    ),
    "returns_indices": "returns indices along a dim",
    "sorts_elements": "puts elements in order, or returns the order",
    "reads_by_index": "returns the elements at places that an index gives",
    "returns_values_and_indices": "returns values and their indices along a dim",
    "clamps": "limits elements to a range",
    "has_limits_at": "numbers values by the limits between them, this operand",
    "returns_distinct_indices": "returns places or counts that it finds once",
    # indices and masks
    "indexes_along_dim": "takes a dim and an index along it",
    "indexes_each_element": "takes an index of as many dims as its input has",
    "has_index_bounds": "takes indices of rows, classes or places",
    "writes_by_index": "writes to places that an index gives",
    "adds_by_index": "adds up elements by an index, as messages along edges",
    "takes_integers": "takes integers as its first argument",
    "takes_mask": "takes a boolean mask as its second argument",
    "fills_by_mask": "hides elements by a mask",
    "leads_to_softmax": "scales, casts or hides scores before a softmax",
    "keeps_triangle": "keeps one triangle of a matrix",
    "keeps_mask": "returns a mask with the same truths",
    # elementwise
    "is_arithmetic": "adds, subtracts, multiplies or divides elements",
    "broadcasts_operands": "broadcasts two operands",
    "subtracts": "subtracts elements",
    "negates": "returns elements with the other sign",
    "is_logarithm": "returns a logarithm of each element",
    "keeps_zeros": "returns 0 where an element is 0",
    "limits_from_below": "may return something larger where an element is small",
    "replaces_odd_values": "asks for NaN and infinities, or puts values in their place",
    "limits_elements": "chooses the smaller or larger of elements",
    "divides_elements": "divides elements by others",
    "adds_terms": "puts a term beside others",
    "takes_plain_numbers": "takes plain numbers too and returns a CPU tensor",
    "leads_to_loss": "stands between pairs of elements and the loss made of them",
    "makes_column": "makes a column of its own accord: one element for each step",
    "pairs_operands": "takes two tensors of shapes that broadcast",
    "computes_each_element": "computes each element of one or two tensors on its own",
    "replaces_loops": "is not elementwise and stands in loops or what replaces them",
    "reads_sign": "returns numbers whose signs or fractions are read",
    "gives_soft_labels": "returns what may be the share of each class",
    "rounds": "rounds elements to integers or to quantized values",
    "has_zero_gradient": "has a gradient that is zero or is cut off",
    "updates_elements": "an in-place function of optimizers, safe for equal shapes",
    # along a dim
    "adds_up_elements": "returns the sum or the mean of elements",
    "reduces_dims": "reduces dims to one value",
    "measures_spread": "returns a deviation or a variance",
    "reduces_in_loops": "reduces a dim, as a loop over it may do",
    "accumulates": "accumulates elements along a dim",
    "normalizes_along_dim": "divides elements among those of a dim",
    "finds_extremes": "finds the largest or smallest element",
    "needs_dim": "takes a dim, which is 0 where there is one",
    "needs_floats": "takes integers only with a `dtype`",
    "keeps_weights": (
        "returns weights that sum to one along an axis if it is given such"
    ),
    # products, layers and losses
    "is_product": "multiplies matrices or vectors",
    "lays_out_anew": "lays `out=` anew on the CPU too, even where it fits",
    "spatial_dims": "the number of spatial dims of a convolution",
    "is_convolution": "a convolution that is not transposed",
    "is_transposed_convolution": "a transposed convolution",
    "is_recurrent": "runs a recurrent layer over a sequence",
    "is_recurrent_cell": "runs one step of a recurrent layer",
    "treats_rows_alone": "treats each row, which is the last dim, alone",
    "is_loss": "a loss",
    "takes_class_indices": "a loss whose target may be the index of a class",
    "pulls_together": "measures how near two tensors are",
    "expects_input": "what a loss expects: logits, probabilities, log-probabilities",
    "takes_instead": "the loss that fits, by what it is given",
    "layer_of_loss": "the layer of a loss",
    "lies_within": "has elements of no less and no more than these numbers",
    "stays_within": "returns numbers between the lowest and highest of its input",
    "gives_values": "what an activation returns, in the words of `expects_input`",
    "gives_range": "the lowest and the highest number that an activation returns",
    "gives_logits": "a layer whose outputs are logits unless an activation follows",
    "signs_at": "has targets of 1 and -1, at this place among its tensors",
    "is_elementwise_loss": "a loss of elements and targets that broadcast",
    "warns_of_shapes": "a loss in which torch warns of two shapes",
    "takes_only_tensors": "takes tensors only, not numbers",
    "treats_samples_alone": "treats samples of a nested tensor like those of a batch",
    "chooses_kernel": "has a kernel on the CPU that differs from the data-free one",
    "needs_equal_dtypes": "has no rule for every dtype, and operands that share one",
    "lays_by_columns": "returns matrices by columns, as LAPACK does",
    # devices, the graph, metadata
    "moves_device": "moves a tensor to a device",
    "reads_device": "reads the device of a tensor",
    "mixes_devices": "takes tensors on two devices",
    "takes_cpu_indices": "takes indices that may be on the CPU",
    "takes_sizes_on_cpu": "takes sizes or lengths on the CPU beside its operands",
    "returns_sizes_on_cpu": "returns sizes or lengths on the CPU beside its result",
    "accepts_cpu_tensor": (
        "takes a CPU tensor beside others, or gives values to the CPU"
    ),
    "needs_graph": "needs torch's graph",
    "leaves_graph": "returns the values without the graph",
    "does_not_compute": "hooks, pins, loads or gives away a tensor or layer",
    "reads_metadata": "reads metadata that a data-free tensor has too",
    "reads_size": "reads sizes or strides",
    # autocast
    "autocast_lower": "autocast runs it in its dtype",
    "autocast_lower_cpu": "on the CPU, autocast runs it in its dtype",
    "autocast_lower_cuda": "on a GPU, autocast runs it in its dtype",
    "autocast_full": "autocast runs it in float32",
    "autocast_full_cpu": "on the CPU, autocast runs it in float32",
    "autocast_full_cuda": "on a GPU, autocast runs it in float32",
    "autocast_widest_cpu": (
        "on the CPU, autocast runs it in the widest dtype of its operands"
    ),
    "autocast_widest_cuda": (
        "on a GPU, autocast runs it in the widest dtype of its operands"
    ),
    "autocast_name": "the name that stands for it in autocast's lists",
    "contains_autocast": "calls other operators that autocast casts for",
    "overrides_autocast": "has a `dtype` argument that overrides autocast",
}
"""Every fact, and what an operator that has it does, is or has."""

FAMILIES = (
    attention, convolution, creation, indexing, joining, linear_algebra, losses,
    matmul, normalization, padding, pointwise, pooling, recurrent, reduction,
    view_operators, tensor_methods,
)  # fmt: skip


def operators_with(*facts: str) -> frozenset[str]:
    """Return the names of the operators that have at least one of the facts."""
    names = set[str]()
    for declared in (part for fact in facts for part in _declared(fact)):
        names.update(declared if isinstance(declared, dict) else declared.split())
    return frozenset(names)


def values_of(fact: str) -> dict[str, Any]:
    """Return the value of a fact for each operator that has it."""
    return {name: value for part in _declared(fact) for name, value in part.items()}


def _declared(fact: str) -> list[Any]:
    """Return what each family declares as a fact: a string of names, or a dict."""
    if fact not in MEANINGS:
        raise KeyError(f"no fact is called {fact}")
    return [family.FACTS[fact] for family in FAMILIES if fact in family.FACTS]
