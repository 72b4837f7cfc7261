"""What a checkpoint is: the network, its file, and the evaluator that asks it.

from models import Evaluator, load

checkpoint = load("best.safetensors")
evaluator = Evaluator.of(checkpoint)
"""

from models.checkpoint import Checkpoint, CheckpointError, Header, Provenance, load, read_header, save
from models.evaluator import DtypeChoice, Evaluator, choose_dtype
from models.network import NetworkConfig, Output, PolicyValueNet

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "DtypeChoice",
    "Evaluator",
    "Header",
    "NetworkConfig",
    "Output",
    "PolicyValueNet",
    "Provenance",
    "choose_dtype",
    "load",
    "read_header",
    "save",
]
