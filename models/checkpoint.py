"""A checkpoint: one safetensors file that holds the weights and, as metadata, one JSON header that says what they are.

Checkpoints may come from strangers. Loading runs no code of theirs, believes no size before the file shows it, and
refuses whatever is not exactly right with one sentence that says why.

    checkpoint = load("runs/brandubh/best.safetensors")
    checkpoint.rules, checkpoint.network, checkpoint.header
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import safetensors
import safetensors.torch
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from env.files import memory_errors_of_rust, write_whole
from env.rules import RULES, Rules, get_rules
from models.network import NetworkConfig, PolicyValueNet

FORMAT = 1
HEADER_KEY = "branan"
CHECKSUM_KEY = "sha256"
_TYPES = {torch.float32: "F32", torch.int64: "I64"}
LARGEST_INDEX = 1 << 20  # bytes of safetensors' own index, our header included; ours are below 64 KiB


class CheckpointError(ValueError):
    """A checkpoint that cannot be used, or not be written; the message is one sentence for people."""


class Provenance(BaseModel):
    """Where a checkpoint comes from; everything may be unknown.

    Attributes:
        run: name of the run.
        step: learner steps made.
        seconds: time trained.
        core_seconds: processor time spent, all cores added up.
        evaluations: positions that the network was asked about in self-play.
        positions: positions of self-play trained from.
        games: games of self-play.
        seed: of the run.
        date: when it was saved, ISO 8601.
        version: of this software.
        scores: what was measured, for example {"alphabeta-v1:depth=2 attackers": 0.55}.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    run: str = Field(default="", max_length=256)
    step: int = Field(default=0, ge=0)
    seconds: float = Field(default=0.0, ge=0)
    core_seconds: float = Field(default=0.0, ge=0)
    evaluations: int = Field(default=0, ge=0)
    positions: int = Field(default=0, ge=0)
    games: int = Field(default=0, ge=0)
    seed: int | None = None
    date: str = Field(default="", max_length=64)
    version: str = Field(default="", max_length=64)
    scores: dict[str, float] = Field(default_factory=dict, max_length=256)

    @property
    def untrained(self) -> bool:
        """Whether it is of a run that has not learnt anything yet."""
        return bool(self.run) and self.step == 0


class Header(BaseModel):
    """What the weights are.

    Attributes:
        format: version of the file format; this software reads 1.
        game: key in `env.RULES`.
        size: squares on a side.
        layouts: starts of the game it was trained from; empty if unknown.
        network: shape of the network.
        discount: per ply, of the values it predicts.
        discounted_share: how much of that its searches felt while it learnt (`search.SearchConfig`).
        provenance: where it comes from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    format: Literal[1] = FORMAT
    game: str = Field(max_length=64)
    size: int = Field(ge=3, le=15)
    layouts: tuple[str, ...] = Field(default=(), max_length=64)
    network: NetworkConfig
    discount: float = Field(gt=0.5, le=1)
    discounted_share: float = Field(default=1.0, ge=0, le=1)
    provenance: Provenance = Provenance()

    @property
    def search_settings(self) -> dict[str, float]:
        """What a search has to know of the network's values, by the names of `search.SearchConfig`."""
        return {"discount": self.discount, "discounted_share": self.discounted_share}


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint; the network is in evaluation mode."""

    network: PolicyValueNet
    header: Header

    @property
    def rules(self) -> Rules:
        """Of the game it plays."""
        return RULES[self.header.game]


def save(path: str | os.PathLike[str], network: PolicyValueNet, header: Header) -> None:
    """Write a checkpoint, atomically: whatever happens, `path` holds the old file or the whole new one.

    Raises:
        CheckpointError: if the header does not describe the network, a weight is not finite, or the file cannot be
            written; `path` is then as it was.
    """
    path = Path(path)
    if (header.size, header.network) != (network.size, network.config):
        raise CheckpointError(f"cannot write {path}: the header describes another network than the one to be saved.")
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    broken = _not_finite(tensors)
    if broken:
        raise CheckpointError(f"cannot write {path}: the weight {broken} is not finite.")
    text = header.model_dump_json()
    with memory_errors_of_rust():
        data = safetensors.torch.save(tensors, {HEADER_KEY: text, CHECKSUM_KEY: _checksum(text, tensors)})
    try:
        write_whole(path, data)
    except OSError as error:
        raise CheckpointError(f"cannot write {path}: {error.strerror or error}.") from error


def load(
    path: str | os.PathLike[str], rules: Rules | str | None = None, device: torch.device | str = "cpu"
) -> Checkpoint:
    """Read a checkpoint.

    Args:
        path: the file.
        rules: the game it has to play; None for any.
        device: where the network goes.

    Raises:
        CheckpointError: if it cannot be read, is damaged, is of another format or game, or does not hold exactly the
            finite float32 weights of the network that its header describes.
    """
    path = Path(path)
    _check_index(path)
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            text, checksum = _metadata(path, file)
            header = _header(path, text, rules)
            # Shapes only: memory is spent on weights that are there.
            with torch.device("meta"):
                network = PolicyValueNet(header.size, header.network)
            _check_shapes(path, file, network)
            # Clones, because what safetensors returns is mapped from the file, which may be written over.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}
    except CheckpointError:
        raise
    except Exception as error:  # what the parser raises on bytes made to fool it is not documented
        raise CheckpointError(f"{path} is no checkpoint, or a damaged one: {error}.") from error
    if checksum != _checksum(text, tensors):
        raise CheckpointError(f"{path} is damaged: its contents do not match its checksum.")
    broken = _not_finite(tensors)
    if broken:
        raise CheckpointError(f"{path} holds weights that are not finite numbers, the first in {broken}.")
    network.load_state_dict(tensors, assign=True)
    network.to(device=device, memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
    return Checkpoint(network.eval(), header)


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read what a checkpoint is, without its weights, which are not looked at.

    Raises:
        CheckpointError: if it cannot be read, or is of another format or an unknown game.
    """
    path = Path(path)
    _check_index(path)
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return _header(path, _metadata(path, file)[0], None)
    except CheckpointError:
        raise
    except Exception as error:  # what the parser raises on bytes made to fool it is not documented
        raise CheckpointError(f"{path} is no checkpoint, or a damaged one: {error}.") from error


