"""Lines from a keyboard, or from a file or a program in its place."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape


def line_reader(console: Console) -> Callable[[str], str]:
    """Reads lines from a keyboard with editing; from anything else plainly, shown so that the output reads well."""
    if sys.stdin.isatty() and console.is_terminal:
        try:
            import readline  # noqa: F401 - gives `input` its line editing and history
        except ImportError:
            pass
        return lambda prompt: console.input(escape(prompt))

    def read(prompt: str) -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        console.print(prompt + line.rstrip("\r\n"), markup=False, highlight=False, soft_wrap=True)
        return line

    return read
