"""Which machine and which software are at work."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path


def machine() -> str:
    """The processor and the number of its cores that this process may use, as far as they can be told."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{name}, {cores} cores, {sys.platform}"


def version() -> str:
    """The installed version of this software, or ''."""
    try:
        return metadata.version("branan")
    except metadata.PackageNotFoundError:
        return ""
