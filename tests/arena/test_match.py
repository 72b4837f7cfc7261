"""Matches: pairing, counting, limits, and that they come out the same again."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from arena.interval import of_pairs, wilson
from arena.match import MatchResult, Standing, play_match
from arena.openings import Opening
from arena.players import Player, RandomPlayer, Thought, parse_player
from env import RULES, Game, Move

BRANDUBH = RULES["brandubh"]
OPENINGS = [
    Opening("standard", tuple(line.split()), "test", number)
    for number, line in enumerate(["d1-c1", "d2-e2 d3-c3", "d1-f1 d5-c5", "a4-a3"], start=1)
]


class Scripted:
    """Plays a rule made for the test; remembers the games it was asked for and how many at a time."""

    def __init__(self, name: str = "scripted", index: int = 0, wrong: bool = False) -> None:
        self.name, self.index, self.wrong = name, index, wrong
        self.batches: list[int] = []

    def choose(self, games: Sequence[Game], seeds: Sequence[int] | None = None) -> list[Move]:
        self.batches.append(len(games))
        assert all(game.outcome is None for game in games)
        return [Move("a1", "a2") if self.wrong else game.legal_moves()[self.index] for game in games]

    def think(self, game: Game, seed: int = 0) -> Thought:
        return Thought(self.choose([game])[0])


def match(player: Player, opponent: Player, games: int = 8, seed: int = 0, max_plies: int | None = None) -> MatchResult:
    return play_match(player, opponent, BRANDUBH, OPENINGS, games, max_plies, seed)


def lines(result: MatchResult) -> list[tuple[str, ...]]:
    return [tuple(map(str, played.game.moves)) for played in result.played]


def test_each_opening_is_played_from_both_sides() -> None:
    result = match(RandomPlayer(), RandomPlayer(), 8, seed=3)
    assert [game.side for game in result.played] == ["attackers", "defenders"] * 4
    assert [game.number for game in result.played] == list(range(8))
    for first, second in zip(result.played[::2], result.played[1::2]):
        assert first.opening == second.opening
        assert lines(result)[first.number][: len(first.opening.moves)] == first.opening.moves
    assert {game.opening for game in result.played} == set(OPENINGS)


def test_the_first_players_side_is_the_one_it_moves_for() -> None:
    # The only one that can play an illegal move loses every game it is said to be in.
    culprit, honest = Scripted(wrong=True), Scripted()
    result = match(culprit, honest)
    assert result.ends == {"forfeit": 8}
    assert result.score == {"attackers": 0.0, "defenders": 0.0, "overall": 0.0}
    assert match(honest, culprit).score == {"attackers": 1.0, "defenders": 1.0, "overall": 1.0}


def test_games_advance_together() -> None:
    player, opponent = Scripted(), Scripted(index=-1)
    result = match(player, opponent, 8)
    asked = sum(player.batches) + sum(opponent.batches)
    assert asked == sum(game.game.ply - len(game.opening.moves) for game in result.played)
    assert max(player.batches) >= 4
    longest = max(game.game.ply for game in result.played)
    assert len(player.batches) <= longest // 2 + 1


def test_scores_are_the_outcomes() -> None:
    result = match(RandomPlayer(), RandomPlayer(), 40, seed=1)
    assert result.games == result.planned == 40
    for game in result.played:
        winner = game.game.outcome.winner if game.game.outcome else None
        assert game.score == (0.5 if winner is None else float(winner == game.side))
    attackers, defenders = result.score["attackers"], result.score["defenders"]
    assert attackers is not None
    assert defenders is not None
    assert result.score["overall"] == pytest.approx((attackers + defenders) / 2)
    assert sum(result.ends.values()) == sum(result.results().values()) == 40
    lengths = [game.game.ply for game in result.played]
    assert result.lengths == {"mean": sum(lengths) / 40, "min": min(lengths), "max": max(lengths)}


def test_a_match_comes_out_the_same_again_and_differently_with_another_seed() -> None:
    def play(seed: int) -> MatchResult:
        player = parse_player("alphabeta-v1:depth=1", BRANDUBH, threads=2)
        return match(player, RandomPlayer(), 12, seed=seed)

    first, again, other = play(4), play(4), play(5)
    assert lines(first) == lines(again)
    assert {**first.to_json(), "seconds": 0} == {**again.to_json(), "seconds": 0}
    assert lines(first) != lines(other)


def test_swapping_the_players_turns_the_score_round() -> None:
    # A game's number decides its seeds, so players without chance are needed.
    one, two = Scripted("one", 0), Scripted("two", -1)
    there, back = match(one, two), match(two, one)
    for side, other in (("attackers", "defenders"), ("defenders", "attackers")):
        mine, theirs = there.score[side], back.score[other]
        assert mine is not None
        assert theirs is not None
        assert mine == 1 - theirs
    low, high = there.interval
    assert back.interval == pytest.approx((1 - high, 1 - low))


def test_the_ply_limit_gives_half_a_point_and_its_own_column() -> None:
    result = match(RandomPlayer(), RandomPlayer(), 8, max_plies=3)
    assert result.unfinished == 8
    assert result.ends == {"unfinished": 8}
    assert result.score["overall"] == 0.5
    assert result.results()["drawn"] == 0
    assert result.lengths["max"] == 3
    with pytest.raises(ValueError, match="openings alone have up to 2"):
        match(RandomPlayer(), RandomPlayer(), 8, max_plies=2)


def test_odd_numbers_make_whole_pairs() -> None:
    assert match(RandomPlayer(), RandomPlayer(), 5).games == 6


@pytest.mark.parametrize("games", [0, -4])
def test_no_games_is_no_match(games: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        match(RandomPlayer(), RandomPlayer(), games)


def test_repeated_pairs_are_seen_and_do_not_narrow_the_interval() -> None:
    player, opponent = Scripted(), Scripted(index=-1)
    once, thrice = match(player, opponent, 8), match(player, opponent, 24)
    assert thrice.games == 24
    assert thrice.distinct == once.distinct <= 8
    assert thrice.interval == once.interval
    assert thrice.intervals == once.intervals


def test_the_interval_counts_pairs() -> None:
    result = match(RandomPlayer(), RandomPlayer(), 40, seed=2)
    scores = [(one.score + other.score) / 2 for one, other in result.pairs()]
    assert len(scores) == 20
    assert result.interval == of_pairs(scores, 20)


def test_a_sides_interval_counts_its_own_games() -> None:
    result = match(Scripted(wrong=True), RandomPlayer(), 8)
    assert result.intervals == {"attackers": wilson(0.0, 4), "defenders": wilson(0.0, 4)}
    result = match(RandomPlayer(), RandomPlayer(), 40, seed=2)
    scores = {side: score for side, score in result.score.items() if score is not None}
    assert result.intervals == {side: wilson(scores[side], 20) for side in ("attackers", "defenders")}


def test_json_holds_what_others_read() -> None:
    data = match(RandomPlayer(), Scripted(), 8).to_json()
    assert set(data["score"]) == {"attackers", "defenders", "overall"}
    assert len(data["interval"]) == 2
    assert {side: len(interval) for side, interval in data["intervals"].items()} == {"attackers": 2, "defenders": 2}
    assert data["games"] == data["planned"] == 8
    assert {"unfinished", "distinct", "lengths", "ends", "player", "opponent", "game", "layout", "seed"} <= set(data)


def test_an_interrupted_match_tells_what_it_has() -> None:
    told: list[Standing] = []

    def stop(standing: Standing) -> None:
        told.append(standing)
        if standing.ended >= 5:
            raise KeyboardInterrupt

    result = play_match(RandomPlayer(), RandomPlayer(), BRANDUBH, OPENINGS, 40, seed=1, progress=stop)
    assert 5 <= result.games < result.planned == 40
    assert result.interrupted
    assert result.games == told[-1].ended
    assert sum(game.score for game in result.played) == told[-1].points
    assert all(game.game.outcome is not None for game in result.played)
    whole = [n for n in range(20) if {2 * n, 2 * n + 1} <= {game.number for game in result.played}]
    assert len(result.pairs()) == len(whole)
    low, high = result.interval
    alike = [0.5] * len(whole)
    narrowest_low, narrowest_high = of_pairs(alike, len(whole))
    assert high - low >= narrowest_high - narrowest_low - 1e-12


def test_checkpoints_play_matches_on_every_game(checkpoints: dict[str, Path]) -> None:
    for name, rules in RULES.items():
        player = parse_player(f"{checkpoints[name]}:simulations=4", rules)
        openings = [Opening(layout, ()) for layout in rules.layouts][-1:]
        result = play_match(player, RandomPlayer(), rules, openings, 4, max_plies=40)
        assert result.games == 4
        assert result.layout == openings[0].layout
