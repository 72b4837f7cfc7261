"""TaflVectorEnv does what as many TaflEnv do."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from env import RULES, TaflEnv
from env.board import REASONS
from env.registration import environment_id
from env.rules import SIDES
from env.vector import TaflVectorEnv

GAMES = 3
WINNERS = {"attackers": 1, "defenders": -1, None: 0}


@pytest.mark.parametrize("rules", RULES.values(), ids=list(RULES))
@pytest.mark.parametrize("draw_offers", [False, True])
def test_step_for_step_like_single_environments(rules, draw_offers):
    options = {"max_plies": 40, "draw_offers": draw_offers}
    name = environment_id(rules)
    several = gym.make_vec(name, num_envs=GAMES, vectorization_mode="vector_entry_point", **options)
    assert isinstance(several, TaflVectorEnv)
    single = SyncVectorEnv(
        [lambda: TaflEnv(rules, **options)] * GAMES, autoreset_mode=several.metadata["autoreset_mode"]
    )
    assert several.observation_space == single.observation_space
    assert several.action_space == single.action_space
    seen, info = several.reset(seed=2)
    expected, expected_info = single.reset()
    generator = np.random.default_rng(3)
    reasons = set()
    for step in range(160):
        assert (seen == expected).all()
        assert (info["action_mask"] == expected_info["action_mask"]).all()
        assert [SIDES[side] for side in info["to_play"]] == list(expected_info["to_play"])
        assert (info["ply"] == expected_info["ply"]).all()
        assert (several.action_masks() == info["action_mask"]).all()
        actions = several.sample_legal()
        assert info["action_mask"][np.arange(GAMES), actions].all()
        offers = info["action_mask"][:, rules.actions :]
        if offers.size and generator.random() < 0.1:  # let offers be made and taken now and then
            choice = rules.actions + generator.integers(2, size=GAMES)
            legal = info["action_mask"][np.arange(GAMES), choice] == 1
            actions[legal] = choice[legal]
        if step % 20 == 19:
            actions[generator.integers(GAMES)] = generator.integers(several.action_masks().shape[1] + 5) - 2
        seen, *rest, info = several.step(actions)
        # gymnasium's own vector environment forwards numbers beyond the space as they are.
        expected, *expected_rest, expected_info = single.step(actions)
        for one, other in zip(rest, expected_rest):
            assert (one == other).all()
            assert one.dtype == other.dtype
        assert ("final_obs" in info) == ("final_obs" in expected_info)
        if "final_obs" in info:
            given = info["_final_obs"]
            assert (given == expected_info["_final_obs"]).all()
            last, expected_last = info["final_info"], expected_info["final_info"]
            for index in np.flatnonzero(given):
                assert (info["final_obs"][index] == expected_info["final_obs"][index]).all()
                assert (last["action_mask"][index] == expected_last["action_mask"][index]).all()
                assert last["ply"][index] == expected_last["ply"][index]
                assert SIDES[last["to_play"][index]] == expected_last["to_play"][index]
                reason = REASONS[last["reason"][index]]
                reasons.add(reason)
                if reason:
                    assert reason == expected_last["reason"][index]
                    assert last["winner"][index] == WINNERS[expected_last["winner"][index]]
            assert all(info["final_obs"][index] is None for index in np.flatnonzero(~given))
    assert "forfeit" in reasons
    assert len(reasons) >= 3 if draw_offers and rules.agreement else len(reasons) >= 2


def test_autoreset_mode_is_named():
    assert TaflVectorEnv.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


def test_the_same_seed_samples_the_same_games():
    def play(seed):
        env = TaflVectorEnv("tawlbwrdd", 4, draw_offers=True)
        env.reset(seed=seed)
        chosen = []
        for _ in range(30):
            actions = env.sample_legal()
            chosen.append(actions.tolist())
            env.step(actions)
        return chosen

    assert play(11) == play(11)
    assert play(11) != play(12)


def test_sampling_reaches_every_legal_action():
    env = TaflVectorEnv("tawlbwrdd", 512, draw_offers=True)
    _, info = env.reset(seed=0)
    drawn = np.zeros(len(info["action_mask"][0]), bool)
    for _ in range(20):
        drawn[env.sample_legal()] = True
    assert (drawn == info["action_mask"][0].astype(bool)).all()


def test_games_may_outgrow_their_first_history(monkeypatch):
    roomy = TaflVectorEnv("brandubh", 8)
    monkeypatch.setattr("env.vector.FIRST_CAPACITY", 2)
    narrow = TaflVectorEnv("brandubh", 8)
    roomy.reset(seed=4)
    narrow.reset(seed=4)
    highest = 0
    for _ in range(80):
        actions = roomy.sample_legal()
        assert (narrow.sample_legal() == actions).all()
        one, *_, info = roomy.step(actions)
        other, *_ = narrow.step(actions)
        assert (one == other).all()
        highest = max(highest, info["ply"].max())
    assert highest > 16


def test_fresh_arrays_unless_told_otherwise():
    for copy in (True, False):
        env = TaflVectorEnv("brandubh", 2, copy=copy)
        first, info = env.reset(seed=0)
        before, mask_before = first.copy(), info["action_mask"].copy()
        second, *_, after = env.step(env.sample_legal())
        assert (first == before).all() == copy
        assert (info["action_mask"] == mask_before).all() == copy
        assert np.shares_memory(first, second) != copy
        assert np.shares_memory(info["action_mask"], after["action_mask"]) != copy


def test_chosen_games_begin_anew():
    env = TaflVectorEnv("brandubh", 3)
    start, _ = env.reset(seed=1)
    env.step(env.sample_legal())
    before, *_ = env.step(env.sample_legal())
    chosen = np.array([False, True, False])
    position = {"position": "/7/3T3/4t2/7/2tK3/t6/7/", "to_play": "defenders"}
    after, info = env.reset(options={"reset_mask": chosen})
    assert (after[1] == start[1]).all()
    assert (after[[0, 2]] == before[[0, 2]]).all()
    assert info["ply"].tolist() == [2, 0, 2]
    _, info = env.reset(options=position)
    assert info["to_play"].tolist() == [1, 1, 1]


def test_errors_name_what_is_wrong():
    env = TaflVectorEnv("brandubh", 2, illegal_move="raise")
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(2, int))
    with pytest.raises(ValueError, match="not begun"):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset()
    with pytest.raises(ValueError, match="reset_mask"):
        env.reset(options={"reset_mask": np.ones(3, bool)})
    with pytest.raises(ValueError, match=r"integers of shape \(2,\)"):
        env.step(np.zeros(2))
    legal = env.sample_legal()
    with pytest.raises(ValueError, match="illegal in game 1"):
        env.step(np.array([legal[0], 0]))
    *_, info = env.step(legal)
    assert info["ply"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="num_envs=0"):
        TaflVectorEnv("brandubh", 0)


def test_gymnasium_wrappers_count_episodes():
    games = TaflVectorEnv("brandubh", 8, max_plies=5)
    env = gym.wrappers.vector.RecordEpisodeStatistics(games)
    _, info = env.reset(seed=0)
    for _ in range(5):
        *_, info = env.step(games.sample_legal())
    assert (info["episode"]["l"] == 5).all()


def test_rendering():
    env = TaflVectorEnv("brandubh", 2, render_mode="ansi")
    env.reset()
    env.step(np.full(2, env.sample_legal()[0]))
    frames = env.render()
    assert frames is not None
    first, second = frames
    assert first == second
    assert "defenders to play" in first
