"""Importing this registers every kind of hazard."""

from shapewright.reasoning.hazards import batch_axis as batch_axis
from shapewright.reasoning.hazards import batch_dependence as batch_dependence
from shapewright.reasoning.hazards import cpu_tensor as cpu_tensor
from shapewright.reasoning.hazards import einsum as einsum
from shapewright.reasoning.hazards import implicit_broadcast as implicit_broadcast
from shapewright.reasoning.hazards import layout as layout
from shapewright.reasoning.hazards import lost_batch as lost_batch
from shapewright.reasoning.hazards import mask_axis as mask_axis
from shapewright.reasoning.hazards import mixing_views as mixing_views
from shapewright.reasoning.hazards import one_sample as one_sample
from shapewright.reasoning.hazards import outer_broadcast as outer_broadcast
from shapewright.reasoning.hazards import repeated_index as repeated_index
from shapewright.reasoning.hazards import wrong_axis as wrong_axis
