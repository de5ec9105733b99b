"""Stand-ins for data and packages that are not on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from shapewright.runtime.absent.array_files import replace_array_files
from shapewright.runtime.absent.checkpoints import replace_checkpoints
from shapewright.runtime.absent.image_sets import replace_image_sets
from shapewright.runtime.absent.packages import replace_packages
from shapewright.runtime.absent.text_files import replace_text_files

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState


@contextmanager
def replace_absent_data(stage: RehearsalState) -> Iterator[None]:
    """Stand in for absent data in the block."""
    tell = stage.engine.assume
    with ExitStack() as stack:
        stack.enter_context(replace_array_files(tell))
        stack.enter_context(replace_text_files(tell, stage.story.holds))
        stack.enter_context(replace_checkpoints(tell))
        stack.enter_context(replace_image_sets(tell))
        stack.enter_context(replace_packages(tell, stage.story.holds))
        yield
