"""The parser of a command's words, whose refusals say what may be meant."""

from __future__ import annotations

import argparse
import re
from functools import partial
from typing import Any, NoReturn

from weft.diagnostics import nearest


class Words(argparse.ArgumentParser):
    """Words of the command line; a command's are refused with that command's own usage."""

    def __init__(self, **named: Any) -> None:
        # Of any width: each word is formatted once to look at it, and what asks the terminal loads much.
        super().__init__(formatter_class=partial(argparse.HelpFormatter, width=80), **named)

    def format_usage(self) -> str:
        """How the command is written, as wide as the terminal."""
        self.formatter_class = argparse.HelpFormatter
        return super().format_usage()

    def format_help(self) -> str:
        """What the command does and its words, as wide as the terminal."""
        self.formatter_class = argparse.HelpFormatter
        return super().format_help()

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] of overloads
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        """The words, and what is none; that of a command is refused at once."""
        found, rest = super().parse_known_args(args, namespace)
        if rest and " " in self.prog:
            self.error(f"unrecognized arguments: {' '.join(rest)}{self._meant(rest[0])}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the words, with what may be meant, and end with status 2."""
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        guess = choice and nearest(choice[1], re.findall(r"[\w-]+", choice[2]))
        super().error(f"{message}; did you mean {guess}?" if guess else message)

    def _meant(self, word: str) -> str:
        """An option that is alike."""
        options = [option for action in self._actions for option in action.option_strings]
        guess = nearest(word.partition("=")[0], options) if word.startswith("-") else None
        return f"; did you mean {guess}?" if guess else ""
