"""`TaflVectorEnv`: thousands of games a step, on the same kernels as everything else.

It does what as many `env.TaflEnv` would do (see there for actions, observations, rewards and draw offers), with one
kernel call a step. A game that ends is begun anew within the same step (autoreset mode `SAME_STEP`): so every action
of every step is a move of a live game, no row of a batch has to be masked out of learning, and the mask that comes
with an observation is always that of a position in which somebody is to play. The last position of a game that ended
is in ``info["final_obs"]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from env.game import Game
from env.position import PLY, TO_PLAY
from env.rules import SIDES, Rules, get_rules
from env.tables import tables
from env.tafl_env import action_space, action_texts, check_settings, has_offers, observation_space, start_of
from env.vector_kernels import Ends, begin_games, choose_legal, first_illegal, new_slots, step_games

FIRST_CAPACITY = 256  # plies for which there is room at first; it is doubled when a game outgrows it


class TaflVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` tafl games that go on side by side. N = num_envs, A = actions, (C, n, n) = one observation.

    `info`, from `reset` and `step`, holds

    - ``action_mask``: int8 (N, A), 1 where an action is legal.
    - ``to_play``: int8 (N,), 0 attackers, 1 defenders.
    - ``ply``: int32 (N,), moves made since the game began.

    and, where games ended in a step, also

    - ``final_obs``: object (N,), int8 (C, n, n) for games that ended, None for others.
    - ``final_info``: a dict of arrays of length N: ``action_mask``, ``to_play``, ``ply`` of the last position,
      ``winner`` (int8: 1 attackers, -1 defenders, 0 nobody) and ``reason`` (int8: index in `env.board.REASONS`, 0
      where the game was truncated).

    As ever in Gymnasium, ``_key`` says for which games ``key`` was given.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["rgb_array", "ansi"],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        game: Rules | str = "brandubh",
        num_envs: int = 1,
        *,
        layout: str | None = None,
        max_plies: int | None = None,
        illegal_move: str = "lose",
        draw_offers: bool = False,
        render_mode: str | None = None,
        copy: bool = True,
    ) -> None:
        """Prepare the games; `reset` begins them.

        Args:
            game, layout, max_plies, illegal_move, draw_offers: as for `TaflEnv`.
            num_envs: how many games.
            render_mode: None, "rgb_array" or "ansi".
            copy: True returns fresh arrays from every step. False returns the arrays that the next step writes over,
                which saves a tenth of the time; they are for reading only.

        Raises:
            ValueError: unknown game or layout, or an impossible setting.
        """
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: at least 1")
        check_settings(max_plies, illegal_move, render_mode, self.metadata["render_modes"])
        self.rules = rules = get_rules(game)
        self.num_envs = num_envs
        self.layout = layout
        self.max_plies = max_plies
        self.illegal_move = illegal_move
        self.draw_offers = has_offers(rules, draw_offers)
        self.render_mode = render_mode
        self.copy = copy
        self.single_observation_space = observation_space(rules, draw_offers)
        self.single_action_space = action_space(rules, draw_offers)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

        self._tables = tables(rules)
        self._start = Game(rules, layout).arrays
        shape = self.single_observation_space.shape
        self._slots = new_slots(rules, num_envs)
        self._history = np.zeros((num_envs, FIRST_CAPACITY), np.uint64)
        self._mask = np.zeros((num_envs, int(self.single_action_space.n)), np.int8)
        self._planes = np.zeros((num_envs, *shape), np.int8)
        self._ends = Ends(
            planes=np.zeros((num_envs, *shape), np.int8),
            mask=np.zeros((num_envs, int(self.single_action_space.n)), np.int8),
            to_play=np.zeros(num_envs, np.int8),
            ply=np.zeros(num_envs, np.int32),
            winner=np.zeros(num_envs, np.int8),
            reason=np.zeros(num_envs, np.int8),
        )
        self._begun = False
        self._highest_ply = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin games: all of them, or those that an option names.

        Args:
            seed: seeds `np_random`, from which `sample_legal` draws.
            options: "position" and "to_play" as for `TaflEnv.reset`; games that begin by themselves later start from
                the layout. "reset_mask", bool (N,), names the games to begin anew; the others stay as they are.

        Returns:
            observations, int8 (N, C, n, n), and info.

        Raises:
            ValueError: unknown option, bad mask, or a position that cannot be played on.
        """
        super().reset(seed=seed)
        options = dict(options or {})
        chosen = np.asarray(options.pop("reset_mask", np.ones(self.num_envs, bool)))
        if chosen.dtype != np.bool_ or chosen.shape != (self.num_envs,):
            raise ValueError(
                f"reset option 'reset_mask' is {chosen.dtype} of shape {chosen.shape}: "
                f"bool of shape ({self.num_envs},) is wanted"
            )
        if not (self._begun or chosen.all()):
            raise ValueError(
                "reset option 'reset_mask' leaves out games that have not begun: begin with a reset of all"
            )
        start = start_of(self.rules, self.layout, options).arrays
        begin_games(self._tables, self._slots, self._history, self._mask, self._planes, start, chosen)
        self._begun = True
        return self._given(self._planes), self._info()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Let the side to play act in every game.

        Args:
            actions: integers (N,).

        Returns:
            observations int8 (N, C, n, n), rewards float64 (N,) of the side that acted, terminated and truncated
            bool (N,), info.

        Raises:
            gymnasium.error.ResetNeeded: no game has begun.
            ValueError: actions of another shape or type; or an illegal one where `illegal_move` is "raise": then no
                game has moved.
        """
        if not self._begun:
            raise gym.error.ResetNeeded("no game has begun: call reset() before step()")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions are {actions.dtype} of shape {actions.shape}: integers of shape ({self.num_envs},) are wanted"
            )
        actions = np.ascontiguousarray(actions, np.int64)
        if self.illegal_move == "raise":
            index = first_illegal(self._mask, actions)
            if index >= 0:
                number = int(actions[index])
                known = 0 <= number < self._mask.shape[1]
                text = action_texts(self.rules)[number] if known else ""
                raise ValueError(
                    f"action {number} {f'({text}) ' if text else ''}is illegal in game {index}; no game has moved"
                )
        if self._highest_ply + 1 >= self._history.shape[1]:
            self._history = np.concatenate([self._history, np.zeros_like(self._history)], axis=1)
        self._highest_ply = step_games(
            self._tables,
            self._slots,
            self._history,
            self._mask,
            self._planes,
            actions,
            self._start,
            self.max_plies or 0,
            self._ends,
        )
        info = self._info()
        rewards, terminated, truncated = (self._slots[name].copy() for name in ("reward", "terminated", "truncated"))
        ended = terminated | truncated
        if ended.any():
            info |= self._final(ended, truncated)
        return self._given(self._planes), rewards, terminated, truncated, info

    def sample_legal(self) -> np.ndarray:
        """Return one legal action of every game, int64 (N,), all alike likely; reproducible after `reset(seed=...)`."""
        actions = np.empty(self.num_envs, np.int64)
        numbers = self.np_random.random(self.num_envs, np.float32)
        choose_legal(self._tables, self._slots, self._mask, numbers, actions)
        return actions

    def action_masks(self) -> np.ndarray:
        """Return bool (N, A), True where an action is legal."""
        return self._mask.astype(bool)

    def render(self) -> tuple[Any, ...] | None:
        """Return for every game the position as text (mode "ansi") or uint8 (height, width, 3) ("rgb_array")."""
        from env.render import Scene, draw_picture, draw_text

        if self.render_mode is None:
            gym.logger.warn("render() has nothing to do: give render_mode='ansi' or 'rgb_array' to the environment")
            return None
        draw = draw_text if self.render_mode == "ansi" else draw_picture
        frames = []
        for board, info, last in zip(
            *(self._slots["position"][name] for name in ("board", "info")), self._slots["last"]
        ):
            move = (int(last[0]), int(last[1])) if last[0] >= 0 else None
            captured = tuple(int(square) for square in last[3 : 3 + last[2]]) if move else ()
            state = f"ply {info[PLY]}, {SIDES[info[TO_PLAY]]} to play"
            frames.append(draw(Scene(self.rules, board, int(info[TO_PLAY]), move, captured, state)))
        return tuple(frames)

    def _given(self, array: np.ndarray) -> np.ndarray:
        return array.copy() if self.copy else array

    def _info(self) -> dict[str, Any]:
        info = self._slots["position"]["info"]
        return _with_masks(
            {
                "action_mask": self._given(self._mask),
                "to_play": info[:, TO_PLAY].astype(np.int8),
                "ply": info[:, PLY].copy(),
            },
            np.ones(self.num_envs, bool),
        )

    def _final(self, ended: np.ndarray, truncated: np.ndarray) -> dict[str, Any]:
        """Return what `info` tells of the games that `ended`, bool (N,), some of them `truncated`, bool (N,)."""
        ends = self._ends
        observations = np.full(self.num_envs, None, object)
        for index in np.flatnonzero(ended):
            observations[index] = ends.planes[index].copy()
        mask = np.zeros_like(self._mask)
        mask[truncated] = ends.mask[truncated]
        last = {"action_mask": mask}
        last |= {key: np.where(ended, getattr(ends, key), 0) for key in ("to_play", "ply", "winner", "reason")}
        return _with_masks({"final_obs": observations, "final_info": _with_masks(last, ended)}, ended)


def _with_masks(info: Mapping[str, Any], given: np.ndarray) -> dict[str, Any]:
    """Return `info` with `_key` beside every key: for which games it was given, bool (N,)."""
    return dict(info) | {f"_{key}": given for key in info}
