"""Checkpoints: what goes in comes out, and whatever is not right is refused in one sentence."""

from __future__ import annotations

import json
import os
import struct

import numpy as np
import pytest
import safetensors
import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_network import SMALL, lively, some_inputs

from env import RULES
from models import Checkpoint, CheckpointError, Header, NetworkConfig, PolicyValueNet, Provenance, load, save
from models import checkpoint as checkpoint_module

HEADER = Header(
    game="brandubh",
    size=7,
    layouts=("standard",),
    network=SMALL,
    discount=0.98,
    provenance=Provenance(run="test", step=7, seconds=1.5, seed=3, scores={"alphabeta-v1:depth=2": 0.5}),
)


@pytest.fixture(scope="module")
def network():
    return lively(PolicyValueNet(7, SMALL))


@pytest.fixture
def path(tmp_path, network):
    save(tmp_path / "net.safetensors", network, HEADER)
    return tmp_path / "net.safetensors"


def refusal(path, *arguments) -> str:
    """The sentence with which loading is refused."""
    with pytest.raises(CheckpointError) as caught:
        load(path, *arguments)
    text = str(caught.value)
    assert path.name in text
    assert "\n" not in text
    return text


def rewrite(path, tensors=None, header=None, **changes) -> None:
    """Write a checkpoint as a stranger could: checksum in order, contents as wanted."""
    with safetensors.safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        there = {name: file.get_tensor(name).clone() for name in file.keys()}
    tensors = there if tensors is None else tensors(there)
    text = json.dumps(json.loads(metadata["branan"]) | changes) if header is None else header
    metadata = {"branan": text, "sha256": checkpoint_module._checksum(text, tensors)}
    path.write_bytes(safetensors.torch.save(tensors, metadata))


def test_round_trip(path, network):
    checkpoint = load(path, "brandubh")
    assert isinstance(checkpoint, Checkpoint)
    assert checkpoint.header == HEADER
    assert checkpoint.rules is RULES["brandubh"]
    assert not checkpoint.network.training
    inputs = some_inputs(7, 4)
    with torch.inference_mode():
        for expected, found in zip(network(inputs), checkpoint.network(inputs)):
            torch.testing.assert_close(found, expected)


def test_loaded_weights_outlive_the_file_and_learn(path):
    network = load(path).network
    weight = dict(network.named_parameters())["stem.conv.weight"]
    before = weight.clone()
    with open(path, "r+b") as file:
        file.write(bytes(path.stat().st_size))
    assert torch.equal(weight, before)
    network(some_inputs(7, 2)).value.sum().backward()
    assert weight.grad is not None


def test_rewritten_unchanged_is_accepted(path):
    """So that the refusals below are for what they change."""
    rewrite(path)
    assert load(path).header == HEADER


def test_another_game_is_refused(path):
    assert "plays brandubh, not tawlbwrdd" in refusal(path, "tawlbwrdd")
    assert "plays brandubh, not tawlbwrdd" in refusal(path, RULES["tawlbwrdd"])


def test_files_that_are_none(tmp_path):
    assert "No such file" in refusal(tmp_path / "missing.safetensors")
    assert "not a regular file" in refusal(tmp_path)
    for name, data in (("empty", b""), ("text", b"hello, I am a text file"), ("zeros", bytes(4096))):
        (tmp_path / name).write_bytes(data)
        assert "no checkpoint" in refusal(tmp_path / name)


def test_index_that_claims_to_be_huge(tmp_path):
    huge = tmp_path / "huge"
    huge.write_bytes(struct.pack("<Q", 1 << 40) + bytes(100))
    assert "no checkpoint" in refusal(huge)
    huge.write_bytes(struct.pack("<Q", 2 << 20) + b" " * (2 << 20))
    assert "no checkpoint" in refusal(huge)


