"""Settings from files and the command line: what is accepted, and how each mistake is told."""

import argparse
import os
from pathlib import Path

import pytest

from training.config import RunConfig
from training.config_file import (
    CONFIGS,
    ConfigError,
    add_options,
    config_text,
    given_overrides,
    leaves,
    read_config,
    refuse_unknown,
)


def problems(tmp_path: Path, text: str | bytes, overrides: dict[str, str] | None = None) -> list[str]:
    path = tmp_path / "own.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        read_config(path, overrides)
    return str(caught.value).replace(f"{path}", "own.yaml").splitlines()


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_own_configs_can_be_read_and_written_back(path: Path, tmp_path: Path) -> None:
    config = read_config(path)
    copy = tmp_path / "copy.yaml"
    copy.write_text(config_text(config))
    assert read_config(copy) == config


def test_extreme_numbers_survive_being_written(tmp_path: Path) -> None:
    config = read_config(CONFIGS / "smoke.yaml", {"learner.learning_rate": "1e-7", "run.minutes": "0.1"})
    copy = tmp_path / "copy.yaml"
    copy.write_text(config_text(config))
    assert read_config(copy).learner.learning_rate == 1e-7
    assert read_config(copy) == config


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("game: brandubh\nlearnr: {}\n", ["own.yaml:2: learnr: unknown key (did you mean learner?)", "at the top"]),
        ("game: brandubh\nlearner:\n  bach: 1\n", ["own.yaml:3: learner.bach", "(did you mean batch?)", "decay"]),
        ("game: brandubh\nsearch:\n  window: 1\n", ["own.yaml:3: search.window", "(did you mean replay.window?)"]),
        ("game: brandubh\nrun:\n  seed: 1\n  seed: 2\n", ["own.yaml:4: run.seed is set twice (first in line 3)"]),
        ("game: brandubh\nrun:\n  seed: 1\nrun: {}\n", ["own.yaml:4: run is set twice (first in line 2)"]),
        ("game: brandubh\nrun:\n  seed: one\n", ["own.yaml:3: run.seed is 'one'", "a whole number at least 0"]),
        ("game: brandubh\nrun:\n  seed: '1'\n", ["own.yaml:3: run.seed is '1'"]),
        ("game: brandubh\nrun:\n  threads: true\n", ["own.yaml:3: run.threads is true", "from 1 to 64"]),
        ("game: brandubh\nselfplay:\n  full_share: 2\n", ["own.yaml:3: selfplay.full_share is 2", "and at most 1"]),
        ("game: brandubh\nbalance:\n  mode: on\n", ["own.yaml:3: balance.mode is 'on'", "one of off, fixed, steered"]),
        ("game: brandubh\nreplay:\n  uses: .inf\n", ["own.yaml:3: replay.uses is inf"]),
        ("game: brandubh\nselfplay:\n  full_share: 0\n", ["own.yaml:3: selfplay.full_share is 0", "above 0"]),
        ("game: brandubh\nrun:\n  minutes: 1e308\n", ["own.yaml:3: run.minutes is 1e+308", "at most 1000000000000"]),
        ("game: brandubh\nrun: 3\n", ["own.yaml:2: run is 3", "a section of settings"]),
        (
            "game: brandubh\nselfplay:\n  steps: 100\n  simulations: 64\nbalance:\n  maximum: 2\n",
            ["selfplay.steps: 100", "searches of up to 128 simulations", "more than 128"],
        ),
        ("game: chess\n", ["own.yaml:1: game: 'chess' is no game", "brandubh, tawlbwrdd"]),
        ("run: {seed: 1}\n", ["own.yaml: game is missing", "one of brandubh, tawlbwrdd"]),
        ("game: brandubh\nlearner:\n  batch: 33\n", ["own.yaml:2: learner: batch 33 cannot be split into 2"]),
        ("game: brandubh\nselfplay:\n  layouts: {bell: 1}\n", ["own.yaml: selfplay.layouts", "has no layout bell"]),
        ("game: brandubh\nselfplay:\n  layouts: {standard: -1}\n", ["own.yaml:3: selfplay.layouts.standard is -1"]),
        ("game: [brandubh\n", ["own.yaml:2: not valid YAML"]),
        ("game: !!python/name:os.system brandubh\n", ["own.yaml:1: tags"]),
        ("a: &x {b: 1}\ngame: *x\n", ["own.yaml:1: anchors"]),
        ("game: brandubh\nrun:\n  minutes: 2020-99-99\n", ["own.yaml:3: run.minutes: '2020-99-99' cannot be"]),
        ("game: brandubh\nrun:\n  seed: !!int notint\n", ["own.yaml:3: tags"]),
        ("game: brandubh\nrun:\n  seed: " + "1" * 5000, ["own.yaml:3: run.seed: '111", "cannot be read", "at least 0"]),
        ("game: brandubh\nrun:\n  seed: 0x" + "1" * 5000, ["own.yaml:3: run.seed is a number of thousands of digits"]),
        ("game: brandubh\nrun:\n  minutes: " + "1" * 4000, ["own.yaml:3: run.minutes is 111"]),
        ("game: brandubh\nrun:\n  seed: [" + "1" * 5000 + "]", ["own.yaml:3: run.seed: what is written there"]),
        ("game: brandubh\nrun: " + "[" * 20_000, ["own.yaml:2: nested too deeply"]),
        ("game: brandubh\nnetwork:\n  blocks: 1.0\n", ["own.yaml:3: network.blocks is 1.0; allowed"]),
        (
            "game: brandubh\nsearch:\n  discounted_share: 0.1\nselfplay:\n  value_lambda: 0.9\n",
            ["selfplay.value_lambda is 0.9; where search.discounted_share is below 1, it has to be 1.0"],
        ),
        ("game: brandubh\nselfplay:\n  material_most: 5\n", ["selfplay.material_most is 5; allowed are 0 to 4"]),
        ("game: brandubh\nselfplay:\n  layouts: {}\n", ["own.yaml:3: selfplay.layouts is {}; allowed"]),
        ("game: brandubh\nmeasure:\n  opponent: nobody\n", ["own.yaml:3: measure.opponent: there is no player"]),
        ('game: brandubh\nmeasure:\n  opponent: "a\\0b"\n', ["own.yaml:3: measure.opponent: there is no player"]),
        ("game: brandubh\nselfplay:\n  steps: 99999999999999999999\n", ["selfplay.steps is 99999999999999999999"]),
        ("", ["own.yaml: holds no settings"]),
        ("- brandubh\n", ["own.yaml: holds no settings"]),
        (b"game: \xff\n", ["own.yaml: not a text file"]),
        ("# " + "x" * 1_100_000, ["own.yaml: too large"]),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_line_key_and_what_is_allowed(
    tmp_path: Path, text: str | bytes, expected: list[str]
) -> None:
    [problem] = problems(tmp_path, text)
    for part in expected:
        assert part in problem


