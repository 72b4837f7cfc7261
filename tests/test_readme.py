"""The README keeps its word: its Python runs, its files exist, its make targets are there."""

import re
from pathlib import Path

import pytest

from env import RULES
from models import Header, NetworkConfig, PolicyValueNet, save

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
CHECKPOINT = "runs/NAME/best.safetensors"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained checkpoint of Brandubh."""
    path = tmp_path_factory.mktemp("run") / "best.safetensors"
    rules, config = RULES["brandubh"], NetworkConfig(blocks=1, channels=8)
    network = PolicyValueNet(rules.size, config)
    save(path, network, Header(game=rules.name, size=rules.size, network=config, discount=0.98))
    return path


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_python_runs_and_prints(snippet: str, checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if "sb3_contrib" in snippet:
        pytest.importorskip("sb3_contrib", reason="needs the extra: pip install -e '.[sb3]'")
    exec(compile(snippet.replace(CHECKPOINT, str(checkpoint)), "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()


def test_a_checkpoint_takes_five_lines() -> None:
    lines = [[line for line in snippet.splitlines() if line] for snippet in SNIPPETS if CHECKPOINT in snippet]
    assert [len(line) for line in lines] == [5]


def test_linked_files_exist() -> None:
    links = [link for link in re.findall(r"""(?:\]\(|src=")([^)"#]+)""", README) if "://" not in link]
    named = re.findall(r"\b(?:configs|tests|seeds|docs|env)/[\w/-]+\.\w+", README)
    missing = [name for name in (*links, *named) if not (ROOT / name).exists()]
    assert len(links) > 3
    assert not missing


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"make ([a-z][a-z-]*)", "\n".join(re.findall(r"`[^`]+`|^    .*", README, re.MULTILINE))))
    assert {"train", "test"} <= named
    assert named <= targets