def test_tensors_of_others(tmp_path):
    path = tmp_path / "foreign.safetensors"
    path.write_bytes(safetensors.torch.save({"weight": torch.zeros(3)}, {"format": "pt"}))
    assert "no header of ours" in refusal(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": 2}, "format 2"),
        ({"format": 2, "novelty": 1}, "format 2"),
        ({"game": "hnefatafl"}, "hnefatafl"),
        ({"game": "tawlbwrdd"}, "size 7"),
        ({"size": 11}, "size 11"),
        ({"size": 10**9}, "size"),
        ({"discount": 2.0}, "discount"),
        ({"discount": "0.98"}, "discount"),
        ({"discount": 0.3}, "discount"),  # no search takes it
        ({"novelty": 1}, "novelty"),
        ({"provenance": {"step": -1}}, "provenance.step"),
        ({"network": SMALL.model_dump() | {"blocks": 3}}, "3 blocks"),
        ({"network": SMALL.model_dump() | {"channels": 512}}, "512 channels"),
        ({"network": SMALL.model_dump() | {"channels": 10**9}}, "network.channels"),
        ({"network": SMALL.model_dump() | {"blocks": 10**9}}, "network.blocks"),
        ({"network": None}, "network"),
    ],
)
def test_header_that_does_not_fit(path, changes, said):
    rewrite(path, **changes)
    assert said in refusal(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 10000, '{"format": 1}', "\x00"])
def test_header_that_is_none(path, text):
    rewrite(path, header=text)
    assert "header" in refusal(path)


def without_the_stem(tensors):
    del tensors["stem.conv.weight"]
    return tensors


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without_the_stem, "stem.conv.weight"),
        (lambda tensors: tensors | {"surplus": torch.zeros(1)}, "surplus"),
        (lambda tensors: tensors | {"value_output.bias": torch.zeros(5)}, "value_output.bias"),
        (lambda tensors: tensors | {"value_output.bias": torch.zeros(4, dtype=torch.float64)}, "value_output.bias"),
        (lambda tensors: tensors | {"value_output.bias": torch.full((4,), torch.nan)}, "not finite"),
        (lambda tensors: tensors | {"value_output.bias": torch.full((4,), -torch.inf)}, "not finite"),
    ],
)
def test_weights_that_do_not_fit(path, change, said):
    rewrite(path, change)
    assert said in refusal(path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_damaged_files_are_refused_and_nothing_worse(path, data):
    whole = path.read_bytes()
    index = 8 + struct.unpack("<Q", whole[:8])[0]
    damaged = path.with_name("damaged")
    kind = data.draw(st.sampled_from(["cut", "index", "weights", "longer"]))
    if kind == "cut":
        contents = whole[: data.draw(st.integers(0, len(whole) - 1))]
    elif kind == "longer":
        contents = whole + data.draw(st.binary(min_size=1, max_size=64))
    else:
        place = data.draw(st.integers(0, index - 1) if kind == "index" else st.integers(index, len(whole) - 1))
        contents = bytearray(whole)
        contents[place] ^= 1 << data.draw(st.integers(0, 7))
    damaged.write_bytes(contents)
    try:
        checkpoint = load(damaged)
    except CheckpointError:
        return
    # The index allows for the same contents in other words: JSON's white space.
    assert kind == "index"
    assert checkpoint.header == HEADER


def test_what_is_not_finite_is_not_written(tmp_path):
    network = PolicyValueNet(7, SMALL)
    with torch.no_grad():
        network.value_output.bias[0] = np.nan
    with pytest.raises(CheckpointError, match=r"value_output\.bias"):
        save(tmp_path / "net.safetensors", network, HEADER)
    assert not list(tmp_path.iterdir())


def test_header_has_to_describe_the_network(tmp_path):
    with pytest.raises(CheckpointError, match="another network"):
        save(tmp_path / "net.safetensors", PolicyValueNet(7, NetworkConfig(blocks=1, channels=8)), HEADER)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("broken", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
def test_failure_while_writing_leaves_the_old_file(path, network, monkeypatch, broken, error):
    def fail(*arguments):
        raise error

    old = path.read_bytes()
    monkeypatch.setattr(os, broken, fail)
    expected = CheckpointError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        save(path, network, HEADER.model_copy(update={"discount": 0.75}))
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    save(path, network, HEADER.model_copy(update={"discount": 0.75}))
    assert load(path).header.discount == 0.75


def test_folder_that_is_not_there(tmp_path, network):
    with pytest.raises(CheckpointError, match="No such file"):
        save(tmp_path / "missing" / "net.safetensors", network, HEADER)


def test_loading_draws_no_random_numbers(path):
    state = torch.get_rng_state()
    load(path)
    assert torch.equal(torch.get_rng_state(), state)
