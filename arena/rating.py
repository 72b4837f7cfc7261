"""Ratings of players from the games they have played, each side of the game rated by itself.

The model is that of Bradley and Terry, "Rank analysis of incomplete block designs: I. The method of paired
comparisons", Biometrika 39 (1952), 324-345, with a term for the side as in R. R. Davidson and R. J. Beaver, "On
extending the Bradley-Terry model to incorporate within-pair order effects", Biometrics 33 (1977), 693-702. These games
are not the same for both sides, and a player may be strong as one and weak as the other, so a player p has two
strengths, a(p) as attackers and d(p) as defenders, and

    P(the attackers p win against the defenders q) = 1 / (1 + 10 ** -((a(p) - d(q) + s) / 400)),

where s is the attackers' advantage; 400 points are odds of ten to one (A. E. Elo, "The rating of chessplayers, past and
present", 1978). Only differences show in games, so one player, the reference, is put at 0 as either side: a(p) tells
how much better p attacks than the reference does, d(p) how much better it defends, and s who is better off when the
reference plays itself. The overall rating is (a(p) + d(p)) / 2. That is not a third quantity: the mean over both
sides of the log-odds of p against q is (a(p) + d(p)) / 2 - (a(q) + d(q)) / 2, in which s cancels, so that for players
that lean to neither side (a = d) it is the Bradley-Terry model with a common term for the side.

A draw is half a point, that is to say half a win and half a loss. The fit is a binomial generalised linear model of
statsmodels.

Prior: each side of a player gets one drawn game more, against an opponent as strong as those it met on the average.
So a player that won everything is rated finitely, and one with few games stays near its opponents. It is the prior of
R. Coulom's BayesElo (Computers and Games 2008, "Whole-history rating", section 2.3) with half its weight.

Intervals: 95 %, estimate -+ 1.96 standard errors. A standard error is the greater one of two: of the model, where
games are independent; and of the sandwich estimator with a cluster for every opening (K.-Y. Liang and S. L. Zeger,
Biometrika 73 (1986), 13-22), since games from one opening have something in common: above all the two of a pair, in
which the sides are swapped. Where a player has won or lost everything the far end of its interval is the prior's, not
the games'; `SideRating.open_end` says so.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from env.rules import SIDES

SCALE = 400 / math.log(10)
"""Elo points to one unit of log-odds."""

REFERENCE = "random"
_WIDTH = NormalDist().inv_cdf(0.975)


class RatingError(ValueError):
    """The games do not suffice for ratings; one sentence says why."""


@dataclass(frozen=True, slots=True)
class RatedGame:
    """What a rating needs to know of a game.

    Attributes:
        attackers, defenders: the players' names.
        score: the attackers' points, 1, 1/2 or 0.
        opening: the opening's name; games of the same opening are not taken for independent.
    """

    attackers: str
    defenders: str
    score: float
    opening: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rating in Elo points and its 95 % interval."""

    elo: float
    low: float
    high: float

    @classmethod
    def around(cls, elo: float, error: float) -> Estimate:
        """The interval of a standard error."""
        return cls(elo, elo - _WIDTH * error, elo + _WIDTH * error)


@dataclass(frozen=True, slots=True)
class SideRating:
    """A player as one side: its rating (`None` without a game), games, and points scored in them."""

    estimate: Estimate | None
    games: int
    points: float

    @property
    def open_end(self) -> str | None:
        """`"high"` where every game was won, `"low"` where every one was lost: that end is the prior's."""
        if not self.games or 0 < self.points < self.games:
            return None
        return "high" if self.points else "low"


@dataclass(frozen=True, slots=True)
class Rating:
    """A player's strength as either side and, where it has played both, overall."""

    attackers: SideRating
    defenders: SideRating
    overall: Estimate | None

    @property
    def open_end(self) -> str | None:
        """Which ends of the overall interval are the prior's: `"high"`, `"low"`, `"both"`, or None."""
        ends = {part.open_end for part in (self.attackers, self.defenders)} - {None}
        return "both" if len(ends) == 2 else next(iter(ends), None)

    def side(self, side: str) -> SideRating:
        """The part of one side."""
        return self.attackers if side == SIDES[0] else self.defenders


@dataclass(frozen=True, slots=True)
class Anchors:
    """Ratings that are held where they are: Elo points by name of the player and side, and the attackers' advantage."""

    strengths: Mapping[str, Mapping[str, float]]
    advantage: float

    def expected(self, attackers: float, defenders: float) -> float:
        """The attackers' expected points, from the ratings of the two."""
        return expected(attackers, defenders, self.advantage)

    def single(self, side: str, opponent: str, points: float, games: int) -> float:
        """Rating as `side` of a player that has met one anchor only; what `fit` finds, without fitting.

        Args:
            side: the player's side.
            opponent: the anchor.
            points: the player's, in [0, games].
            games: how many, as that side.
        """
        share = (points + 0.5) / (games + 1)  # the prior's drawn game
        other = SIDES[1 - SIDES.index(side)]
        towards = -self.advantage if side == SIDES[0] else self.advantage
        return self.strengths[opponent][other] + towards + SCALE * math.log(share / (1 - share))


@dataclass(frozen=True, slots=True)
class Ratings:
    """What a fit found: ratings by player, and the attackers' advantage when the reference plays itself."""

    players: dict[str, Rating]
    advantage: Estimate


def expected(attackers: float, defenders: float, advantage: float) -> float:
    """The attackers' expected points in a game, in (0, 1), from both ratings and the advantage, in Elo points."""
    return 1 / (1 + 10 ** (-(attackers - defenders + advantage) / 400))


