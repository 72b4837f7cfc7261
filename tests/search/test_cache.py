"""Remembered evaluations: what comes back is what went in, for exactly this input."""

from __future__ import annotations

import numpy as np
import pytest
from hash_evaluator import HashEvaluator
from hypothesis import given, settings
from hypothesis import strategies as st

from env import RULES, Game
from search.cache import Entry, forget, new_cache, recall, remember
from search.config import SearchConfig
from search.mcts import Search

GAMES = tuple(RULES)
SIZE, COLUMNS = 7, 52


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 64), st.integers(0, 2**31), st.integers(1, 3))
def test_what_is_found_was_entered_for_this_row(capacity: int, seed: int, spread: int) -> None:
    rng = np.random.default_rng(seed)
    cache, truth = new_cache(SIZE, capacity), {}
    found, row = 0, np.zeros(COLUMNS, np.int8)
    for _ in range(300):
        row = np.zeros(COLUMNS, np.int8)
        row[rng.integers(COLUMNS, size=spread)] = rng.integers(-3, 4, spread)
        index = int(recall(cache.entries, cache.memory[0], row))
        if index >= 0:
            value, logits = truth[row.tobytes()]
            entry: Entry = cache.entries[index]
            assert entry.value == value and entry.count == len(logits)
            assert entry.logits[: entry.count].tolist() == logits.tolist()
            found += 1
        value, logits = np.float32(rng.normal()), rng.normal(size=rng.integers(1, 99)).astype(np.float32)
        remember(cache.entries, cache.memory[0], row, len(logits), logits, value)
        truth[row.tobytes()] = value, logits
        entry = cache.entries[int(recall(cache.entries, cache.memory[0], row))]
        assert entry.value == value, "the newest is there"
    assert cache.memory[0].found == found + 300
    forget(cache)
    assert recall(cache.entries, cache.memory[0], row) < 0


def test_positions_of_very_many_moves_are_left_out() -> None:
    cache, row = new_cache(SIZE, 8), np.ones(COLUMNS, np.int8)
    remember(cache.entries, cache.memory[0], row, 99, np.zeros(99, np.float32), 0.5)
    assert recall(cache.entries, cache.memory[0], row) < 0


@pytest.mark.parametrize("leaves", [1, 6])
@pytest.mark.parametrize("name", GAMES)
def test_remembering_changes_no_search_and_saves_evaluations(name: str, leaves: int) -> None:
    plain, remembering = HashEvaluator(3), HashEvaluator(3)
    without = Search(name, plain, SearchConfig(leaves=leaves))
    cached = Search(name, remembering, SearchConfig(leaves=leaves, cache=4096))
    games = [Game(name), Game(name)]
    games[1].play(games[1].legal_moves()[0])
    for _ in range(3):
        results = without.run(games, 120)
        for one, other in zip(results, cached.run(games, 120)):
            assert one.visits.sum() == other.visits.sum()
            if leaves == 1:
                assert one.visits.tolist() == other.visits.tolist()
                assert one.policy.tolist() == other.policy.tolist()
        for game, result in zip(games, results):
            game.play(result.move)
    assert remembering.rows < plain.rows
    if leaves > 1:  # what is known changes which leaves go together
        return
    cached.run(games, 50)
    before = remembering.rows
    cached.run(games, 50)
    assert remembering.rows == before, "all is known"
    cached.forget()
    cached.run(games, 50)
    assert remembering.rows > before
