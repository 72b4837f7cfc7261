"""The replay window: what it holds, how it grows, what is drawn from it."""

import numpy as np
import pytest

from training.config import ReplayConfig
from training.replay import Replay, window_size
from training.shard import Shard

INPUTS = 52


def make_shard(first: int, count: int, widest: int = 6) -> Shard:
    """Positions whose every array follows from their number; policies of different length, some empty."""
    number = np.arange(first, first + count)
    lengths = number % (widest + 1)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    owner = np.repeat(number, lengths)
    rank = np.arange(len(owner)) - np.repeat(offsets[:-1], lengths)
    none = np.zeros(0)
    return Shard(
        inputs=np.repeat((number % 100).astype(np.int8)[:, None], INPUTS, axis=1),
        policy_offsets=offsets,
        policy_actions=((owner + rank) % 1000).astype(np.int16),
        policy_probs=(1 / np.repeat(lengths, lengths)).astype(np.float32),
        policy_weight=(lengths > 0).astype(np.float32),
        value=number.astype(np.float32),
        outlook=np.stack([number, number + 1, number + 2], axis=1).astype(np.float32),
        game=np.zeros(count, np.int32),
        ply=np.zeros(count, np.int16),
        winner=none.astype(np.int8),
        reason=none.astype(np.int8),
        length=none.astype(np.int16),
        layout=none.astype(np.int16),
        start=np.zeros((0, 49), np.int8),
        missing=none.astype(np.int8),
        balance=none.astype(np.int8),
        move_offsets=np.zeros(1, np.int64),
        moves=none.astype(np.int16),
    )


def fill(config: ReplayConfig, sizes: list[int]) -> Replay:
    replay, total = Replay(INPUTS, config), 0
    for iteration, size in enumerate(sizes, 1):
        replay.append(iteration, make_shard(total, size))
        total += size
    return replay


def numbers(replay: Replay, draws: int = 4000) -> np.ndarray:
    return np.unique(replay.sample(draws, np.random.default_rng(1)).value).astype(int)


def test_the_window_grows_sublinearly_by_the_formula() -> None:
    config = ReplayConfig(window=250_000, growth=0.4, exponent=0.75)
    assert [window_size(n, config) for n in (0, 7, 250_000)] == [0, 7, 250_000]
    sizes = [window_size(n, config) for n in (300_000, 1_000_000, 10_000_000, 240_000_000)]
    assert sizes == sorted(sizes)
    # Wu 2019: 250 thousand at the beginning, about 22 million after 240 million samples.
    assert 21_000_000 < sizes[-1] < 23_500_000
    shares = [size / n for size, n in zip(sizes, (300_000, 1_000_000, 10_000_000, 240_000_000))]
    assert shares == sorted(shares, reverse=True)
    assert window_size(10**6, ReplayConfig(window=1000, growth=0)) == 1000


def test_a_drawn_position_is_what_was_put_in() -> None:
    replay = fill(ReplayConfig(window=90, growth=0), [50, 30, 40, 60])
    batch = replay.sample(500, np.random.default_rng(0))
    assert {array.dtype.name for array in batch} == {"int8", "int16", "float32"}
    for row, number in enumerate(batch.value.astype(int)):
        length = number % 7
        assert (batch.inputs[row] == number % 100).all()
        assert batch.actions[row].tolist() == [(number + k) % 1000 if k < length else -1 for k in range(6)]
        assert batch.probs[row].sum() == pytest.approx(float(length > 0))
        assert batch.policy_weight[row] == (length > 0)
        assert batch.outlook[row].tolist() == [number, number + 1, number + 2]


def test_it_holds_the_newest_positions_and_draws_them_uniformly() -> None:
    replay = fill(ReplayConfig(window=100, growth=0), [60, 60, 60])
    assert (len(replay), replay.begin, replay.window, replay.total) == (100, 80, 2, 180)
    assert numbers(replay).tolist() == list(range(80, 180))
    assert replay.age() == pytest.approx(40 / 100)
    values = replay.sample(100_000, np.random.default_rng(2)).value.astype(int)
    counts = np.bincount(values - 80, minlength=100)
    assert (np.abs(counts - 1000) < 6 * np.sqrt(1000)).all()


