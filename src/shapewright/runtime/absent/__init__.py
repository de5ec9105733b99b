"""Stand-ins for data and packages that are not on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from shapewright.runtime.absent.array_files import replace_array_files
from shapewright.runtime.absent.checkpoints import replace_checkpoints
from shapewright.runtime.absent.data_sets import replace_given_data_sets
from shapewright.runtime.absent.extensions import replace_extensions
from shapewright.runtime.absent.given_values import Answers
from shapewright.runtime.absent.image_sets import replace_image_sets
from shapewright.runtime.absent.network import refuse_network
from shapewright.runtime.absent.packages import replace_packages
from shapewright.runtime.absent.paths import AbsentPaths, replace_path_questions
from shapewright.runtime.absent.pictures import replace_pictures
from shapewright.runtime.absent.pretrained_models import replace_pretrained_models
from shapewright.runtime.absent.tables import replace_tables
from shapewright.runtime.absent.tellers import build_teller
from shapewright.runtime.absent.text_files import replace_text_files

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState


@contextmanager
def replace_absent_data(stage: RehearsalState) -> Iterator[None]:
    """Stand in for absent data in the block."""
    settings = stage.stand_ins
    tell = build_teller(stage.engine, settings.strict)
    paths = AbsentPaths(settings, tell, stage.owns)
    answers = Answers(settings.answers, tell)
    with ExitStack() as stack:
        stack.enter_context(refuse_network(tell))
        stack.enter_context(replace_array_files(paths))
        stack.enter_context(replace_text_files(paths))
        stack.enter_context(replace_tables(paths))
        stack.enter_context(replace_pictures(paths))
        stack.enter_context(replace_checkpoints(paths))
        stack.enter_context(replace_image_sets(tell))
        stack.enter_context(replace_given_data_sets(settings, tell))
        stack.enter_context(replace_pretrained_models(tell))
        stack.enter_context(replace_path_questions(paths))
        stack.enter_context(replace_extensions(tell, answers))
        stack.enter_context(replace_packages(tell, stage.owns, answers))
        yield
