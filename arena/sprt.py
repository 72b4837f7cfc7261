"""Wald's sequential test on pairs of games: a match that stops as soon as it is sure enough.

H0 says that the player is `elo0` stronger than its opponent, H1 that it is `elo1`; games go on until the evidence for
one of them is `alpha` or `beta` strong. Elo is the logistic one, of the score of a game whose sides are swapped:
score = 1 / (1 + 10^(-elo / 400)).

The unit is the pair of games from one opening, whose score is 0, 1/4, 1/2, 3/4 or 1, since the two games of a pair are
not independent. Nothing is assumed about how often each of the five comes about: the likelihoods compared are the
greatest that any distribution with the mean of H0, and any with that of H1, gives to what was seen (the generalised
ratio of M. Van den Bergh, "A practical introduction to the GSPRT", 2019, and "The generalized maximum likelihood ratio
for the expected value of a discrete distribution", 2020; the boundaries are those of A. Wald, "Sequential tests of
statistical hypotheses", Annals of Mathematical Statistics 16, 1945). Fishtest decides about chess programs in this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite, log
from typing import Any

PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)
MOST_ELO = 1000.0
LEAST_RATE = 1e-6
_NEVER_SEEN = 1e-3  # pairs that stand for a score not seen yet, so that no distribution is without it
_STEPS = 60  # halvings of an interval


@dataclass(frozen=True, slots=True)
class SprtResult:
    """Where a test stands.

    Attributes:
        accepted: `"H0"`, `"H1"`, or the empty text while neither is.
        llr: logarithm of the likelihood ratio, H1 over H0.
        bounds: the test goes on while `llr` lies between them.
        elo: (elo0, elo1).
        errors: (alpha, beta), the rates of wrongly accepting H1 and H0.
        counts: pairs taken, by their score as in `PAIR_SCORES`.
        taken: pairs looked at, those left out as repetitions of others counted.
    """

    accepted: str
    llr: float
    bounds: tuple[float, float]
    elo: tuple[float, float]
    errors: tuple[float, float]
    counts: tuple[int, ...]
    taken: int

    @property
    def decided(self) -> bool:
        """Whether a hypothesis was accepted."""
        return bool(self.accepted)

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for `json.dumps`."""
        return {
            "accepted": self.accepted or "undecided",
            "llr": round(self.llr, 4),
            "bounds": [round(bound, 4) for bound in self.bounds],
            "elo0": self.elo[0],
            "elo1": self.elo[1],
            "elo_model": "logistic",
            "alpha": self.errors[0],
            "beta": self.errors[1],
            "pairs": sum(self.counts),
            "pair_counts": list(self.counts),
        }


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test of H0, the player is `elo0` stronger, against H1, it is `elo1` stronger.

    Raises:
        ValueError: elo0 is not below elo1, one of them is beyond `MOST_ELO`, or an error rate is not in
            [`LEAST_RATE`, 1/2).
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not all(isfinite(elo) and abs(elo) <= MOST_ELO for elo in (self.elo0, self.elo1)):
            raise ValueError(f"sprt {self.elo0:g} {self.elo1:g}: Elo lies between {-MOST_ELO:g} and {MOST_ELO:g}")
        if not self.elo0 < self.elo1:
            raise ValueError(f"sprt {self.elo0:g} {self.elo1:g}: the first, which is H0, has to be the smaller one")
        for name, rate in (("alpha", self.alpha), ("beta", self.beta)):
            if not LEAST_RATE <= rate < 0.5:
                raise ValueError(
                    f"{name} {rate:g}: a rate of errors lies between 0 and 0.5, and is at least {LEAST_RATE:g}"
                )

    @property
    def bounds(self) -> tuple[float, float]:
        """Wald's boundaries of the logarithm of the likelihood ratio."""
        return log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)

    def llr(self, counts: Sequence[int]) -> float:
        """Logarithm of the generalised likelihood ratio.

        Args:
            counts: pairs by score, as in `PAIR_SCORES`.
        """
        if not sum(counts):
            return 0.0
        seen = [count or _NEVER_SEEN for count in counts]
        of_h0, of_h1 = (_likeliest(seen, score_of(elo)) for elo in (self.elo0, self.elo1))
        return sum(count * log(p1 / p0) for count, p0, p1 in zip(seen, of_h0, of_h1, strict=True))

    def run(self, scores: Iterable[float | None]) -> SprtResult:
        """Takes pairs in the order given until a hypothesis is accepted or there are no more (see `SprtRun.take`)."""
        run = SprtRun(self)
        for score in scores:
            if run.take(score).decided:
                break
        return run.result


class SprtRun:
    """A test under way.

    Attributes:
        result: where it stands.
    """

    def __init__(self, sprt: Sprt) -> None:
        self._sprt = sprt
        elo, errors = (sprt.elo0, sprt.elo1), (sprt.alpha, sprt.beta)
        self.result = SprtResult("", 0.0, sprt.bounds, elo, errors, (0,) * len(PAIR_SCORES), 0)

    def take(self, score: float | None) -> SprtResult:
        """Takes one more pair, in the order in which they were begun.

        Args:
            score: one of `PAIR_SCORES`; None for a pair that repeats an earlier one and so tells nothing.

        Raises:
            ValueError: the test has decided already, or there is no such score.
        """
        before = self.result
        if before.decided:
            raise ValueError(f"the test has accepted {before.accepted} already; it takes no more pairs")
        if score is None:
            self.result = replace(before, taken=before.taken + 1)
            return self.result
        if score not in PAIR_SCORES:
            raise ValueError(f"{score} is no score of a pair; those are {', '.join(map(str, PAIR_SCORES))}")
        counts = tuple(n + (score == kind) for n, kind in zip(before.counts, PAIR_SCORES, strict=True))
        ratio, (low, high) = self._sprt.llr(counts), before.bounds
        accepted = "H0" if ratio <= low else "H1" if ratio >= high else ""
        self.result = replace(before, accepted=accepted, llr=ratio, counts=counts, taken=before.taken + 1)
        return self.result


def score_of(elo: float) -> float:
    """The mean score that a difference of logistic Elo stands for."""
    return 1.0 / (1.0 + 10.0 ** (-elo / 400.0))


def _likeliest(counts: Sequence[float], mean: float) -> list[float]:
    """Of all distributions over `PAIR_SCORES` with that mean, in (0, 1), the one most likely to give these counts > 0.

    By Lagrange's multipliers it is p_i = f_i / (1 + x (a_i - mean)) with the frequencies f_i and scores a_i, where x
    makes the mean come out; the left side of that condition falls as x grows between the poles of the p_i.
    """
    total = sum(counts)
    frequencies = [count / total for count in counts]
    away = [score - mean for score in PAIR_SCORES]
    low, high = -1.0 / away[-1], -1.0 / away[0]
    for _ in range(_STEPS):
        x = (low + high) / 2
        if sum(f * a / (1 + x * a) for f, a in zip(frequencies, away, strict=True)) > 0:
            low = x
        else:
            high = x
    x = (low + high) / 2
    return [f / (1 + x * a) for f, a in zip(frequencies, away, strict=True)]
