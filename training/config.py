"""Every setting of a training run, as typed sections that refuse what they do not know.

`RunConfig` is the whole of it; `training.config_file` reads it from YAML and from the command line. A field's
description is its documentation: it is what ``python train.py --help`` prints.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from arena.player_text import read_player
from env.notation import parse_position
from env.position import ATTACKER, DEFENDER
from env.rules import RULES
from models.network import NetworkConfig
from search.config import SearchConfig

Share = Annotated[float, Field(ge=0, le=1)]

MOST = 10**12
"""Of any setting that has no narrower limits: nobody needs as much, and arithmetic is still exact there."""

Positive = Annotated[int, Field(ge=1, le=MOST)]

MOST_USES = 64
"""Times that a position may be drawn for learning, on average."""

LEAST_BATCH = 2
"""Positions that a step of the optimiser takes at least."""


class Section(BaseModel):
    """A group of settings: frozen, typed strictly, and an unknown name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class SelfPlayConfig(Section):
    """How games are played for learning."""

    groups: int = Field(
        default=2,
        ge=1,
        le=64,
        description="groups of games; each has an evaluator of its own and runs on one thread at a time",
    )
    games_per_group: int = Field(
        default=128, ge=1, le=65536, description="games that a group plays at once, which is the evaluator's batch"
    )
    steps: int = Field(
        default=256, ge=1, le=1_000_000, description="evaluator batches that each group makes in one iteration"
    )
    simulations: int = Field(
        default=64, ge=2, le=65536, description="simulations of a full search, whose result trains"
    )
    fast_simulations: int = Field(
        default=16, ge=2, le=65536, description="simulations of a fast search, which only moves the game on"
    )
    growth_positions: int = Field(
        default=0,
        ge=0,
        le=MOST,
        description="both numbers of simulations grow with the square root of the positions made beyond this many; "
        "0: they stay. Cheap searches teach a beginner the most, exact ones an expert",
    )
    most_simulations: int = Field(
        default=256, ge=2, le=65536, description="full searches grow to no more simulations than this"
    )
    full_share: float = Field(
        default=0.25,
        gt=0,
        le=1,
        description="share of moves that are searched in full (playout cap randomisation, Wu 2019, section 3.1)",
    )
    max_plies: int = Field(default=200, ge=2, le=4096, description="games are truncated after this many plies")
    policy_opening_share: Share = Field(
        default=0.5,
        description="share of games that begin with moves drawn without search, from the network's policy",
    )
    policy_opening_plies: float = Field(
        default=4.0, ge=0, le=100, description="how many such moves a game gets on average"
    )
    random_opening_share: Share = Field(
        default=0.0, description="of these games, those in which all legal moves are as likely to be drawn"
    )
    opening_limit: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="an opening after which the network's value lies beyond this is drawn anew, three times in four; "
        "1: never",
    )
    even_share: Share = Field(
        default=0.25,
        description="share of games in which both sides search alike, whatever the balance says",
    )
    value_lambda: Share = Field(
        default=1.0,
        description="what values are learnt: 1: the game's result; below: mixed with the values that later searches "
        "found, those after k plies with weight (1 - value_lambda) * value_lambda**k (TD(lambda), Sutton 1988)",
    )
    material_share: Share = Field(
        default=0.0,
        description="share of the games with a handicap in which it is one of pieces: the side that the balance holds "
        "to be stronger begins without some of its own, and both search alike",
    )
    material_most: int = Field(
        default=0,
        ge=0,
        le=64,
        description="pieces that it may lack at most, when the balance is at its limit; fewer, in proportion, below",
    )
    layouts: Annotated[dict[str, Annotated[float, Field(gt=0, le=MOST)]], Field(min_length=1)] | None = Field(
        default=None,
        description="starts to play from and their weights, as {serif: 3, bell: 1}; null: the default layout only",
    )


class ReplayConfig(Section):
    """Which positions are learnt from, and how often."""

    minimum: Positive = Field(default=10_000, description="positions to be there before learning begins")
    window: Positive = Field(
        default=250_000, description="the window holds all positions until there are this many ..."
    )
    growth: Share = Field(
        default=0.4, description="... and from there on grows at this rate for every new position ..."
    )
    exponent: float = Field(
        default=0.75, gt=0, le=1, description="... which falls with this power of the total (Wu 2019, appendix C)"
    )
    uses: float = Field(
        default=4.0, gt=0, le=MOST_USES, description="times that a position is drawn for learning, on average"
    )
    memory_megabytes: Positive = Field(default=2000, description="the window is cut to what fits into this much memory")
    disk_megabytes: Positive = Field(
        default=4000, description="... and to what fits into this much space in the run's folder"
    )


