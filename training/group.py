"""One batch of games that the network plays against itself, and what its games leave to learn from."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import torch

from env.encoding import input_size
from env.notation import parse_position
from env.position import PLY
from env.rules import SIDES, Rules
from env.tables import tables
from search.cache import forget, new_cache
from search.config import SearchConfig
from search.mcts import Evaluate
from search.simulation import new_batch, require_numbers
from search.tree import ROOT, new_tree
from training import ranges
from training.collected import Collected, to_shard
from training.config import SelfPlayConfig
from training.play_kernels import (
    advance_games,
    begin_game,
    carry_on,
    replay_moves,
    restart_searches,
    searches_for,
)
from training.ranges import Range, require_inputs, require_ranges, require_total
from training.shard import Shard
from training.slots import RUNNING, TRUNCATED, PlaySettings, new_slots

# What of `Slots` has to be kept between two starts: a row a game, a row a record, an entry a record's move.
_PER_SLOT = ("layout", "start", "missing", "balance", "opening", "full", "records")
_PER_RECORD = ("record_ply", "record_input", "record_weight")
_PER_RECORD_MOVE = ("record_actions", "record_policy")


def lambda_returns(searched: np.ndarray, result: float, discount: float, keep: float) -> np.ndarray:
    """Return what the positions of a game turned out to be worth: TD(lambda)'s mixture of what was found later.

    G(T) = result,  G(t) = (1 - keep) * searched(t) + keep * discount * G(t + 1)
    (Sutton 1988, "Learning to predict by the methods of temporal differences", with all values in one side's view).

    Args:
        searched: float (T,), values that the searches of a game found, one a ply, in [-1, 1].
        result: of the game, after T plies.
        discount: worth of one ply later, in (0, 1].
        keep: lambda in [0, 1]; 1 looks at the result alone.

    Returns:
        float64 (T + 1,), the view as that of the arguments.
    """
    returns = np.empty(len(searched) + 1)
    returns[-1] = result
    for ply in range(len(searched) - 1, -1, -1):
        returns[ply] = (1 - keep) * searched[ply] + keep * discount * returns[ply + 1]
    return returns


class Group:
    """One batch of games with its evaluator."""

    def __init__(
        self,
        rules: Rules,
        config: SelfPlayConfig,
        search: SearchConfig,
        evaluator: Evaluate,
        seeds: np.ndarray,
        balance_limit: int,
        by_temperature: bool,
    ) -> None:
        self.rules, self.config, self.evaluator = rules, config, evaluator
        self.tables, self.settings = tables(rules), search.settings()
        self.discount = search.discount
        weights = config.layouts or {rules.default_layout: 1.0}
        names = list(rules.layouts)
        shares = np.array([weights.get(name, 0.0) for name in names], np.float64)
        self.play = PlaySettings(
            simulations=config.simulations,
            fast_simulations=config.fast_simulations,
            full_share=config.full_share,
            max_plies=config.max_plies,
            policy_opening_share=config.policy_opening_share,
            policy_opening_plies=config.policy_opening_plies,
            random_opening_share=config.random_opening_share,
            opening_limit=config.opening_limit,
            even_share=config.even_share,
            material_share=config.material_share,
            material_most=config.material_most,
            by_temperature=by_temperature,
            balance_limit=balance_limit,
            gumbel_scale=search.gumbel_scale,
            reuse=search.reuse,
            first=SIDES.index(rules.first),
            layout_boards=np.stack([parse_position(rules, rules.layouts[name]) for name in names]),
            layout_shares=np.cumsum(shares) / shares.sum(),
        )
        count = config.games_per_group
        self.batch = new_batch(rules.size, count)
        self.slots = new_slots(count, input_size(rules), rules.most_moves, config.max_plies)
        self.cache = new_cache(rules.size, search.cache)
        self.tree = self._tree(config.simulations)
        self.tree.slots["random"] = seeds
        self.started = False

    def _tree(self, simulations: int):
        count, plies = self.config.games_per_group, self.config.max_plies
        kept = 2 * simulations if self.play.reuse else 0
        return new_tree(self.rules.size, count, simulations, plies, kept=kept, cache=self.cache)

    def _set_budget(self, balance: int, growth: float) -> None:
        """Settle the searches' lengths; make room for the largest that a game with one of the balances asks for."""
        simulations, fast = (round(growth * n) for n in (self.config.simulations, self.config.fast_simulations))
        self.play = self.play._replace(simulations=simulations, fast_simulations=fast)
        most = 0
        if not self.play.by_temperature:
            most = max(abs(balance), int(np.abs(self.slots.balance.astype(np.int64)).max()))
        needed = searches_for(max(simulations, fast), most, 0)
        if self.tree.schedule.shape[1] < needed:
            old, self.tree = self.tree, self._tree(needed)
            self.tree.slots["random"] = old.slots["random"]
            self.tree.nodes["position"][:, ROOT] = old.nodes["position"][:, ROOT]
            self.tree.history[:, : self.config.max_plies + 1] = old.history[:, : self.config.max_plies + 1]

    def run(self, steps: int, balance: int, growth: float) -> Shard:
        """Play `steps` batches."""
        torch.set_num_threads(1)
        self._set_budget(balance, growth)
        kernel_arguments = (self.tables, self.settings, self.play, self.tree, self.batch, self.slots)
        forget(self.cache)  # the weights may be others, and a resumed run has to come out the same
        if self.started:
            restart_searches(*kernel_arguments)
        else:
            for slot in range(self.config.games_per_group):
                begin_game(*kernel_arguments, slot, balance)
            self.started = True
        self.slots.simulations[:] = 0
        collected: list[Collected] = []
        search_seconds = inference_seconds = 0.0
        now = time.perf_counter()
        for _ in range(steps):
            before, now = now, time.perf_counter()
            search_seconds += now - before
            self.evaluator(*self.batch)
            require_numbers(self.batch)
            before, now = now, time.perf_counter()
            inference_seconds += now - before
            over = advance_games(*kernel_arguments)
            while over:
                over = 0
                for slot in np.flatnonzero(self.slots.state != RUNNING):
                    collected.append(self._collect(int(slot)))
                    begin_game(*kernel_arguments, int(slot), balance)
                    over += carry_on(*kernel_arguments, int(slot))
        counters = {
            "evaluations": float(steps * self.config.games_per_group),
            "simulations": float(self.slots.simulations.sum()),
            "remembered": float(self.cache.memory["found"][0]),
            "search_seconds": search_seconds,
            "inference_seconds": inference_seconds,
        }
        return to_shard(collected, input_size(self.rules), counters)

    def _listed(self, slot: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the records' numbers of moves, int64 (records,), and which entries of the records are in use."""
        counts = self.slots.record_count[slot, : self.slots.records[slot]].astype(np.int64)
        return counts, np.arange(self.slots.record_actions.shape[2]) < counts[:, None]

    def _collect(self, slot: int) -> Collected:
        """Take a finished game out of its slot, with the targets that its end gives its positions."""
        slots = self.slots
        length, count = int(self.tree.nodes[slot, ROOT].position.info[PLY]), int(slots.records[slot])
        inputs = slots.record_input[slot, :count].copy()
        plies = slots.record_ply[slot, :count].copy()
        to_play = inputs[:, self.rules.cells]
        sign = np.where(to_play == 0, 1.0, -1.0)
        truncated = slots.state[slot] == TRUNCATED
        movers = np.where((self.play.first + np.arange(length)) % 2 == 0, 1.0, -1.0)
        searched = movers * slots.values[slot, :length]  # the attackers' view
        if truncated:
            # The last search looked at the position before the last move: what it found stands for the result there.
            attackers_value = float(searched[-1])
            ends = length - 1
        else:
            attackers_value = float(slots.result[slot])
            ends = length
        own = sign * attackers_value
        value = sign * lambda_returns(searched[:ends], attackers_value, self.discount, self.config.value_lambda)[plies]
        drawn = np.full(count, 1.0 - abs(attackers_value) if not truncated else 0.0)
        outlook = np.stack([(1 + own - drawn) / 2, drawn, (1 - own - drawn) / 2], axis=1)
        counts, listed = self._listed(slot)
        return Collected(
            inputs=inputs,
            counts=counts,
            actions=slots.record_actions[slot, :count][listed],
            policy=slots.record_policy[slot, :count][listed],
            weight=slots.record_weight[slot, :count].copy(),
            value=value.astype(np.float32),
            outlook=outlook.astype(np.float32),
            ply=plies,
            winner=int(slots.result[slot]),
            reason=int(slots.reason[slot]),
            layout=int(slots.layout[slot]),
            start=slots.start[slot].copy(),
            missing=int(slots.missing[slot]),
            balance=int(slots.balance[slot]),
            moves=slots.moves[slot, :length].copy(),
        )

    def state(self) -> dict[str, np.ndarray]:
        """Return the games that are going on: everything but the searches, which begin anew."""
        if not self.started:
            return {"random": self.tree.slots["random"].copy()}
        slots, count = self.slots, self.config.games_per_group
        plies = self.tree.nodes["position"]["info"][:, ROOT, PLY].astype(np.int64)
        rows = [slice(0, n) for n in slots.records]
        listed = [self._listed(slot) for slot in range(count)]
        state = {name: getattr(slots, name).copy() for name in _PER_SLOT}
        state |= {
            "random": self.tree.slots["random"].copy(),
            "plies": plies,
            "moves": np.concatenate([slots.moves[slot, : plies[slot]] for slot in range(count)]),
            "values": np.concatenate([slots.values[slot, : plies[slot]] for slot in range(count)]),
            "record_counts": np.concatenate([counts for counts, _ in listed]),
        }
        for name in _PER_RECORD:
            state[name] = np.concatenate([getattr(slots, name)[slot, rows[slot]] for slot in range(count)])
        for name in _PER_RECORD_MOVE:
            parts = [getattr(slots, name)[slot, rows[slot]][listed[slot][1]] for slot in range(count)]
            state[name] = np.concatenate(parts)
        return state

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` returned.

        Raises:
            ValueError: it was another number of games, or an array holds what it cannot; the message names it.
        """
        count = self.config.games_per_group
        if len(state["random"]) != count:
            raise ValueError(f"the saved games are {len(state['random'])} a group, the configuration says {count}")
        self.tree.slots["random"] = state["random"]
        if "plies" not in state:
            return
        self._require(state)
        slots = self.slots
        for name in _PER_SLOT:
            getattr(slots, name)[:] = state[name]
        slots.state[:] = RUNNING
        self._set_budget(0, 1.0)
        move = record = entry = 0
        for slot in range(count):
            plies, records = int(state["plies"][slot]), int(slots.records[slot])
            slots.moves[slot, :plies] = state["moves"][move : move + plies]
            slots.values[slot, :plies] = state["values"][move : move + plies]
            move += plies
            replay_moves(self.tables, self.play, self.tree, slots, slot, plies)
            slots.record_count[slot, :records] = state["record_counts"][record : record + records]
            for name in _PER_RECORD:
                getattr(slots, name)[slot, :records] = state[name][record : record + records]
            record += records
            counts, listed = self._listed(slot)
            entries = int(counts.sum())
            for name in _PER_RECORD_MOVE:
                getattr(slots, name)[slot, :records][listed] = state[name][entry : entry + entries]
            entry += entries
        self.started = True

    def _require(self, state: Mapping[str, np.ndarray]) -> None:
        """ValueError unless every array of `state` holds what it can."""
        rules, plies, count = self.rules, self.config.max_plies, self.config.games_per_group
        require_ranges(
            state,
            {
                "layout": ranges.layouts(rules),
                "start": ranges.BOARD,
                "missing": Range(0, rules.cells),
                "balance": ranges.BALANCE,
                "opening": Range(-1 - plies // 2, 1 + plies // 2),
                "full": ranges.SWITCH,
                "records": Range(0, plies),
                "plies": Range(0, plies - 1),
                "moves": ranges.actions(rules),
                "values": ranges.VALUE,
                "record_counts": ranges.moves(rules),
                "record_ply": Range(0, plies - 1),
                "record_weight": ranges.SHARE,
                "record_actions": ranges.actions(rules),
                "record_policy": ranges.SHARE,
            },
        )
        for name in (*_PER_SLOT, "plies"):
            require_total(name, state[name], np.ones(count, np.int64))
        for name in ("moves", "values"):
            require_total(name, state[name], state["plies"])
        for name in ("record_counts", *_PER_RECORD):
            require_total(name, state[name], state["records"])
        for name in _PER_RECORD_MOVE:
            require_total(name, state[name], state["record_counts"])
        require_inputs("record_input", state["record_input"], rules)
