"""What a run needs and this machine does not have: a value of it, and its error."""

from __future__ import annotations

import re

UNFOLLOWED = re.compile(r"Could not run 'aten::_?(\w+)' .* from the 'Sparse\w*Meta'")
"""What torch says of its own functions for sparse tensors on the meta device."""


class NotHere(Exception):
    """Raised where what is not on this machine decides what comes next."""


class ValueNotHere:
    """The base of values of what is not on this machine.

    Compiled code refuses one by the name of its class, in the words of a `TypeError`.
    """

    def _write_question(self, doing: str) -> str:
        """Return the sentence that asks for it, since something depends on it."""
        raise NotImplementedError
