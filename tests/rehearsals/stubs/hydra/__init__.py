"""Stands for hydra: a file of two levels, and `section.key=value` from the command."""

import ast
import functools
import sys
from pathlib import Path

from omegaconf import DictConfig


def value(text):
    text = text.strip()
    if text.lower() in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text.lower()]
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def read(path):
    config = DictConfig()
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            continue
        key, _, text = line.partition(":")
        if not line.startswith(" "):
            section = config.setdefault(key.strip(), DictConfig())
        elif text.strip():
            section[key.strip()] = value(text)
    config.pop("hydra", None)
    return config


def main(version_base=None, config_path=None, config_name=None):
    def decorate(function):
        @functools.wraps(function)
        def run():
            folder = Path(function.__code__.co_filename).resolve().parent
            config = read(folder / (config_path or ".") / f"{config_name}.yaml")
            for argument in sys.argv[1:]:
                names, _, text = argument.partition("=")
                section, _, key = names.partition(".")
                config[section][key] = value(text)
            return function(config)

        return run

    return decorate
