"""TaflEnv and SingleSideEnv: what Gymnasium and its users rely on."""

from __future__ import annotations

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from env import RULES, Game, IllegalMove, SingleSideEnv, TaflEnv
from env.encoding import PLANES, action_number
from env.notation import square_index
from env.registration import environment_id
from env.tafl_env import OFFER_PLANES

OFFER, ACCEPT = RULES["tawlbwrdd"].actions, RULES["tawlbwrdd"].actions + 1


def number(env: TaflEnv, move: str) -> int:
    origin, target = (square_index(env.rules.size, name) for name in move.split("-"))
    return action_number(env.rules, origin, target)


def plane(env: TaflEnv, observation: np.ndarray, name: str) -> np.ndarray:
    names = [known for known, _ in PLANES + OFFER_PLANES]
    return observation[names.index(name)]


@pytest.mark.parametrize("rules", RULES.values(), ids=list(RULES))
@pytest.mark.parametrize("options", [{}, {"max_plies": 40}, {"draw_offers": True}, {"render_mode": "ansi"}], ids=str)
def test_gymnasium_finds_nothing_to_warn_of(rules, options):
    if "render_mode" in options:  # then the checker tries them all
        pytest.importorskip("pygame", reason="needs the extra: pip install -e '.[human]'")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make(environment_id(rules), **options)
        check_env(env.unwrapped, skip_render_check="render_mode" not in options)
        env.close()


def test_every_layout_and_the_module_prefix():
    for rules in RULES.values():
        for layout, position in rules.layouts.items():
            env = gym.make(f"env:{environment_id(rules)}", layout=layout)
            env.reset()
            assert env.get_wrapper_attr("game").position == position


@pytest.mark.parametrize("rules", RULES.values(), ids=list(RULES))
def test_random_games_agree_with_game(rules):
    env = TaflEnv(rules, max_plies=60)
    env.action_space.seed(5)
    ends = set()
    for _ in range(4):
        observation, info = env.reset()
        game = Game(rules)
        while True:
            assert info["legal_moves"] == [str(move) for move in game.legal_moves()]
            assert np.flatnonzero(info["action_mask"]).tolist() == game.legal_actions().tolist()
            assert (env.action_masks() == info["action_mask"].astype(bool)).all()
            assert info["to_play"] == game.to_play
            assert info["ply"] == game.ply
            for code, name in enumerate(("attackers", "defenders", "king"), start=1):
                assert (plane(env, observation, name).reshape(-1) == (game.board == code)).all()
            assert (plane(env, observation, "to_play") == (game.to_play == "defenders")).all()
            assert (plane(env, observation, "occurrences") == game.occurrences() - 1).all()
            assert observation in env.observation_space
            action = env.action_space.sample(info["action_mask"])
            mover = game.to_play
            game.play_action(int(action))
            observation, reward, terminated, truncated, info = env.step(action)
            outcome = game.outcome
            assert terminated == (outcome is not None)
            assert truncated == (not terminated and game.ply == 60)
            if outcome is not None:
                assert (info["winner"], info["reason"]) == (outcome.winner, outcome.reason)
                assert reward == (0 if outcome.winner is None else 1 if outcome.winner == mover else -1)
                assert not info["action_mask"].any()
            else:
                assert reward == 0
            if terminated or truncated:
                ends.add((terminated, truncated))
                break
        with pytest.raises(ResetNeeded):
            env.step(0)
    assert ends