@pytest.mark.parametrize("key", [".".join(key) for key, field in leaves(RunConfig) if "int" in str(field.annotation)])
def test_no_whole_number_is_so_large_that_arithmetic_fails(tmp_path: Path, key: str) -> None:
    [problem] = problems(tmp_path, "game: brandubh\n", {key: "1" * 400})
    assert problem.startswith(f"--{key} is 111")
    assert "allowed: " in problem


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = "game: brandubh\nrun:\n  seed: -1\n  sed: 1\nlearner:\n  batch: 1\n"
    found = problems(tmp_path, text, {"replay.uses": "none", "run.minutes": "-3"})
    assert [line.split(" ")[0] for line in found] == [
        "--run.minutes", "--replay.uses", "own.yaml:3:", "own.yaml:4:", "own.yaml:6:",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", " ", "# 3", "[" * 10_000, "9" * 5000, "2020-99-99", "!!int x", "&a 1", "*a"])
def test_an_option_that_is_no_value_is_told(tmp_path: Path, text: str) -> None:
    [problem] = problems(tmp_path, "game: brandubh\n", {"run.minutes": text})
    assert problem.startswith("--run.minutes: ")
    assert problem.endswith("cannot be read as a value; allowed: a number above 0 and at most 1000000000000 or null")
    assert len(problem) < 200


def test_settings_that_do_not_go_together_are_not_blamed_on_the_file_alone(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, "game: brandubh\n", {"selfplay.steps": "100", "selfplay.simulations": "100"})
    assert problem.startswith("own.yaml, with what the command line says: selfplay.steps: 100 batches")
    [problem] = problems(tmp_path, "game: brandubh\nselfplay:\n  steps: 100\n  simulations: 100\n")
    assert problem.startswith("own.yaml: selfplay.steps: 100 batches")


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path, Path("/dev/zero")):
        with pytest.raises(ConfigError, match=f"^{path}: not a regular file"):
            read_config(path)
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(ConfigError):
            read_config(tmp_path / name)


def test_a_missing_file_names_the_ones_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such config.*smoke\.yaml"):
        read_config(tmp_path / "nothing.yaml")


def test_a_section_with_all_lines_commented_out_is_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("game: brandubh\nlearner:\n#  batch: 4\n")
    assert read_config(path).learner == RunConfig(game="brandubh").learner


def test_an_option_does_not_hide_a_section_that_is_none(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, "game: brandubh\nrun: 5\n", {"run.minutes": "3"})
    assert problem.startswith("own.yaml:2: run is 5")
    path = tmp_path / "own.yaml"
    path.write_text("game: brandubh\nrun:\n#  seed: 4\n")
    assert read_config(path, {"run.minutes": "3"}).run.minutes == 3


def test_every_setting_can_be_given_on_the_command_line(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_options(parser)
    arguments = [
        "--learner.learning_rate", "3e-4", "--run.minutes=null", "--balance.mode", "off", "--monitor.tensorboard",
        "false", "--balance.initial", "-1.25", "--selfplay.layouts", "{standard: 2}", "--measure.opponent", "random",
    ]  # fmt: skip
    config = read_config(CONFIGS / "smoke.yaml", given_overrides(parser.parse_args(arguments)))
    assert config.learner.learning_rate == 3e-4
    assert config.run.minutes is None
    assert config.balance.mode == "off"
    assert config.balance.initial == -1.25
    assert config.monitor.tensorboard is False
    assert config.selfplay.layouts == {"standard": 2}
    assert config.measure.opponent == "random"
    assert config.replay == read_config(CONFIGS / "smoke.yaml").replay


def test_help_describes_every_setting() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    text = " ".join(parser.format_help().split())
    for key, field in leaves(RunConfig):
        assert "--" + ".".join(key) in text
        assert field.description
    assert "one of off, fixed, steered; built-in default 'steered'" in text


def test_an_unknown_option_suggests_a_known_one() -> None:
    with pytest.raises(ConfigError, match=r"unknown option --learner.bach \(did you mean learner.batch\?\)"):
        refuse_unknown(["--learner.bach", "3"])
    for short in ("learner.lr", "learner.learning"):
        with pytest.raises(ConfigError, match=r"did you mean learner\.learning_rate\?"):
            refuse_unknown([f"--{short}", "3"])
    with pytest.raises(ConfigError, match="'brandubh' belongs to no option"):
        refuse_unknown(["brandubh"])