class LearnerConfig(Section):
    """How the network is fitted to the positions."""

    batch: int = Field(default=512, ge=LEAST_BATCH, le=65536, description="positions in one step of the optimiser")
    parts: int = Field(
        default=2, ge=1, le=64, description="parts a batch is split into, for as many threads; a fixed number"
    )
    learning_rate: float = Field(default=2e-3, gt=0, le=1, description="learning rate after warming up")
    muon_rate: float = Field(
        default=0.0,
        ge=0,
        le=10,
        description="learning rate of the convolutions that see neighbours, by Muon (Jordan et al. 2024), where those "
        "of all else are AdamW's; it warms up and falls as `learning_rate` does; 0: AdamW for these as well",
    )
    warmup_steps: int = Field(
        default=200, ge=0, le=MOST, description="optimiser steps over which the learning rate rises from zero"
    )
    decay_steps: int = Field(
        default=0,
        ge=0,
        le=MOST,
        description="beyond this many optimiser steps the learning rate falls with the square root of the steps made; "
        "0: it does not",
    )
    weight_decay: float = Field(default=1e-4, ge=0, le=1, description="decoupled weight decay of AdamW")
    gradient_clip: float = Field(default=1.0, gt=0, le=MOST, description="the gradient's norm is cut to this")
    ema_decay: float = Field(
        default=0.995, ge=0, lt=1, description="decay, per step, of the averaged weights that play and are published"
    )
    value_weight: float = Field(default=1.0, ge=0, le=MOST, description="weight of the value's loss; the policy's is 1")
    outlook_weight: float = Field(default=0.5, ge=0, le=MOST, description="weight of the win/draw/loss outlook's loss")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto", description="arithmetic of the learner; auto: that of self-play, which is the faster one"
    )

    @model_validator(mode="after")
    def _parts_divide_batch(self) -> LearnerConfig:
        if self.batch % self.parts:
            raise ValueError(f"batch {self.batch} cannot be split into {self.parts} equal parts; choose a multiple")
        return self


class BalanceConfig(Section):
    """How the stronger side is held back, or the weaker helped, so that both win (`training.balance`)."""

    mode: Literal["off", "fixed", "steered"] = Field(
        default="steered",
        description="off: the same for both sides; fixed: always `initial`; steered: by measured win shares",
    )
    by: Literal["simulations", "temperature"] = Field(
        default="simulations",
        description="what a handicap is: simulations: the weaker side searches more, the stronger less; temperature: "
        "both search alike, the stronger side's moves are drawn from its improved policy to the power of 1 / handicap",
    )
    initial: float = Field(
        default=0.0,
        ge=-5,
        le=5,
        multiple_of=0.25,
        description="the handicap at the beginning: log2 of attackers' / defenders' simulations (2: 4 times as many), "
        "or the temperature of the defenders' moves (of the attackers', where it is negative)",
    )
    maximum: float = Field(
        default=2.0,
        ge=0,
        le=5,
        multiple_of=0.25,
        description="the handicap stays within +- this: 2 is between a quarter and four times the simulations, or up "
        "to a temperature of 2",
    )
    target: float = Field(
        default=0.5, ge=0.05, le=0.95, description="the attackers' share of wins to steer for; draws count half"
    )
    gain: float = Field(
        default=0.5, gt=0, le=10, description="change of the handicap per `memory` games and unit of error in log-odds"
    )
    memory: Positive = Field(default=500, description="games over which the win share is averaged (exponentially)")
    anneal_positions: int = Field(
        default=0,
        ge=0,
        le=MOST,
        description="`maximum` shrinks to nothing while this many positions are made; 0: it does not",
    )


class MeasureConfig(Section):
    """How strength is measured while the run goes on."""

    minutes: float = Field(default=5.0, ge=0, le=MOST, description="minutes between measurements; 0: only at the end")
    opponent: str = Field(default="alphabeta-v1:depth=2", description="the player to measure against")
    games: int = Field(default=16, ge=1, le=4096, description="games with each side in one measurement")
    simulations: int = Field(default=32, ge=1, le=65536, description="simulations a move of the network, when measured")
    final_games: int = Field(default=50, ge=0, le=4096, description="games with each side when the run ends; 0: none")
    final_minutes: float = Field(
        default=1.0,
        gt=0,
        le=MOST,
        description="of the run's minutes, those kept for the last measurement (at most a fifth)",
    )

    @field_validator("opponent")
    @classmethod
    def _known_opponent(cls, opponent: str) -> str:
        read_player(opponent)
        return opponent


