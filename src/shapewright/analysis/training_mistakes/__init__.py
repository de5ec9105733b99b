"""Find all mistakes of a training run, except those that the user switched off."""

from __future__ import annotations

from collections.abc import Collection

from shapewright.analysis.hazards import is_ignored_here
from shapewright.analysis.program_run import Program, as_far_as_known
from shapewright.analysis.training_mistakes import accuracies as accuracies
from shapewright.analysis.training_mistakes import argument_names as argument_names
from shapewright.analysis.training_mistakes import array_shapes as array_shapes
from shapewright.analysis.training_mistakes import (
    augmented_evaluation as augmented_evaluation,
)
from shapewright.analysis.training_mistakes import carried_states as carried_states
from shapewright.analysis.training_mistakes import changed_draws as changed_draws
from shapewright.analysis.training_mistakes import checkpoints as checkpoints
from shapewright.analysis.training_mistakes import class_weights as class_weights
from shapewright.analysis.training_mistakes import (
    clipped_gradients as clipped_gradients,
)
from shapewright.analysis.training_mistakes import copied_rows as copied_rows
from shapewright.analysis.training_mistakes import counters as counters
from shapewright.analysis.training_mistakes import data_sets as data_sets
from shapewright.analysis.training_mistakes import (
    early_statistics as early_statistics,
)
from shapewright.analysis.training_mistakes import early_stopping as early_stopping
from shapewright.analysis.training_mistakes import (
    filtered_indices as filtered_indices,
)
from shapewright.analysis.training_mistakes import folds as folds
from shapewright.analysis.training_mistakes import (
    forgotten_parameters as forgotten_parameters,
)
from shapewright.analysis.training_mistakes import frozen_flags as frozen_flags
from shapewright.analysis.training_mistakes import guidance as guidance
from shapewright.analysis.training_mistakes import kept_graphs as kept_graphs
from shapewright.analysis.training_mistakes import label_columns as label_columns
from shapewright.analysis.training_mistakes import late_bindings as late_bindings
from shapewright.analysis.training_mistakes import layer_sizes as layer_sizes
from shapewright.analysis.training_mistakes import loss_averages as loss_averages
from shapewright.analysis.training_mistakes import (
    metric_arguments as metric_arguments,
)
from shapewright.analysis.training_mistakes import (
    metric_directions as metric_directions,
)
from shapewright.analysis.training_mistakes import (
    metric_formulas as metric_formulas,
)
from shapewright.analysis.training_mistakes import missing_steps as missing_steps
from shapewright.analysis.training_mistakes import model_copies as model_copies
from shapewright.analysis.training_mistakes import norm_statistics as norm_statistics
from shapewright.analysis.training_mistakes import (
    numbered_classes as numbered_classes,
)
from shapewright.analysis.training_mistakes import optimization as optimization
from shapewright.analysis.training_mistakes import orders_as_ranks as orders_as_ranks
from shapewright.analysis.training_mistakes import out_of_memory as out_of_memory
from shapewright.analysis.training_mistakes import (
    paired_augmentations as paired_augmentations,
)
from shapewright.analysis.training_mistakes import preparations as preparations
from shapewright.analysis.training_mistakes import (
    recorded_evaluations as recorded_evaluations,
)
from shapewright.analysis.training_mistakes import repeated_seeds as repeated_seeds
from shapewright.analysis.training_mistakes import (
    restarted_loaders as restarted_loaders,
)
from shapewright.analysis.training_mistakes import return_orders as return_orders
from shapewright.analysis.training_mistakes import (
    reversed_updates as reversed_updates,
)
from shapewright.analysis.training_mistakes import same_branches as same_branches
from shapewright.analysis.training_mistakes import sampler_epochs as sampler_epochs
from shapewright.analysis.training_mistakes import (
    scaled_deviations as scaled_deviations,
)
from shapewright.analysis.training_mistakes import schedules as schedules
from shapewright.analysis.training_mistakes import (
    shared_data_sets as shared_data_sets,
)
from shapewright.analysis.training_mistakes import (
    shuffled_results as shuffled_results,
)
from shapewright.analysis.training_mistakes import single_turns as single_turns
from shapewright.analysis.training_mistakes import sorted_labels as sorted_labels
from shapewright.analysis.training_mistakes import terminal_states as terminal_states
from shapewright.analysis.training_mistakes import training_modes as training_modes
from shapewright.analysis.training_mistakes import (
    undivided_losses as undivided_losses,
)
from shapewright.analysis.training_mistakes import (
    unequal_transforms as unequal_transforms,
)
from shapewright.analysis.training_mistakes import unpaired_turns as unpaired_turns
from shapewright.analysis.training_mistakes import worker_copies as worker_copies
from shapewright.analysis.training_mistakes import written_rates as written_rates
from shapewright.analysis.training_mistakes.context import RehearsalContext
from shapewright.findings.codes import TIMEOUT, list_lookers
from shapewright.findings.finding import Finding
from shapewright.record.report import Rehearsal


def find_mistakes(
    program: Program, rehearsal: Rehearsal, ignored: Collection[str] = ()
) -> list[Finding]:
    """Return the findings of all kinds, without repeating one at the same place."""
    scene = RehearsalContext(program, rehearsal)
    findings: dict[object, Finding] = {}
    unfinished = bool(program.failures) or not program.trace.complete
    stopped = any(finding.code == TIMEOUT for finding in program.trace.findings)
    alone = stopped and not program.failures  # nothing else ended the run
    for looker in list_lookers("mistake"):
        if unfinished and (
            looker.of_whole_runs or (looker.misled_by_errors and not alone)
        ):
            continue
        for finding in as_far_as_known(looker.find(scene)):
            if finding.code not in ignored and not is_ignored_here(program, finding):
                findings.setdefault(
                    (finding.code, finding.span, finding.message), finding
                )
    return list(findings.values())
