"""Settings of the tree search."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

MOST_SIMULATIONS = 100_000
MOST_LEAVES = 32
RULES = ("gumbel", "puct")
GUMBEL, PUCT = range(len(RULES))


class SearchConfig(BaseModel):
    """How a move is searched. The defaults of the Gumbel root are those of Danihelka et al. 2022 and of mctx."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    simulations: int = Field(
        default=128,
        ge=1,
        le=MOST_SIMULATIONS,
        description="simulations a move where nothing else is said; self-play has its own numbers",
    )
    rule: Literal["gumbel", "puct"] = Field(
        default="gumbel", description="how the next move to look at is chosen: Gumbel AlphaZero's rule, or AlphaZero's"
    )
    leaves: int = Field(
        default=0,
        ge=0,
        le=MOST_LEAVES,
        description="positions of one tree that go to the network together; 0 lets the number of games and "
        "simulations decide. Self-play has many games and takes one of each",
    )
    considered: int = Field(
        default=16, ge=1, le=256, description="moves that sequential halving starts from at the root"
    )
    visit_offset: float = Field(
        default=50.0, ge=0, le=1000, description="c_visit: how strongly values count before visits do"
    )
    value_scale: float = Field(
        default=0.1, gt=0, le=10, description="c_scale: weight of rescaled values against priors"
    )
    least_range: float = Field(
        default=0.0,
        ge=0,
        le=2,
        description="values are rescaled by their range, but by no smaller range than this: where all moves are worth "
        "about the same, their differences are noise",
    )
    gumbel_scale: float = Field(
        default=1.0, ge=0, le=10, description="exploration noise at the root of self-play; 0 is none"
    )
    c_puct: float = Field(default=1.25, ge=0, le=10, description="rule puct: weight of priors against values")
    first_play_reduction: float = Field(
        default=0.2, ge=0, le=2, description="rule puct: how much worse than their position unvisited moves are held"
    )
    noise_share: float = Field(
        default=0.25, ge=0, le=1, description="rule puct: share of noise in the root's priors in self-play"
    )
    noise_total: float = Field(
        default=10.0, gt=0, le=1000, description="rule puct: concentration of that Dirichlet noise, all moves together"
    )
    discount: float = Field(
        default=0.98, gt=0.5, le=1, description="worth of a win one ply later: quick wins, slow losses"
    )
    discounted_share: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="how far the search works with discounted values: 1: with them alone; 0: with chances of winning "
        "less those of losing, however late (the network says both); between, with a mean of the two, and the discount "
        "to this power for each ply of its tree. Below 1, selfplay.value_lambda has to be 1",
    )
    cache: int = Field(
        default=0,
        ge=0,
        le=1 << 22,
        description="evaluations that are remembered, by everything that the network sees of a position; in self-play "
        "by each group, within an iteration",
    )
    reuse: bool = Field(
        default=False,
        description="a search goes on with what the search before it found out below the position that was reached",
    )
    symmetries: int = Field(
        default=1,
        ge=1,
        le=8,
        description="play only: the root's evaluation is the mean over this many turned and mirrored boards",
    )
    proofs: bool = Field(default=True, description="back up exact wins, losses and draws (MCTS-solver)")

    def settings(self) -> Settings:
        """Return what the kernels need of this."""
        numbers = {name: getattr(self, name) for name in Settings._fields}
        numbers["discount"] = self.discount**self.discounted_share
        return Settings._make((numbers | {"rule": RULES.index(self.rule)}).values())


class Settings(NamedTuple):
    """`SearchConfig` for kernels; the fields mean the same, `rule` as a number, `discount` as it is felt."""

    rule: int
    considered: int
    visit_offset: float
    value_scale: float
    least_range: float
    discount: float
    proofs: bool
    c_puct: float
    first_play_reduction: float
    noise_share: float
    noise_total: float
    symmetries: int