class MonitorConfig(Section):
    """What is shown and recorded."""

    tensorboard: bool = Field(default=True, description="write TensorBoard curves into the run's folder")
    picture_minutes: float = Field(
        default=2.0, ge=0, le=MOST, description="minutes between pictures of a self-play game; 0: none"
    )


class RunSection(Section):
    """The run itself."""

    minutes: float | None = Field(
        default=10.0,
        gt=0,
        le=MOST,
        description="wall-clock minutes of the whole run, all its starts added up; null: no limit",
    )
    iterations: Positive | None = Field(default=None, description="iterations of the whole run; null: no limit")
    seed: int = Field(
        default=0, ge=0, lt=2**63, description="seed of every random choice; the same seed makes the same games"
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="where the network runs; auto: a GPU if there is one"
    )
    inference: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto",
        description="arithmetic of the network in self-play; auto: the faster one, measured when the run begins",
    )
    threads: int = Field(default=2, ge=1, le=64, description="worker threads; results do not depend on them")
    checkpoint_every: Positive = Field(default=20, description="iterations between the numbered checkpoints")
    keep_checkpoints: Positive = Field(default=10, description="numbered checkpoints to keep, the newest")


class RunConfig(Section):
    """All settings of a run."""

    game: str = Field(description="the game to learn", json_schema_extra={"enum": list(RULES)})
    run: RunSection = RunSection()
    network: NetworkConfig = NetworkConfig()
    search: SearchConfig = SearchConfig.model_validate({})
    selfplay: SelfPlayConfig = SelfPlayConfig()
    replay: ReplayConfig = ReplayConfig()
    learner: LearnerConfig = LearnerConfig()
    balance: BalanceConfig = BalanceConfig()
    measure: MeasureConfig = MeasureConfig()
    monitor: MonitorConfig = MonitorConfig()

    @field_validator("game")
    @classmethod
    def _known_game(cls, game: str) -> str:
        if game not in RULES:
            raise ValueError(f"{game!r} is no game of this project; allowed are {', '.join(RULES)}")
        return game

    @model_validator(mode="after")
    def _iterations_finish_searches(self) -> RunConfig:
        # Searches begin anew with every iteration: one that is longer than an iteration would never end.
        ratio = {"off": 0.0, "fixed": abs(self.balance.initial), "steered": self.balance.maximum}[self.balance.mode]
        ratio = ratio if self.balance.by == "simulations" else 0.0
        play = self.selfplay
        most = max(play.simulations, play.fast_simulations)
        if play.growth_positions:
            most = max(most, round(most * play.most_simulations / play.simulations))
        longest = math.ceil(most * 2 ** (ratio / 2))
        if play.steps <= longest:
            raise ValueError(
                f"selfplay.steps: {play.steps} batches an iteration are too few for searches of up to "
                f"{longest} simulations (selfplay.simulations, grown to {most}, and the balance's share for the side "
                f"it helps); allowed are more than {longest}, better several times as many"
            )
        return self

    @model_validator(mode="after")
    def _values_are_of_one_kind(self) -> RunConfig:
        if self.search.discounted_share < 1 and self.selfplay.value_lambda < 1:
            raise ValueError(
                f"selfplay.value_lambda is {self.selfplay.value_lambda}; where search.discounted_share is below 1, it "
                "has to be 1.0 (--selfplay.value_lambda 1.0), since searches do not find discounted values then"
            )
        return self

    @model_validator(mode="after")
    def _pieces_can_be_missed(self) -> RunConfig:
        rules = RULES[self.game]
        names = self.selfplay.layouts or (rules.default_layout,)
        boards = [parse_position(rules, rules.layouts[name]) for name in names if name in rules.layouts]
        most = min((int((board == piece).sum()) for board in boards for piece in (ATTACKER, DEFENDER)), default=64)
        if self.selfplay.material_most > most:
            raise ValueError(
                f"selfplay.material_most is {self.selfplay.material_most}; allowed are 0 to {most}, since a side of "
                f"{self.game} has no more pieces beside the king"
            )
        return self

    @model_validator(mode="after")
    def _known_layouts(self) -> RunConfig:
        known = RULES[self.game].layouts
        if unknown := [name for name in self.selfplay.layouts or () if name not in known]:
            raise ValueError(
                f"selfplay.layouts: {self.game} has no layout {', '.join(unknown)}; allowed are {', '.join(known)}"
            )
        return self
