"""A run on disk, in which an iteration lands whole or not at all.

    RUN/config.yaml                      the settings in force
        lock                             held by the process that is at work here
        iterations/000123/shard.safetensors   what self-play made; never changed
                          state.safetensors   all it takes to go on; only of the last two iterations
                          manifest.json       counters, generators, checksums; written last
        metrics.jsonl                    a row an iteration
        checkpoints/000120.safetensors   networks, now and then
        latest.safetensors, best.safetensors
        result.json                      how the run ended, once it has

An iteration is written to a folder of another name, forced to the disk and renamed. Everything else can be made again
from the last iteration, so a process may be killed at any moment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from env.files import (
    leave_lock,
    linked_file,
    lock_file,
    lock_signature,
    open_lock,
    remove_drafts,
    sign_lock,
    write_whole,
)
from training.config import RunConfig
from training.config_file import ConfigError, config_text, read_config
from training.hints import counted, door
from training.manifest import (
    MANIFEST,
    SHARD,
    STATE,
    UNFINISHED,
    Arrays,
    Manifest,
    RunError,
    folder_name,
    manifest_text,
    read_arrays,
    read_manifest,
    sync_folder,
    write_iteration,
)
from training.metrics_file import append_row, read_rows, row_text, write_rows

KEPT_STATES = 2
NUMBERED = "[0-9]{6,18}"  # what `folder_name` makes of an iteration


class RunFolder:
    """The folder of one run. Of all processes only the one that holds the lock may write to it.

    Attributes:
        notes: sentences for people about what was found damaged, and how the run goes on all the same.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.iterations = path / "iterations"
        self.metrics_file = path / "metrics.jsonl"
        self.result_file = path / "result.json"
        self.notes: list[str] = []
        self._lock: int | None = None

    @classmethod
    def create(cls, path: Path, config: RunConfig, manifest: Manifest, state: Arrays) -> RunFolder:
        """Make the folder with its iteration 0 and hold its lock. The folder appears whole or not at all.

        Raises:
            RunError: where something is already.
        """
        refuse_existing(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise _no_folder(path, error) from None
        draft = cls(path.parent / f"{UNFINISHED}{path.name}-{os.getpid()}")
        try:
            try:
                draft.iterations.mkdir(parents=True)
            except OSError as error:
                raise _no_folder(path, error) if error.errno == errno.ENAMETOOLONG else error from None
            (draft.path / "checkpoints").mkdir()
            draft.write_config(config)
            draft.commit(manifest, state, None)
            os.rename(draft.path, path)
        except BaseException as error:
            shutil.rmtree(draft.path, ignore_errors=True)
            if isinstance(error, OSError):
                # Another process may have made the run meanwhile, and have taken this draft for what a dead one left.
                refuse_existing(path)
            raise
        sync_folder(path.parent)
        run = cls(path)
        run.lock()
        run._clear()
        return run

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open an existing run, hold its lock and clear away what a killed process left half done.

        Raises:
            RunError: where there is no run, or another process is at work on it.
        """
        run = cls(path)
        try:
            found = run.iterations.is_dir()
        except (OSError, ValueError) as error:
            raise _no_folder(path, error) from None
        if not found:
            known = sorted(p.parent.name for p in path.parent.glob("*/iterations")) if path.parent.is_dir() else []
            there = f"; runs there: {', '.join(known)}" if known else ""
            problem = "is not a run's folder (it has no iterations/)" if path.exists() else "does not exist"
            raise RunError(f"{path} {problem}{there}")
        run.lock()
        run._clear()
        return run

    def _clear(self) -> None:
        """Delete what killed processes left half done; a draft of this very run can only be one of theirs."""
        own = f"{UNFINISHED}{self.path.name}-"
        drafts = [p for p in self.path.parent.glob(f"{UNFINISHED}*") if p.name.removeprefix(own).isdigit()]
        for rest in (*self.iterations.glob(f"{UNFINISHED}*"), *drafts):
            shutil.rmtree(rest, ignore_errors=True)
        for folder in (self.path, self.path / "checkpoints", *self._folders()):
            remove_drafts(folder)

    def lock(self) -> None:
        """Take the lock, which the operating system frees when this process ends, however it does."""
        self._refuse_folder(self.path / "lock")
        if (link := linked_file(self.path)) is not None:
            raise RunError(f"{link} is a link, and a run's files have to be its own: put a copy in its place")
        try:
            handle = open_lock(self.path / "lock")
        except FileExistsError as error:
            raise RunError(
                f"{error.filename}: the run cannot be locked with it ({error.strerror}); delete it"
            ) from None
        try:
            lock_file(handle)
        except OSError:
            holder = lock_signature(handle)
            os.close(handle)
            who = f"process {holder}" if holder else "another process"
            raise RunError(f"{self.path} is being trained by {who} at this moment; stop that one first") from None
        if left := lock_signature(handle):
            self.notes.append(
                f"Process {left}, the last one at work on {self.path}, was ended from outside: by `kill`, with the "
                "machine, or by the system for want of memory (then --replay.memory_megabytes or "
                "--selfplay.games_per_group should be smaller)."
            )
        sign_lock(handle)
        self._lock = handle

    def close(self) -> None:
        """Give the lock back, empty: what is found in it later was left by a process that could not do that."""
        if self._lock is not None:
            leave_lock(self._lock)
            self._lock = None

    def write_config(self, config: RunConfig) -> None:
        """Store the settings in force."""
        write_whole(self.path / "config.yaml", config_text(config).encode())

    def config(self, overrides: Mapping[str, str] | None = None) -> RunConfig:
        """Return the stored settings, some of them replaced.

        Raises:
            ConfigError: as `training.config_file.read_config`.
        """
        path = self.path / "config.yaml"
        if not path.is_file():
            raise ConfigError(f"{path} is missing; the run cannot go on without its settings. {_put_back(path)}")
        try:
            stored = read_config(path)
        except ConfigError as error:
            raise ConfigError(f"{error}\n{_put_back(path)}") from None
        return read_config(path, overrides) if overrides else stored

    def commit(self, manifest: Manifest, state: Arrays, shard: Arrays | None) -> Manifest:
        """Write an iteration, so that it is there whole or not at all; return its manifest with the checksums.

        Raises:
            OSError: as when the disk is full; the run is as it was before.
        """
        return write_iteration(self.iterations, manifest, state, shard)

    def amend(self, manifest: Manifest) -> Manifest:
        """Replace what is told of the last iteration, its arrays excepted; return the manifest with their checksums.

        Raises:
            OSError: as when the disk is full; the manifest is as it was before.
        """
        folder = self.iterations / folder_name(manifest.iteration)
        manifest = manifest.model_copy(update={"files": read_manifest(folder).files})
        write_whole(folder / MANIFEST, manifest_text(manifest))
        self.repair_metrics(manifest)
        return manifest

    def last(self, check: Callable[[Manifest], object] = lambda manifest: None) -> tuple[Manifest, Arrays]:
        """Return the newest iteration that can be gone on from, and its state. Damaged ones are put aside.

        An iteration whose own shard is damaged is taken only where there is no whole one.

        Args:
            check: raises `RunError` for a manifest of which more is damaged than this folder can know.

        Raises:
            RunError: where there is none.
        """
        reasons: dict[str, None] = {}
        folders = [folder for folder in self._folders() if (folder / STATE).exists()]
        for shard_needed in (True, False):
            for folder in reversed(folders):
                try:
                    manifest = read_manifest(folder)
                    check(manifest)
                    state = read_arrays(folder, manifest, STATE)
                    if shard_needed and manifest.iteration:
                        read_arrays(folder, manifest, SHARD)
                except RunError as error:
                    reasons[str(error)] = None
                    continue
                self._put_aside(folder, reasons)
                return manifest, state
        raise RunError(
            f"{self.path} cannot go on: "
            + ("; ".join(reasons) if reasons else "it has no complete iteration")
            + ". A new run can begin with its weights: "
            + door("train.py", "--config", self.path / "config.yaml", "--init", self.path / "latest.safetensors")
        )

    def _put_aside(self, last: Path, reasons: Iterable[str]) -> None:
        """Rename all iterations after `last`, which is the one to go on from, and note why."""
        newer = [folder for folder in self._folders() if int(folder.name) > int(last.name)]
        for folder in newer:
            aside = folder.with_name(f"damaged-{folder.name}")
            shutil.rmtree(aside, ignore_errors=True)
            os.rename(folder, aside)
        if newer:
            why = "; ".join(reasons) or f"{newer[-1]} is incomplete"
            self.notes.append(f"The run goes back to iteration {int(last.name)}: {why}.")

    def shards(self, manifest: Manifest) -> Iterator[tuple[int, Arrays]]:
        """Yield iteration and arrays of every shard that the replay window needs, oldest first.

        One that is missing or damaged is left out and noted.
        """
        for iteration in range(max(1, manifest.window), manifest.iteration + 1):
            folder = self.iterations / folder_name(iteration)
            try:
                arrays = read_arrays(folder, read_manifest(folder), SHARD)
            except RunError as error:
                self.notes.append(f"The replay window goes on without the games of iteration {iteration}: {error}.")
                continue
            yield iteration, arrays

    def prune(self, manifest: Manifest, previous: Manifest | None) -> None:
        """Delete what neither `manifest` nor the iteration before needs: old shards, all states but two."""
        needed = min(manifest.window, previous.window if previous else manifest.window)
        states_from = manifest.iteration - KEPT_STATES + 1
        for folder in self._folders():
            if int(folder.name) < min(needed, states_from):
                doomed = folder.with_name(f"{UNFINISHED}{folder.name}")
                os.rename(folder, doomed)
                shutil.rmtree(doomed, ignore_errors=True)
        for path in self.iterations.glob("*/state.safetensors"):
            if path.parent.name.isdigit() and int(path.parent.name) < states_from:
                path.unlink(missing_ok=True)

    def append_metrics(self, row: Mapping[str, int | float]) -> None:
        """Add a row to metrics.jsonl."""
        append_row(self.metrics_file, row)

    def repair_metrics(self, manifest: Manifest) -> None:
        """Make metrics.jsonl fit `manifest`: no later row, no broken one, and its own row there.

        Other rows that are missing are taken from the manifests that are left, and noted.

        Raises:
            RunError: where something else than a file has its name.
        """
        self._refuse_folder(self.metrics_file)
        rows = read_rows(self.metrics_file, manifest.iteration)
        known = len(rows)
        for folder in self._folders():
            iteration = int(folder.name)
            if 0 < iteration < manifest.iteration and iteration not in rows:
                with contextlib.suppress(RunError):
                    rows[iteration] = row_text(read_manifest(folder).metrics)
        expected = max(0, manifest.iteration - 1)
        if known < expected:
            lost = expected - len(rows)
            self.notes.append(
                f"{self.metrics_file} lacked {counted(expected - known, 'row')}; {len(rows) - known:,} were made "
                "again from the iterations' manifests" + (f", and {lost:,} are lost." if lost else ".")
            )
        if manifest.iteration:
            rows[manifest.iteration] = row_text(manifest.metrics)
        write_rows(self.metrics_file, rows)

    def remove_result(self) -> None:
        """Delete result.json, since the run goes on.

        Raises:
            RunError: where something else than a file has its name.
        """
        self._refuse_folder(self.result_file)
        self.result_file.unlink(missing_ok=True)

    def manifest_file(self, iteration: int) -> Path:
        """Return where the manifest of an iteration is."""
        return self.iterations / folder_name(iteration) / MANIFEST

    def prune_checkpoints(self, keep: int) -> None:
        """Delete all numbered checkpoints but the newest `keep`."""
        for _, path in self._checkpoints()[:-keep]:
            path.unlink(missing_ok=True)

    def newest_checkpoint(self, before: int) -> tuple[int, Path] | None:
        """Return iteration and path of the newest numbered checkpoint before an iteration, or None."""
        return max((found for found in self._checkpoints() if found[0] < before), default=None)

    def _checkpoints(self) -> list[tuple[int, Path]]:
        """Return iteration and path of all numbered checkpoints, oldest first; other names are not ours."""
        found = (self.path / "checkpoints").glob("*.safetensors")
        return sorted((int(path.stem), path) for path in found if re.fullmatch(NUMBERED, path.stem))

    def checkpoint(self, iteration: int) -> Path:
        """Return where the numbered checkpoint of an iteration belongs; its folder is made."""
        (self.path / "checkpoints").mkdir(exist_ok=True)
        return self.path / "checkpoints" / f"{folder_name(iteration)}.safetensors"

    def _folders(self) -> list[Path]:
        found = (p for p in self.iterations.iterdir() if re.fullmatch(NUMBERED, p.name))
        return sorted(found, key=lambda p: int(p.name))

    def _refuse_folder(self, path: Path) -> None:
        if path.exists() and not path.is_file():
            raise RunError(f"{path} is no file, though the run needs one of that name; move it away, then go on")


def _no_folder(path: Path, error: OSError | ValueError) -> RunError:
    why = error.strerror if isinstance(error, OSError) else error
    return RunError(f"{str(path)!r} cannot be the folder of a run ({why}); give another name")


def refuse_existing(path: Path) -> None:
    """Raise `RunError` where a new run cannot be put at `path`. An empty folder is no obstacle."""
    try:
        path.lstat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise _no_folder(path, error) from None
    if (path / "iterations").is_dir():
        raise RunError(
            f"{path} is a run already and is not written over; go on with it (--resume {path}) or name another --out"
        )
    if path.is_symlink():
        raise RunError(f"{path} is a link, and a run's folder is made anew; name another --out, such as where it leads")
    if not path.is_dir() or any(path.iterdir()):
        raise RunError(f"{path} exists already and is not written over; name another --out")
    if path.name in ("", "..") or path.samefile(Path.cwd()):
        raise RunError(f"{path} is the folder that this was started in, or above it; name another --out")


def _put_back(path: Path) -> str:
    return (
        f"Its iterations are not touched by that: once {path} holds the settings again, those of the file that the run "
        "began with and what its command line changed, it goes on."
    )
