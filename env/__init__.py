"""The games: rules, positions, notation and Gymnasium environments."""

from env.game import Game, IllegalMove, Outcome
from env.notation import Move, NotationError
from env.perft import perft
from env.rules import RULES, Rules, get_rules

__all__ = ["RULES", "Game", "IllegalMove", "Move", "NotationError", "Outcome", "Rules", "get_rules", "perft"]
