"""Who is stronger: players by name, matches between them, and how sure a score is."""

from arena.fault import Fault
from arena.interval import of_pairs, wilson
from arena.match import default_max_plies, play_match
from arena.match_result import MatchResult, PlayedGame, Standing
from arena.openings import Opening, OpeningsError, load_openings, read_openings
from arena.player_text import PlayerError, read_player
from arena.players import Player, Thought, default_player, parse_player
from arena.sprt import Sprt, SprtResult

__all__ = [
    "Fault",
    "MatchResult",
    "Opening",
    "OpeningsError",
    "PlayedGame",
    "Player",
    "PlayerError",
    "Sprt",
    "SprtResult",
    "Standing",
    "Thought",
    "default_max_plies",
    "default_player",
    "load_openings",
    "of_pairs",
    "parse_player",
    "play_match",
    "read_openings",
    "read_player",
    "wilson",
]
