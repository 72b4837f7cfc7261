"""The games: rules, positions, notation and Gymnasium environments."""

from env.game import Game, Outcome
from env.illegal import IllegalMove
from env.notation import Move, NotationError
from env.perft import perft
from env.registration import register_environments
from env.rules import RULES, Rules, get_rules
from env.tafl_env import TaflEnv
from env.wrappers import SingleSideEnv

register_environments()

__all__ = [
    "RULES",
    "Game",
    "IllegalMove",
    "Move",
    "NotationError",
    "Outcome",
    "Rules",
    "SingleSideEnv",
    "TaflEnv",
    "get_rules",
    "perft",
]