def test_many_small_appends_keep_memory_near_what_is_live() -> None:
    replay = fill(ReplayConfig(window=1000, growth=0), [37] * 300)
    live = fill(ReplayConfig(window=1000, growth=0), [1000])
    assert numbers(replay, 20_000).tolist() == list(range(300 * 37 - 1000, 300 * 37))
    assert replay.nbytes < 2.5 * live.nbytes


def test_caps_drop_whole_shards_but_never_the_newest() -> None:
    megabyte = 12_000  # positions of about 90 bytes
    memory = fill(ReplayConfig(window=10**6, memory_megabytes=1), [5000] * 6)
    assert 0 < len(memory) < megabyte
    assert len(memory) % 5000 == 0
    disk = fill(ReplayConfig(window=10**6, disk_megabytes=1), [5000] * 6)
    assert len(disk) % 5000 == 0
    assert len(disk) < 15_000
    assert len(fill(ReplayConfig(window=10**6, disk_megabytes=1), [50_000])) == 50_000


@pytest.mark.parametrize(
    "config", [ReplayConfig(window=150, growth=0.5), ReplayConfig(window=10**6, memory_megabytes=1)]
)
def test_a_restored_window_draws_the_same(config: ReplayConfig) -> None:
    scale = 1 if config.window == 150 else 100
    sizes = [scale * size for size in (40, 0, 50, 70, 30)]
    replay = fill(config, sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    other = Replay(INPUTS, config)
    shards = [(i, make_shard(int(starts[i - 1]), sizes[i - 1])) for i in range(replay.window, 6)]
    other.restore(replay.total, replay.begin, shards)
    for each in (replay, other):
        each.append(6, make_shard(replay.total if each is replay else 190 * scale, 25 * scale))
    first, second = (each.sample(300, np.random.default_rng(5)) for each in (replay, other))
    assert all((a == b).all() for a, b in zip(first, second))
    assert (replay.begin, replay.window, replay.age()) == (other.begin, other.window, other.age())


def test_a_window_holds_what_its_lost_shards_leave() -> None:
    replay = Replay(INPUTS, ReplayConfig())
    replay.restore(100, 0, [(1, make_shard(0, 60))])
    assert (replay.total, len(replay), replay.begin, replay.window) == (100, 60, 40, 1)
    other = Replay(INPUTS, ReplayConfig())
    other.restore(100, replay.begin, [(1, make_shard(0, 60))])
    assert len(other) == 60


@pytest.mark.parametrize("megabytes", [1, 2, 5])
def test_no_more_memory_is_held_than_the_cap_says(megabytes: int) -> None:
    replay, total, most = Replay(INPUTS, ReplayConfig(window=10**6, memory_megabytes=megabytes)), 0, 0
    for iteration in range(1, 80):
        replay.append(iteration, make_shard(total, 1500))
        total += 1500
        most = max(most, replay.nbytes)
        assert not replay.crowded
    assert 0.7e6 * megabytes < most <= 1e6 * megabytes


def test_a_cap_that_was_lowered_holds_from_the_start() -> None:
    replay = fill(ReplayConfig(window=10**6), [5000] * 6)
    other = Replay(INPUTS, ReplayConfig(window=10**6, memory_megabytes=1))
    other.restore(replay.total, replay.begin, [(n + 1, make_shard(5000 * n, 5000)) for n in range(6)])
    assert 0 < len(other) < 15_000
    assert (other.begin, other.total) == (30_000 - len(other), 30_000)


def test_a_shard_beyond_the_caps_is_known_to_be_so() -> None:
    assert fill(ReplayConfig(memory_megabytes=1, window=10**6), [50_000]).crowded
    assert fill(ReplayConfig(disk_megabytes=1, window=10**6), [50_000]).crowded
    assert not fill(ReplayConfig(window=10**6), [50_000]).crowded