def fit(games: Iterable[RatedGame], anchors: Anchors | None = None, reference: str = REFERENCE) -> Ratings:
    """Rates the players of some games.

    Args:
        games: in any order.
        anchors: players that are held where they are, with the advantage; they are not among the result. Games among
            them tell nothing and are passed over. `None`: everything is fitted, relative to `reference`.
        reference: the player at 0, without anchors.

    Raises:
        RatingError: no games, or players that no chain of games connects with an anchor or the reference.
    """
    own: Mapping[str, Mapping[str, float]] = {reference: dict.fromkeys(SIDES, 0.0)}
    fixed = anchors.strengths if anchors else own
    played = [game for game in games if not (anchors and game.attackers in fixed and game.defenders in fixed)]
    if not played:
        raise RatingError("there are no games to rate anybody by")
    _check_connected(played, fixed, together=anchors is None)
    names = sorted({name for game in played for name in (game.attackers, game.defenders)} - set(fixed))
    sides = [[(game.attackers, SIDES[0]) for game in played], [(game.defenders, SIDES[1]) for game in played]]
    met = {key for column in sides for key in column}
    unknown = [(name, side) for name in names for side in SIDES if (name, side) in met]
    columns = {key: number for number, key in enumerate(unknown)}

    design = np.zeros((len(played), len(unknown) + (anchors is None)))
    offset = np.full(len(played), (anchors.advantage if anchors else 0.0) / SCALE)
    for column, sign in zip(sides, (1.0, -1.0)):
        for row, key in enumerate(column):
            if key in columns:
                design[row, columns[key]] = sign
            else:
                offset[row] += sign * fixed[key[0]][key[1]] / SCALE
    if anchors is None:
        design[:, -1] = 1.0
    score = np.array([game.score for game in played])
    rows: dict[tuple[str, str], list[int]] = defaultdict(list)
    for column in sides:
        for row, key in enumerate(column):
            rows[key].append(row)
    priors = [rows[key] for key in unknown]
    design = np.vstack([design, *(design[part].mean(axis=0, keepdims=True) for part in priors)])
    offset = np.concatenate([offset, [offset[part].mean() for part in priors]])
    openings = {name: number for number, name in enumerate(sorted({game.opening for game in played}))}
    clusters = [openings[game.opening] for game in played] + [len(openings) + i for i in range(len(priors))]
    strength, covariances = _fit_logistic(
        design, offset, np.concatenate([score, np.full(len(priors), 0.5)]), np.array(clusters)
    )

    def estimate(weights: Mapping[int, float]) -> Estimate:
        chosen, factors = list(weights), np.array(list(weights.values()))
        variance = max(float(factors @ matrix[np.ix_(chosen, chosen)] @ factors) for matrix in covariances)
        return Estimate.around(SCALE * float(factors @ strength[chosen]), SCALE * math.sqrt(variance))

    def rating(name: str) -> Rating:
        parts = []
        for side, sign in zip(SIDES, (1, -1)):
            own = rows.get((name, side), [])
            points = float(sum(score[row] if sign > 0 else 1 - score[row] for row in own))
            parts.append(SideRating(estimate({columns[name, side]: 1.0}) if own else None, len(own), points))
        both = {columns[name, side]: 0.5 for side in SIDES if (name, side) in columns}
        return Rating(*parts, overall=estimate(both) if len(both) == 2 else None)

    players = {name: rating(name) for name in names}
    if anchors is not None:
        return Ratings(players, Estimate(anchors.advantage, anchors.advantage, anchors.advantage))
    return Ratings(players, estimate({len(unknown): 1.0}))


def _fit_logistic(
    design: np.ndarray, offset: np.ndarray, score: np.ndarray, clusters: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return coefficients (K,) in log-odds and their covariance (K, K) by the model and by the sandwich.

    Args:
        design: float64 (N, K).
        offset: float64 (N,), known part of the log-odds.
        score: float64 (N,), in [0, 1].
        clusters: int (N,), which rows belong together.
    """
    # Imported late: it takes a second or two, and only ratings need it.
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    model = GLM(score, design, family=Binomial(), offset=offset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of separation, which the prior takes care of
        plain = model.fit(maxiter=200, tol=1e-10)
        robust = model.fit(start_params=plain.params, cov_type="cluster", cov_kwds={"groups": clusters}, tol=1e-10)
    covariances = [np.asarray(each.cov_params()) for each in (plain, robust)]
    if not (plain.converged and all(np.isfinite(matrix).all() for matrix in covariances)):
        raise RatingError("the ratings did not settle: some players have too few games with the others")
    return np.asarray(plain.params), covariances


def _check_connected(games: Sequence[RatedGame], fixed: Mapping[str, object], together: bool) -> None:
    """RatingError unless chains of games connect everybody with what is fixed.

    Args:
        games: who attacked and defended against whom.
        fixed: names of players whose strengths are known.
        together: the advantage is to be found too: then all have to hang together, the reference as both sides.
    """
    leader: dict[tuple[str, str], tuple[str, str]] = {}

    def find(node: tuple[str, str]) -> tuple[str, str]:
        leader.setdefault(node, node)
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for game in games:
        leader[find((game.attackers, SIDES[0]))] = find((game.defenders, SIDES[1]))
    if together:
        groups = {find((name, side)) for name in fixed for side in SIDES}
        home = groups if len(groups) == 1 else set()
    else:
        home = {find(node) for node in list(leader) if node[0] in fixed}
    lost = sorted({f"{name} as {side}" for name, side in list(leader) if find((name, side)) not in home})
    if lost:
        some = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        known = ", ".join(list(fixed)[:3])
        raise RatingError(f"no chain of games connects {some} with {known}, so their ratings cannot be compared")
