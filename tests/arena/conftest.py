"""Small checkpoints of untrained networks, one for each game."""

from pathlib import Path

import pytest
import torch

from env import RULES
from models.checkpoint import Header, save
from models.network import NetworkConfig, PolicyValueNet


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Path of a checkpoint by the game's name."""
    folder = tmp_path_factory.mktemp("checkpoints")
    config = NetworkConfig(blocks=1, channels=8)
    paths = {}
    for name, rules in RULES.items():
        torch.manual_seed(5)
        paths[name] = folder / f"{name}.safetensors"
        header = Header(game=name, size=rules.size, network=config, discount=0.98)
        save(paths[name], PolicyValueNet(rules.size, config), header)
    return paths
