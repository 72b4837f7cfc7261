"""The games: rules, positions, notation and Gymnasium environments."""

from env import jit as _jit  # noqa: F401  (sets the kernel cache before anything loads Numba)
from env.rules import RULES, Rules, get_rules

__all__ = ["RULES", "Rules", "get_rules"]
