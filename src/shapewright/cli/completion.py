"""`shapewright completion`: what a shell offers after TAB, made from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shapewright.cli import output
from shapewright.cli.parser import Parser

SUMMARY = "what bash, zsh or fish completes after TAB"

DESCRIPTION = """\
Print a script that completes commands, options, their values, files and codes.

  eval "$(shapewright completion bash)"        in ~/.bashrc
  eval "$(shapewright completion zsh)"         in ~/.zshrc, after compinit
  shapewright completion fish | source         in ~/.config/fish/config.fish
"""


@dataclass(frozen=True, slots=True)
class _Option:
    """An option: its spellings, whether a value follows, and what that may be.

    `is_file` is true if the value is the name of a file.
    """

    flags: tuple[str, ...]
    has_value: bool
    choices: tuple[str, ...]
    is_file: bool
    help: str


@dataclass(frozen=True, slots=True)
class _Command:
    """A command; `words` are what may follow it, apart from options, and `has_files`
    is whether files may.
    """

    name: str
    help: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]
    has_files: bool = False


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `shapewright completion`."""
    parser.add_argument(
        "shell",
        metavar="SHELL",
        choices=tuple(_WRITERS),
        help=", ".join(_WRITERS),
    )


def run(options: argparse.Namespace) -> int:
    """Print the script of a shell; `options.parser` is the parser of all commands."""
    output.show(_WRITERS[options.shell](list(_iter_commands(options.parser))))
    return 0


def _iter_commands(parser: argparse.ArgumentParser) -> Iterator[_Command]:
    """Yield the commands of a parser, first the line without any as `""`."""
    from shapewright.findings.codes import CODES

    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        names = tuple(action.choices)
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
        yield _Command("", "", tuple(_iter_options(parser)), (*names, "help"))
        yield _Command("help", "the options of a command", (), names)
        for name, command in action.choices.items():
            words = tuple(
                str(choice)
                for positional in command._get_positional_actions()
                for choice in positional.choices or ()
            )
            if name == "explain":
                words = tuple(sorted(CODES))
            options = tuple(_iter_options(command))
            has_files = name == "explain" or not words  # a line of a file is drawn
            yield _Command(name, helps[name], options, words, has_files)


def _iter_options(parser: argparse.ArgumentParser) -> Iterator[_Option]:
    for action in parser._get_optional_actions():
        yield _Option(
            tuple(action.option_strings),
            action.nargs != 0,
            tuple(map(str, action.choices or ())),
            action.type is Path,
            " ".join((action.help or "").split()),
        )


# -- bash ------------------------------------------------------------------------------

_BASH = """\
_shapewright() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local command= at words=
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${{COMP_WORDS[at]}} in
            {names}) command=${{COMP_WORDS[at]}}; break ;;
        esac
    done
    COMPREPLY=()
    case "$command $before" in
{values}
    esac
    case "$command" in
{words}
    esac
    case "$command $word" in
        *" "-* | " "* | "help "* | "completion "*) ;;
        *) compopt -o default 2>/dev/null ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -F _shapewright shapewright
"""


def _write_bash(commands: Sequence[_Command]) -> str:
    values, words = [], []
    for command in commands:
        listed = " ".join(_list_words(command))
        words.append(f'        "{command.name}") words="{listed}" ;;')
        for option in command.options:
            patterns = "|".join(f'"{command.name} {flag}"' for flag in option.flags)
            if option.has_value:
                values.append(f"        {patterns}) {_write_bash_value(option)} ;;")
    return _BASH.format(
        names="|".join(command.name for command in commands if command.name),
        values="\n".join(values),
        words="\n".join(words),
    )


def _write_bash_value(option: _Option) -> str:
    if option.choices:
        words = " ".join(option.choices)
        return f'COMPREPLY=($(compgen -W "{words}" -- "$word")); return'
    return "compopt -o default 2>/dev/null; return" if option.is_file else "return"


def _list_words(command: _Command) -> list[str]:
    flags = [flag for option in command.options for flag in option.flags]
    return [*command.words, *flags]


# -- zsh -------------------------------------------------------------------------------

_ZSH = """\
#compdef shapewright
_shapewright() {{
    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        local -a commands=({names})
        _describe command commands
        return
    fi
    local command=$words[2]
    [[ $command == -* ]] || {{ shift words; (( CURRENT-- )); }}
    case $command in
{cases}
    esac
}}
compdef _shapewright shapewright
"""


def _write_zsh(commands: Sequence[_Command]) -> str:
    names = [
        _quote_zsh(f"{command.name}:{command.help}")
        for command in commands
        if command.name
    ]
    cases = []
    for command in commands:
        specs = [_write_zsh_option(option) for option in command.options]
        words = f"({' '.join(command.words)})"
        if command.words and command.has_files:
            specs.append(
                f'\'*:word: _alternative "words:word:{words}" "files:file:_files"\''
            )
        else:
            specs.append(f"'*:word:{words}'" if command.words else "'*:target:_files'")
        head = command.name or "-*"
        cases.append(f"        {head}) _arguments : {' '.join(specs)} ;;")
    return _ZSH.format(names=" ".join(names), cases="\n".join(cases))


def _write_zsh_option(option: _Option) -> str:
    written = option.help.replace("[", r"\[").replace("]", r"\]").replace(":", r"\:")
    value = ""
    if option.choices:
        value = f":value:({' '.join(option.choices)})"
    elif option.has_value:
        value = ":file:_files" if option.is_file else ":value: "
    return " ".join(_quote_zsh(f"*{flag}[{written}]{value}") for flag in option.flags)


def _quote_zsh(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# -- fish ------------------------------------------------------------------------------


def _write_fish(commands: Sequence[_Command]) -> str:
    lines = []
    for command in commands:
        where = "__fish_use_subcommand"
        if command.name:
            where = f"__fish_seen_subcommand_from {command.name}"
            if command.name != "help":
                where += "; and not __fish_seen_subcommand_from help"
            lines.append(
                "complete -c shapewright -f -n __fish_use_subcommand"
                f" -a {command.name} -d {_quote_fish(command.help)}"
            )
        lines += [_write_fish_option(option, where) for option in command.options]
        if command.name and command.words:
            files = "" if command.has_files else " -f"
            lines.append(
                f"complete -c shapewright{files} -n {_quote_fish(where)}"
                f" -a {_quote_fish(' '.join(command.words))}"
            )
    return "".join(f"{line}\n" for line in lines)


def _write_fish_option(option: _Option, where: str) -> str:
    flags = " ".join(
        f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
        for flag in option.flags
    )
    value = ""
    if option.has_value:
        value = " -r" if option.is_file else " -x"
        if option.choices:
            value += f" -a {_quote_fish(' '.join(option.choices))}"
    return (
        f"complete -c shapewright -n {_quote_fish(where)} {flags}{value}"
        f" -d {_quote_fish(option.help)}"
    )


def _quote_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_WRITERS: dict[str, Callable[[Sequence[_Command]], str]] = {
    "bash": _write_bash,
    "zsh": _write_zsh,
    "fish": _write_fish,
}
