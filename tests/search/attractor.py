"""Who can force a win, by writing down every position that can be reached: for small boards, to test the solver."""

from __future__ import annotations

from env import Game
from env.game import Outcome

State = tuple[str, str]


class Reachable:
    """Every position that can be reached from a game's present one, by the rules without repetition."""

    def __init__(self, game: Game) -> None:
        rules = game.rules
        # Of each position what follows: a position, or the side that has won (None: nobody).
        self.follow: dict[State, list[State | Outcome]] = {}
        waiting = [_state(game)]
        while waiting:
            state = waiting.pop()
            if state in self.follow:
                continue
            here = Game.from_position(rules, *state)
            self.follow[state] = follow = []
            for action in here.legal_actions():
                here.play_action(int(action))
                if here.outcome is not None:
                    follow.append(here.outcome)
                else:
                    follow.append(_state(here))
                    waiting.append(_state(here))
                here.undo()

    def wins(self, side: str, past: frozenset[State] = frozenset()) -> dict[State, int]:
        """Return the plies of every win that `side` can force; positions of the past are none.

        Who can force a win can force it without coming back to a position, so repetition is no matter.
        """
        plies: dict[State, int] = {}
        for length in range(1, len(self.follow) + 2):
            fresh = {}
            for state, follow in self.follow.items():
                if state in plies or state in past:
                    continue
                won = (
                    each.winner == side if isinstance(each, Outcome) else each in plies for each in follow
                )  # those of fewer plies than `length`
                if any(won) if state[1] == side else all(won):
                    fresh[state] = length
            if not fresh:
                break
            plies |= fresh
        return plies


def past_of(game: Game) -> frozenset[State]:
    """Return the positions of a game before its present one, which is not among them."""
    earlier, found = game.copy(), set()
    while earlier.moves:
        earlier.undo()
        found.add(_state(earlier))
    return frozenset(found - {_state(game)})


def _state(game: Game) -> State:
    return game.position, game.to_play


def plies_of(wins: dict[State, int], game: Game) -> int | None:
    """Return the plies of the win in a game's present position."""
    return wins.get(_state(game))