def _check_index(path: Path) -> None:
    """CheckpointError unless the file begins with the length of an index that it can hold."""
    try:
        if path.exists() and not path.is_file():  # reading a pipe or a device may never end
            raise CheckpointError(f"{path} is no checkpoint: it is not a regular file.")
        size = path.stat().st_size
        with open(path, "rb") as file:
            index = int.from_bytes(file.read(8), "little")
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror or error}.") from error
    if size < 8 or index > min(size - 8, LARGEST_INDEX):
        raise CheckpointError(f"{path} is no checkpoint, or only part of one.")


def _metadata(path: Path, file: safetensors.safe_open) -> tuple[str, str]:
    """The header's text and the checksum."""
    metadata = file.metadata() or {}
    if HEADER_KEY not in metadata or CHECKSUM_KEY not in metadata:
        raise CheckpointError(f"{path} holds tensors but no header of ours: it is not a checkpoint of this project.")
    return metadata[HEADER_KEY], metadata[CHECKSUM_KEY]


def _header(path: Path, text: str, rules: Rules | str | None) -> Header:
    """The header, found to be of a known format and of the game asked for."""
    try:
        header = Header.model_validate_json(text)
    except ValidationError as error:
        # A newer format may differ in anything, so it is what to tell of first.
        first = min(error.errors(), key=lambda each: each["loc"] != ("format",))
        if first["loc"] == ("format",):
            said = f"it is of format {first['input']!r}, and this version reads format {FORMAT} only"
        else:
            said = f"its header cannot be used: {'.'.join(map(str, first['loc'])) or 'JSON'}: {first['msg']}"
        raise CheckpointError(f"cannot load {path}: {said}.") from error
    if header.game not in RULES:
        raise CheckpointError(f"{path} plays {header.game!r}, which is not among the games here: {', '.join(RULES)}.")
    if rules is not None and header.game != get_rules(rules).name:
        raise CheckpointError(f"{path} plays {header.game}, not {get_rules(rules).name}.")
    if header.size != RULES[header.game].size:
        raise CheckpointError(
            f"{path} is for boards of size {header.size}, but {header.game} is played on {RULES[header.game].size}."
        )
    return header


def _check_shapes(path: Path, file: safetensors.safe_open, network: PolicyValueNet) -> None:
    """CheckpointError unless the file holds exactly this network's tensors, by name, shape and type."""
    expected = {name: (list(tensor.shape), _TYPES[tensor.dtype]) for name, tensor in network.state_dict().items()}
    slices = {name: file.get_slice(name) for name in file.keys()}
    found = {name: (list(each.get_shape()), each.get_dtype()) for name, each in slices.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            config = network.config
            raise CheckpointError(
                f"{path} does not hold the network that its header describes ({config.blocks} blocks, "
                f"{config.channels} channels): {name!r} is missing, superfluous or of another shape or type."
            )


def _checksum(header: str, tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 in hexadecimal over the header and the tensors in the order of their names."""
    digest = hashlib.sha256(header.encode())
    for name in sorted(tensors):
        digest.update(f"\n{name} {tensors[name].dtype} {tuple(tensors[name].shape)}\n".encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _not_finite(tensors: Mapping[str, Tensor]) -> str:
    """Name of the first tensor that holds a NaN or an infinity, or ''."""
    return next((name for name, tensor in tensors.items() if not bool(tensor.isfinite().all())), "")