def test_a_position_can_be_loaded_and_won():
    env = TaflEnv("brandubh")
    env.reset(options={"position": "/7/7/7/7/3K3/t6/7/", "to_play": "defenders"})
    env.step(number(env, "d3-d1"))
    env.step(number(env, "a2-a3"))
    _, reward, terminated, truncated, info = env.step(number(env, "d1-g1"))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["winner"], info["reason"]) == ("defenders", "king_escaped")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positon": "x"}, "unknown reset option 'positon'"),
        ({"to_play": "attackers"}, "goes with 'position'"),
        ({"position": "/7/7/7/7/3K3/7/7/", "to_play": "attackers"}, "nothing is left to play"),
        ({"position": "/7/7/7/7/3K3/t6/7/", "to_play": "white"}, "white"),
    ],
)
def test_bad_reset_options(options, message):
    with pytest.raises(ValueError, match=message):
        TaflEnv("brandubh").reset(options=options)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "chess"}, "brandubh, tawlbwrdd"),
        ({"layout": "round"}, "standard"),
        ({"max_plies": 0}, "at least 1"),
        ({"illegal_move": "pass"}, "lose, raise"),
        ({"render_mode": "3d"}, "ansi"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        TaflEnv(**settings)


def test_an_illegal_action_loses():
    env = TaflEnv("brandubh")
    for action in (number(env, "d4-d5"), env.rules.actions - 1, -1, 10**6):
        env.reset()
        _, reward, terminated, _, info = env.step(action)
        assert (reward, terminated, info["winner"], info["reason"]) == (-1.0, True, "defenders", "forfeit")


def test_an_illegal_action_raises_and_changes_nothing():
    env = TaflEnv("tawlbwrdd", illegal_move="raise", draw_offers=True)
    _, info = env.reset()
    with pytest.raises(IllegalMove, match="not your piece"):
        env.step(number(env, "f6-f7"))
    for action, message in ((-1, "no action -1"), (ACCEPT, "no draw offer"), (ACCEPT + 1, "no action"), (20, "leaves")):
        with pytest.raises(ValueError, match=message):
            env.step(action)
    env.step(OFFER)
    with pytest.raises(ValueError, match="announced already"):
        env.step(OFFER)
    assert env.game.ply == 0
    env.step(number(env, info["legal_moves"][0]))


def test_a_draw_is_offered_and_accepted():
    env = TaflEnv("tawlbwrdd", draw_offers=True)
    observation, info = env.reset()
    assert info["legal_moves"][-1] == "offer"
    observation, reward, terminated, _, info = env.step(OFFER)
    assert (reward, terminated, info["to_play"], info["ply"]) == (0.0, False, "attackers", 0)
    assert plane(env, observation, "offer announced").all()
    assert not info["action_mask"][[OFFER, ACCEPT]].any()
    observation, _, _, _, info = env.step(number(env, "f10-e10"))
    assert plane(env, observation, "offer stands").all()
    assert not plane(env, observation, "offer announced").any()
    assert info["action_mask"][[OFFER, ACCEPT]].all()
    _, reward, terminated, _, info = env.step(ACCEPT)
    assert (reward, terminated, info["winner"], info["reason"]) == (0.0, True, None, "agreement")


def test_an_offer_lapses_when_the_other_side_moves():
    env = TaflEnv("tawlbwrdd", draw_offers=True)
    env.reset()
    env.step(OFFER)
    env.step(number(env, "f10-e10"))
    observation, _, _, _, info = env.step(number(env, "f8-g8"))
    assert not info["action_mask"][ACCEPT]
    assert not plane(env, observation, "offer stands").any()


def test_rules_without_agreement_get_no_offers():
    env = TaflEnv("brandubh", draw_offers=True)
    assert len(env.action_masks()) == env.rules.actions
    assert env.observation_space.shape == (len(PLANES), 7, 7)


def test_the_opponent_moves_first_and_its_win_is_a_loss():
    moves = iter(["a2-a3", "e5-e3"])
    env = SingleSideEnv(TaflEnv("brandubh"), "defenders", lambda tafl: number(tafl, next(moves)))
    _, info = env.reset(options={"position": "/7/3T3/4t2/7/2tK3/t6/7/", "to_play": "attackers"})
    assert info["opponent_moves"] == ["a2-a3"]
    assert (info["to_play"], info["agent"]) == ("defenders", "defenders")
    _, reward, terminated, _, info = env.step(np.int64(number(env.tafl, "d6-e6")))
    assert (reward, terminated, info["opponent_moves"]) == (-1.0, True, ["e5-e3"])
    assert (info["winner"], info["reason"]) == ("attackers", "king_captured")


def test_a_game_that_ends_before_the_agent_plays_is_refused():
    env = SingleSideEnv(TaflEnv("brandubh"), "defenders", lambda tafl: number(tafl, "e5-e3"))
    with pytest.raises(ValueError, match="ends before the defenders are to play"):
        env.reset(options={"position": "/7/3T3/4t2/7/2tK3/t6/7/", "to_play": "attackers"})


def test_single_side_games_come_out_the_same_for_a_seed():
    def history(seed):
        env = SingleSideEnv(gym.make("branan/Tawlbwrdd-v0", max_plies=60, draw_offers=True), "random")
        env.action_space.seed(1)
        seen = []
        for start in (seed, None):
            _, info = env.reset(seed=start)
            done = False
            while not done:
                assert info["to_play"] == info["agent"]
                action = env.action_space.sample(info["action_mask"])
                _, reward, terminated, truncated, info = env.step(action)
                done = terminated or truncated
                seen.append((int(action), reward, tuple(info["opponent_moves"])))
                if info.get("winner"):
                    assert reward == (1 if info["winner"] == info["agent"] else -1)
        return seen

    assert history(7) == history(7)
    assert history(7) != history(8)


def test_a_cheating_opponent_is_found_out():
    env = SingleSideEnv(TaflEnv("brandubh"), "defenders", lambda tafl: 0)
    with pytest.raises(ValueError, match="opponent chose action 0"):
        env.reset()
    with pytest.raises(ValueError, match="attackers, defenders, random"):
        SingleSideEnv(TaflEnv("brandubh"), "white")


@pytest.mark.slow
@pytest.mark.parametrize("single_side", [False, True])
def test_maskable_ppo_runs_2000_steps(single_side):
    sb3_contrib = pytest.importorskip("sb3_contrib", reason="needs the extra: pip install -e '.[sb3]'")
    env = gym.make("branan/Brandubh-v0", max_plies=100)
    if single_side:
        env = SingleSideEnv(env, "defenders")
    model = sb3_contrib.MaskablePPO("MlpPolicy", env, n_steps=500, seed=1, device="cpu")
    model.learn(2000)
    assert model.num_timesteps >= 2000
    observation, info = env.reset(seed=0)
    action, _ = model.predict(observation, action_masks=env.get_wrapper_attr("action_masks")())
    assert info["action_mask"][action]
