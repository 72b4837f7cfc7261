"""`TaflVectorEnv`: thousands of games a step, on the same kernels as everything else.

It does what as many `env.TaflEnv` would do (see there for actions, observations, rewards and draw offers), with one
kernel call a step. A game that ends is begun anew within the same step (autoreset mode `SAME_STEP`): so every action
of every step is a move of a live game, no row of a batch has to be masked out of learning, and the mask that comes
with an observation is always that of a position in which somebody is to play. The last position of a game that ended
is in ``info["final_obs"]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from env.board import AGREEMENT, FORFEIT, NONE, play, winner
from env.encoding import EXTRA_INPUTS, PLANES, write_input, write_planes
from env.game import Game
from env.jit import kernel
from env.moves import write_moves
from env.position import PLY, TO_PLAY, Position, copy_position, new_position
from env.rules import ATTACKERS, SIDES, Rules, get_rules
from env.tables import Tables, tables
from env.tafl_env import action_space, action_texts, check_settings, has_offers, observation_space, start_of

ANNOUNCED, STANDS = 1, 2  # bits of `Games.offers`
BOARD_PLANES = len(PLANES)
FIRST_CAPACITY = 256  # plies for which there is room at first; it is doubled when a game outgrows it


class Slot(np.record):  # pyright: ignore[reportIncompatibleVariableOverride]
    """One game of a vector environment, as one record.

    Attributes:
        position: the present one.
        moves: int16 (4S,), legal moves, the first `count` of them valid.
        count: int32.
        offers: int32, bits ANNOUNCED and STANDS, see `env.tafl_env`.
        last: int16 (8,), `undo` of the last move as `env.board.make` writes it; [0] = -1 before the first.
        row: int8 (S + 3,), input row of the position, see `env.encoding`.
        reward: float64, of the side that acted.
        terminated, truncated: bool.
    """

    position: Position
    moves: np.ndarray
    count: int
    offers: int
    last: np.ndarray
    row: np.ndarray
    reward: float
    terminated: bool
    truncated: bool


class Ends(NamedTuple):
    """What is kept of the games that ended in a step; rows of other games are not written.

    N games, A actions, C planes.

    Attributes:
        planes: int8 (N, C, n, n), observation of the last position.
        mask: int8 (N, A), its mask; written for truncated games only, others have no legal action.
        to_play: int8 (N,), 0 attackers, 1 defenders.
        ply: int32 (N,).
        winner: int8 (N,), 1 attackers, -1 defenders, 0 nobody.
        reason: int8 (N,), code of `env.board`; 0 where the game was truncated.
    """

    planes: np.ndarray
    mask: np.ndarray
    to_play: np.ndarray
    ply: np.ndarray
    winner: np.ndarray
    reason: np.ndarray


def new_slots(rules: Rules, count: int) -> np.ndarray:
    """Return an array of `count` records `Slot`, to be filled by `begin_games`."""
    fields = [
        ("position", new_position(rules).dtype),
        ("moves", np.int16, (4 * rules.cells,)),
        ("count", np.int32),
        ("offers", np.int32),
        ("last", np.int16, (8,)),
        ("row", np.int8, (rules.cells + EXTRA_INPUTS,)),
        ("reward", np.float64),
        ("terminated", np.bool_),
        ("truncated", np.bool_),
    ]
    return np.zeros(count, np.dtype((Slot, np.dtype(fields, align=True))))


@kernel
def _observe(t: Tables, slot: Slot, history: np.ndarray, count: int, planes: np.ndarray) -> None:
    """Write the observation of a game with `count` legal moves to `planes`, int8 (C, n, n)."""
    write_input(t, slot.position, history, 0, slot.moves, count, slot.row)
    write_planes(t, slot.row, planes)
    if planes.shape[0] > BOARD_PLANES:
        planes[BOARD_PLANES] = slot.offers & ANNOUNCED
        planes[BOARD_PLANES + 1] = slot.offers // STANDS


@kernel
def _refresh(t: Tables, slot: Slot, history: np.ndarray, mask: np.ndarray, planes: np.ndarray) -> None:
    """Bring moves, mask, int8 (A,), and observation, int8 (C, n, n), of a live game up to date.

    The mask is cleared by the old moves: writing all of it would cost more than everything else.
    """
    for place in range(slot.count):
        mask[slot.moves[place]] = 0
    count = write_moves(t, slot.position, slot.moves)
    for place in range(count):
        mask[slot.moves[place]] = 1
    slot.count = count
    board_actions = t.target.shape[0]
    if mask.shape[0] > board_actions:
        mask[board_actions] = 1 - (slot.offers & ANNOUNCED)
        mask[board_actions + 1] = slot.offers // STANDS
    _observe(t, slot, history, count, planes)


@kernel
def _begin(slot: Slot, history: np.ndarray, start: Position) -> None:
    """Set a game to its start; `_refresh` has to follow."""
    copy_position(start, slot.position)
    history[0] = start.key[0]
    slot.offers = 0
    slot.last[0] = -1


@kernel
def begin_games(
    t: Tables,
    slots: np.ndarray,
    history: np.ndarray,
    mask: np.ndarray,
    planes: np.ndarray,
    start: Position,
    chosen: np.ndarray,
) -> None:
    """Begin the games anew for which `chosen`, bool (N,), is set; other arguments as for `step_games`."""
    for index in range(chosen.shape[0]):
        if chosen[index]:
            _begin(slots[index], history[index], start)
            _refresh(t, slots[index], history[index], mask[index], planes[index])


@kernel
def first_illegal(mask: np.ndarray, actions: np.ndarray) -> int:
    """Return the first row of `mask`, int8 (N, A), that forbids its action, or -1."""
    for index in range(actions.shape[0]):
        action = actions[index]
        if action < 0 or action >= mask.shape[1] or mask[index, action] == 0:
            return index
    return -1


@kernel
def step_games(
    t: Tables,
    slots: np.ndarray,
    history: np.ndarray,
    mask: np.ndarray,
    planes: np.ndarray,
    actions: np.ndarray,
    start: Position,
    max_plies: int,
    ends: Ends,
) -> int:
    """Let the side to play act in every game; games that end begin anew from `start`.

    Args:
        t: see `env.position`.
        slots: Slot (N,), changed in place.
        history: uint64 (N, capacity), keys by ply; capacity is above the highest ply by one at least.
        mask: int8 (N, A), 1 where an action is legal; brought up to date.
        planes: int8 (N, C, n, n), observations; brought up to date.
        actions: int64 (N,); an illegal one loses.
        start: position at ply 0 of a new game.
        max_plies: limit after which a game is truncated; 0 for none.
        ends: filled in for games that end.

    Returns:
        The highest ply of any game.
    """
    highest = 0
    board_actions = t.target.shape[0]
    for index in range(actions.shape[0]):
        slot = slots[index]
        mover = int(slot.position.info[TO_PLAY])
        action = actions[index]
        reason, won, truncated = NONE, 0, False
        if action < 0 or action >= mask.shape[1] or mask[index, action] == 0:
            reason = FORFEIT
            won = -1 if mover == ATTACKERS else 1
            slot.offers = 0
        elif action < board_actions:
            reason = play(t, slot.position, history[index], action, slot.last)
            going_on = reason == NONE
            slot.offers = STANDS if going_on and slot.offers & ANNOUNCED else 0
            won = winner(t, reason, mover)
            truncated = going_on and 0 < max_plies <= slot.position.info[PLY]
        elif action == board_actions:
            slot.offers |= ANNOUNCED
        else:
            reason = AGREEMENT
            slot.offers = 0
        slot.reward = won if mover == ATTACKERS else -won
        slot.terminated = reason != NONE
        slot.truncated = truncated
        if reason != NONE or truncated:
            ends.to_play[index] = slot.position.info[TO_PLAY]
            ends.ply[index] = slot.position.info[PLY]
            ends.winner[index] = won
            ends.reason[index] = reason
            if truncated:
                _refresh(t, slot, history[index], mask[index], planes[index])
                ends.planes[index] = planes[index]
                ends.mask[index] = mask[index]
            else:
                _observe(t, slot, history[index], 0, ends.planes[index])
            _begin(slot, history[index], start)
        highest = max(highest, slot.position.info[PLY])
        _refresh(t, slot, history[index], mask[index], planes[index])
    return highest


@kernel
def choose_legal(t: Tables, slots: np.ndarray, mask: np.ndarray, numbers: np.ndarray, actions: np.ndarray) -> None:
    """Write to `actions`, int64 (N,), one legal action of every game for a number, float32 (N,) in [0, 1), each."""
    board_actions = t.target.shape[0]
    for index in range(actions.shape[0]):
        count = int(slots[index].count)
        total = count
        for action in range(board_actions, mask.shape[1]):
            total += int(mask[index, action])
        place = int(np.float64(numbers[index]) * total)
        if place < count:
            actions[index] = slots[index].moves[place]
        elif place == count and mask[index, board_actions]:
            actions[index] = board_actions
        else:
            actions[index] = board_actions + 1


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
