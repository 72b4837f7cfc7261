"""`TaflEnv`: a tafl game as a Gymnasium environment, one side acting after the other.

**Actions.** One `Discrete` space numbers every move: ``(origin * 4 + direction) * (n - 1) + distance - 1`` with the
square index ``origin = rank * n + file`` (a1 = 0), the directions north, east, south, west as 0 to 3, and a distance
of 1 to n - 1 squares. With `draw_offers`, where the rules know agreement, two more numbers follow: *offer*
(``rules.actions``) and *accept* (``rules.actions + 1``).

**Draw offers.** An offer belongs to the side that has just moved, so the side to act announces it: *offer* is a step
without a ply, the same side is still to act, and the move that it makes next carries the offer. The other side may
answer with *accept*, which ends the game drawn, or let the offer lapse by moving. A side announces once a move at
most.

**Observations.** int8 planes (C, n, n), indexed [plane, rank, file] with rank 1 first: those of `env.encoding.PLANES`,
and with draw offers those of `OFFER_PLANES`.

**Rewards** are those of the side that just acted: 1 a win, -1 a loss, 0 else. The next observation is the other side's:
who learns from it by a value backs up the negative of that value.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from env.encoding import EXTRA_INPUTS, MOST_OCCURRENCES, PLANES, write_input, write_planes
from env.game import Game
from env.moves import write_moves
from env.notation import square_name
from env.rules import Rules, get_rules
from env.tables import tables

OFFER_PLANES = (
    ("offer announced", "everywhere: 1 if the next move of the side to play will carry a draw offer"),
    ("offer stands", "everywhere: 1 if the side to play may accept a draw"),
)
ILLEGAL_MOVE = ("lose", "raise")
OFFER, ACCEPT = "offer", "accept"  # texts of the two further actions


def has_offers(rules: Rules, draw_offers: bool) -> bool:
    """Return whether an environment has the actions offer and accept: asked for, and known to the rules."""
    return draw_offers and rules.agreement


def plane_names(rules: Rules, draw_offers: bool = False) -> tuple[tuple[str, str], ...]:
    """Return (name, meaning) of every plane of an observation."""
    return PLANES + OFFER_PLANES if has_offers(rules, draw_offers) else PLANES


def observation_space(rules: Rules, draw_offers: bool = False) -> spaces.Box:
    """Return the space of observations, int8 (C, n, n)."""
    names = plane_names(rules, draw_offers)
    high = np.ones((len(names), rules.size, rules.size), np.int8)
    high[[name for name, _ in names].index("occurrences")] = MOST_OCCURRENCES
    return spaces.Box(np.zeros_like(high), high, dtype=np.int8)


def action_space(rules: Rules, draw_offers: bool = False) -> spaces.Discrete:
    """Return the space of actions."""
    return spaces.Discrete(rules.actions + (2 if has_offers(rules, draw_offers) else 0))


@lru_cache(maxsize=16)
def action_texts(rules: Rules) -> tuple[str, ...]:
    """Return what every action is called: `d1-c1`, "" where it leaves the board, and at the end `offer`, `accept`."""
    names = [square_name(rules.size, square) for square in range(rules.cells)]
    per_square = 4 * (rules.size - 1)
    targets = tables(rules).target
    moves = (f"{names[i // per_square]}-{names[to]}" if to >= 0 else "" for i, to in enumerate(targets))
    return (*moves, OFFER, ACCEPT)


def start_of(rules: Rules, layout: str | None, options: Mapping[str, Any]) -> Game:
    """Return the game that `reset` begins with.

    Args:
        rules: the game.
        layout: its start where the options name no position.
        options: "position" (ranks from the top) and "to_play" (default: the side that begins); nothing else.

    Raises:
        ValueError: unknown option, a position that cannot be, or one in which the game is over.
    """
    if not isinstance(options, Mapping):
        raise TypeError(f"reset options are {options!r}: a dict is needed")
    unknown = sorted(set(options) - {"position", "to_play"}, key=str)
    if unknown:
        raise ValueError(f"unknown reset option {unknown[0]!r}; there are: position, to_play")
    if "position" not in options:
        if "to_play" in options:
            raise ValueError("reset option 'to_play' goes with 'position'; in a layout the rules say who begins")
        return Game(rules, layout)
    game = Game.from_position(rules, options["position"], options.get("to_play", rules.first))
    if game.outcome is not None:
        raise ValueError(
            f"nothing is left to play in position {options['position']!r}: "
            f"{game.outcome.winner or 'nobody'} won, {game.outcome.reason}"
        )
    return game


def check_settings(max_plies: int | None, illegal_move: str, render_mode: str | None, render_modes: list[str]) -> None:
    """Raise ValueError where a setting of an environment is impossible."""
    if max_plies is not None and not isinstance(max_plies, (int, np.integer)):
        raise TypeError(f"max_plies={max_plies!r}: a whole number, or None for no limit")
    if max_plies is not None and max_plies < 1:
        raise ValueError(f"max_plies={max_plies}: at least 1, or None for no limit")
    if illegal_move not in ILLEGAL_MOVE:
        raise ValueError(f"illegal_move={illegal_move!r}: allowed are {', '.join(ILLEGAL_MOVE)}")
    if render_mode is not None and render_mode not in render_modes:
        raise ValueError(f"render_mode={render_mode!r}: allowed are {', '.join(render_modes)}")


class TaflEnv(gym.Env[np.ndarray, np.int64]):
    """One tafl game in which the side to play acts; see the module for actions, observations and rewards.

    `info`, from `reset` and `step`, holds

    - ``action_mask``: int8 (actions,), 1 where an action is legal; nowhere once the game is over.
    - ``legal_moves``: the same as list of str, in the order of their numbers.
    - ``to_play``: "attackers" or "defenders".
    - ``ply``: int, moves made since the reset.
    - ``winner`` (side, or None for a draw) and ``reason`` (see `env.Outcome`), only where a step has ended the game.

    Attributes:
        game: the `Game` that goes on; play its moves through `step`.
        rules: its rules.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        game: Rules | str = "brandubh",
        *,
        layout: str | None = None,
        max_plies: int | None = None,
        illegal_move: str = "lose",
        draw_offers: bool = False,
        render_mode: str | None = None,
    ) -> None:
        """Prepare an environment; `reset` begins a game.

        Args:
            game: the rules, or their name.
            layout: start of the game; its first layout unless named.
            max_plies: a game that still goes on after so many plies is truncated; None for no limit.
            illegal_move: "lose": an illegal action ends the game against the side that acted (reason `forfeit`);
                "raise": it raises, and the game is as it was.
            draw_offers: add the actions offer and accept, where the rules know agreement.
            render_mode: None, "ansi" (text), "rgb_array" (picture) or "human" (a window; needs pygame).

        Raises:
            ValueError: unknown game or layout, or an impossible setting.
        """
        self.rules = get_rules(game)
        self.game = Game(self.rules, layout)
        check_settings(max_plies, illegal_move, render_mode, self.metadata["render_modes"])
        self.layout = layout
        self.max_plies = max_plies
        self.illegal_move = illegal_move
        self.draw_offers = has_offers(self.rules, draw_offers)
        self.render_mode = render_mode
        self.observation_space = observation_space(self.rules, draw_offers)
        self.action_space = action_space(self.rules, draw_offers)
        self._tables = tables(self.rules)
        self._texts = action_texts(self.rules)
        self._moves = np.empty(self.rules.most_moves, np.int16)
        self._row = np.empty(self.rules.cells + EXTRA_INPUTS, np.int8)
        self._mask = np.zeros(int(self.action_space.n), np.int8)
        self._announced = False
        self._ended = True
        self._window: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a game.

        Args:
            seed: seeds `np_random`, which the game itself does not use.
            options: {"position": text, "to_play": side} begins from that position instead of the layout.

        Raises:
            ValueError: see `start_of`.
        """
        super().reset(seed=seed)
        self.game = start_of(self.rules, self.layout, options or {})
        self._announced, self._ended = False, False
        seen = self._see()
        if self.render_mode == "human":
            self._show()
        return seen

    def step(self, action: np.int64 | int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Let the side to play act.

        Returns:
            observation, reward of the side that acted, terminated, truncated, info.

        Raises:
            ResetNeeded: the game is over or truncated.
            ValueError: the action is illegal and `illegal_move` is "raise".
        """
        if self._ended:
            raise ResetNeeded("the game is over: call reset() before the next step()")
        game, action = self.game, operator.index(action)
        mover = game.to_play
        if not (0 <= action < len(self._mask) and self._mask[action]):
            if self.illegal_move == "raise":
                self._raise_illegal(action)
            game.forfeit(mover)
        elif action < self.rules.actions:
            game.play_action(action)
            if self._announced and game.outcome is None:
                game.offer_draw()
        elif self._texts[action] == ACCEPT:
            game.accept_draw()
        self._announced = game.outcome is None and action == self.rules.actions
        outcome = game.outcome
        terminated = outcome is not None
        truncated = not terminated and self.max_plies is not None and game.ply >= self.max_plies
        self._ended = terminated or truncated
        reward = 0.0
        observation, info = self._see()
        if outcome is not None:
            info |= {"winner": outcome.winner, "reason": outcome.reason}
            if outcome.winner is not None:
                reward = 1.0 if outcome.winner == mover else -1.0
        if self.render_mode == "human":
            self._show()
        return observation, reward, terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """Return bool (actions,), True where an action is legal; the name is that of sb3-contrib."""
        return self._mask.astype(bool)

    def action_text(self, action: int) -> str:
        """Return what an action is called, `d1-c1`, `offer` or `accept`; "" where it leaves the board."""
        return self._texts[action]

    def render(self) -> np.ndarray | str | None:  # type: ignore[override]
        """Return the position as text (mode "ansi") or uint8 (height, width, 3) ("rgb_array"), or show it ("human")."""
        from env.render import Scene, draw_picture, draw_text

        if self.render_mode is None:
            gym.logger.warn(
                "render() has nothing to do: give render_mode='ansi', 'rgb_array' or 'human' to the environment"
            )
            return None
        if self.render_mode == "ansi":
            return draw_text(Scene.of(self.game))
        if self.render_mode == "rgb_array":
            return draw_picture(Scene.of(self.game))
        self._show()
        return None

    def close(self) -> None:
        """Close the window, if one is open."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _see(self) -> tuple[np.ndarray, dict[str, Any]]:
        """Return observation and info of the position on the board, and bring the mask up to date."""
        game, t, moves = self.game, self._tables, self._moves
        over = game.outcome is not None
        count = 0 if over else write_moves(t, game.arrays, moves)
        write_input(t, game.arrays, game.history, 0, moves, count, self._row)
        planes = np.empty(self.observation_space.shape, np.int8)  # type: ignore[arg-type]
        write_planes(t, self._row, planes)
        self._mask[:] = 0
        self._mask[moves[:count]] = 1
        if self.draw_offers:
            planes[len(PLANES)] = self._announced
            planes[len(PLANES) + 1] = game.draw_offered
            self._mask[self.rules.actions] = not over and not self._announced
            self._mask[self.rules.actions + 1] = game.draw_offered
        info = {
            "action_mask": self._mask.copy(),
            "legal_moves": [self._texts[action] for action in np.flatnonzero(self._mask)],
            "to_play": game.to_play,
            "ply": game.ply,
        }
        return planes, info

    def _raise_illegal(self, action: int) -> None:
        if not 0 <= action < len(self._mask):
            raise ValueError(f"there is no action {action}: actions are numbered 0 to {len(self._mask) - 1}")
        text = self._texts[action]
        if not text:
            raise ValueError(f"action {action} leaves the board")
        if text == OFFER:
            raise ValueError("a draw offer is announced already: the next move carries it")
        if text == ACCEPT:
            raise ValueError("there is no draw offer to accept")
        self.game.action_of(text)  # raises, and says why

    def _show(self) -> None:
        from env.render import Scene, Window, draw_picture

        if self._window is None:
            self._window = Window(self.rules.title)
        self._window.show(draw_picture(Scene.of(self.game)), self.metadata["render_fps"])
