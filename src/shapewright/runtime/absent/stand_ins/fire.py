"""fire: a function that is called with what the command line says."""

from __future__ import annotations

import ast
import inspect
import sys
from typing import Any

SOURCE = "signatures of https://github.com/google/python-fire, 0.7"
VERSION = "0.7.0"


def Fire(component: Any = None, command: Any = None, name: Any = None) -> Any:
    """Call a function, or a method of a class, with the words of the command line."""
    words = command.split() if isinstance(command, str) else command
    words = list(sys.argv[1:] if words is None else words)
    args: list[Any] = []
    options: dict[str, Any] = {}
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            args.append(_read_word(word))
            continue
        key, equals, text = word[2:].partition("=")
        key = key.replace("-", "_")
        if equals:
            options[key] = _read_word(text)
        elif words and not words[0].startswith("--"):
            options[key] = _read_word(words.pop(0))
        else:
            options[key] = True
    if isinstance(component, dict) and args:
        component = component[args.pop(0)]
    if inspect.isclass(component) and args and hasattr(component, str(args[0])):
        return getattr(component(), args.pop(0))(*args, **options)
    return component(*args, **options) if callable(component) else component


def _read_word(word: str) -> Any:
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word


MODULES: dict[str, dict[str, Any]] = {"": {"Fire": Fire}}
