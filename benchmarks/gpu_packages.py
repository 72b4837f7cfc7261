"""The packages that `benchmarks/gpu_check.sh` carries to a machine without a network.

    python benchmarks/gpu_packages.py pack             download them into build/gpu_check, in the project's versions
    python benchmarks/gpu_packages.py unpack FOLDER    put into FOLDER those that this Python lacks

Unpacking needs nothing but Python itself: a wheel is a zip file.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARRIED = ROOT / "build" / "gpu_check"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

# What to import, and the distribution that brings it. torch, numpy, numba and tensorboard (which brings pillow and
# packaging) have to be there.
PACKAGES = {
    "annotated_types": "annotated-types",
    "cloudpickle": "cloudpickle",
    "farama_notifications": "farama-notifications",
    "gymnasium": "gymnasium",
    "markdown_it": "markdown-it-py",
    "mdurl": "mdurl",
    "platformdirs": "platformdirs",
    "pydantic": "pydantic",
    "pydantic_core": "pydantic-core",
    "pygments": "pygments",
    "rich": "rich",
    "ruamel.yaml": "ruamel.yaml",
    "safetensors": "safetensors",
    "typing_extensions": "typing-extensions",
    "typing_inspection": "typing-inspection",
}


def pack() -> None:
    """Download a wheel of every package, compiled ones for every Python."""
    CARRIED.mkdir(parents=True, exist_ok=True)
    pinned = [f"{name}=={version(name)}" for name in PACKAGES.values()]
    for python in PYTHONS:
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
            *("--only-binary", ":all:", "--dest", str(CARRIED), "--python-version", python),
            *("--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_28_x86_64"),
        ]
        subprocess.run([*command, *pinned], check=True)
    size = sum(path.stat().st_size for path in CARRIED.glob("*.whl")) / 1e6
    print(f"{len(list(CARRIED.glob('*.whl')))} packages, {size:.1f} MB, in {CARRIED.relative_to(ROOT)}")


def unpack(target: Path) -> None:
    """Put into a folder what this Python cannot import, from the wheels that fit it."""
    missing = {_plain(name) for module, name in PACKAGES.items() if not _there(module)}
    for path in sorted(CARRIED.glob("*.whl")):
        name, _, python, abi, _ = path.stem.split("-")
        fits = "py3" in python or abi == "abi3" or python == _own()
        if _plain(name) in missing and fits:
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(target)
            missing.discard(_plain(name))
    if missing:
        print(
            f"Missing for Python {sys.version.split()[0]}: {', '.join(sorted(missing))}. Where there is a network, "
            "benchmarks/gpu_check.sh --pack fetches them into build/gpu_check; that folder has to come along.",
            file=sys.stderr,
        )
        raise SystemExit(2)


def _there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _own() -> str:
    return f"cp{sys.version_info.major}{sys.version_info.minor}"


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["pack"]:
            pack()
        case ["unpack", folder]:
            unpack(Path(folder))
        case _:
            raise SystemExit(__doc__)
