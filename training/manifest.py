"""What an iteration leaves on disk: its manifest and the arrays beside it, each with a checksum.

    000123/shard.safetensors   what self-play made; never changed
           state.safetensors   all it takes to go on; only of the last two iterations
           manifest.json       counters, generators, checksums; written last

An iteration is written to a folder of another name, forced to the disk and renamed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from env.files import memory_errors_of_rust, read_plain

FORMAT = 1
MOST_BYTES = 1 << 24  # of a manifest; ours have a few thousand
UNFINISHED = ".unfinished-"
SHARD, STATE, MANIFEST = "shard.safetensors", "state.safetensors", "manifest.json"

Arrays = dict[str, np.ndarray]
Count = Annotated[int, Field(ge=0)]


class RunError(ValueError):
    """What is wrong with a run, and what to do about it, in a sentence."""


class StoredFile(BaseModel):
    """Size in bytes and SHA-256 of a file of an iteration."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: Count
    sha256: str


class Manifest(BaseModel):
    """What an iteration left behind.

    Attributes:
        format: version of this layout.
        iteration: its number; 0 is the untrained network.
        seconds: wall-clock seconds of the run up to here, all its starts added up.
        games, positions: made by self-play up to here.
        learner_steps: steps of the optimiser up to here.
        window: oldest iteration whose shard the replay window still needs.
        loop: what else the loop needs to go on (generators, controller, choices), as plain JSON.
        metrics: this iteration's row of metrics.jsonl.
        files: the files beside the manifest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format: int = FORMAT
    iteration: Count
    seconds: float = Field(ge=0)
    games: Count
    positions: Count
    learner_steps: Count
    window: Count
    loop: dict[str, Any]
    metrics: dict[str, int | float]
    files: dict[str, StoredFile] = {}


def write_iteration(iterations: Path, manifest: Manifest, state: Arrays, shard: Arrays | None) -> Manifest:
    """Write an iteration into a folder of its own, so that it is there whole or not at all.

    Returns:
        Its manifest with the checksums.

    Raises:
        OSError: as when the disk is full; everything is as it was before.
    """
    name = folder_name(manifest.iteration)
    draft = iterations / f"{UNFINISHED}{name}"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        files: dict[str, StoredFile] = {}
        for file, arrays in ((SHARD, shard), (STATE, state)):
            if arrays is not None:
                with memory_errors_of_rust():
                    data = save({key: np.asarray(array, order="C") for key, array in arrays.items()})
                _write_synced(draft / file, data)
                files[file] = StoredFile(size=len(data), sha256=hashlib.sha256(data).hexdigest())
        manifest = manifest.model_copy(update={"files": files})
        _write_synced(draft / MANIFEST, manifest_text(manifest))
        sync_folder(draft)
        os.rename(draft, iterations / name)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_folder(iterations)
    return manifest


def manifest_text(manifest: Manifest) -> bytes:
    """Return what manifest.json holds."""
    return manifest.model_dump_json(indent=1).encode()


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an iteration's folder.

    Raises:
        RunError: where it is missing, damaged or of another format.
    """
    path = folder / MANIFEST
    try:
        manifest = Manifest.model_validate_json(read_plain(path, MOST_BYTES))
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror})") from None
    except ValidationError:
        raise RunError(f"{path} is damaged, or was written by another version of this program") from None
    if folder_name(manifest.iteration) != folder.name:
        raise RunError(f"{path} is damaged: it tells of iteration {manifest.iteration}")
    if manifest.format != FORMAT:
        raise RunError(f"{path} has format {manifest.format}; this version reads format {FORMAT}")
    return manifest


def read_arrays(folder: Path, manifest: Manifest, name: str) -> Arrays:
    """Return what the file `name` of an iteration's folder holds.

    Raises:
        RunError: where it is missing or not what the manifest says.
    """
    path = folder / name
    try:
        file = manifest.files[name]
        data = read_plain(path, file.size)
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise RunError(f"{path} is damaged: its checksum is not the one in manifest.json")
        return load(data)
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror})") from None
    except (SafetensorError, KeyError, ValueError) as error:
        if isinstance(error, RunError):
            raise
        raise RunError(f"{path} is damaged") from None


def folder_name(iteration: int) -> str:
    """Return the name of an iteration's folder."""
    return f"{iteration:06d}"


def _write_synced(path: Path, data: bytes) -> None:
    """Write a file and force it to the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Force a folder's entries to the disk, where the system can."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
