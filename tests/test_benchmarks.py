"""The benchmarks run, and say what they promise."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from benchmarks import gpu_packages

ROOT = Path(__file__).resolve().parent.parent


def test_carried_packages_are_put_where_this_python_lacks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = f"cp{sys.version_info.major}{sys.version_info.minor}"
    for wheel in (
        "plain-1.0-py2.py3-none-any", f"built-1.0-{own}-{own}-linux", "built-1.0-cp27-cp27-linux",
        "numpy-1.0-py3-none-any",
    ):  # fmt: skip
        with zipfile.ZipFile(tmp_path / f"{wheel}.whl", "w") as file:
            file.writestr(f"{wheel}/said.txt", wheel)
    monkeypatch.setattr(gpu_packages, "CARRIED", tmp_path)
    packages = {"plain_there_is_none": "plain", "built_there_is_none": "built", "numpy": "numpy"}
    monkeypatch.setattr(gpu_packages, "PACKAGES", packages)
    gpu_packages.unpack(tmp_path / "there")
    found = {path.name for path in (tmp_path / "there").iterdir()}
    assert found == {"plain-1.0-py2.py3-none-any", f"built-1.0-{own}-{own}-linux"}

    monkeypatch.setattr(gpu_packages, "PACKAGES", packages | {"other_there_is_none": "other"})
    with pytest.raises(SystemExit):
        gpu_packages.unpack(tmp_path / "there")
    assert "other. Where there is a network, benchmarks/gpu_check.sh --pack" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a shell script for Linux")
def test_the_gpu_check_runs_dry(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHON": sys.executable, "LIMIT": "3000"}
    command = ["benchmarks/gpu_check.sh", "--dry-run", "--json", str(tmp_path / "f.json")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "f.json").read_text())["rows"]
    assert [row["figure"] for row in rows if row["what"] == "verdict"] == ["right"] * 6


@pytest.mark.slow
def test_the_benchmark_of_selfplay_says_its_ratio(tmp_path: Path) -> None:
    command = [
        *(sys.executable, "benchmarks/selfplay.py", "--game", "brandubh", "--blocks", "1", "--channels", "8"),
        *("--batch", "16", "--seconds", "0.1", "--dtype", "float32", "--json", str(tmp_path / "f.json")),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [figures] = json.loads((tmp_path / "f.json").read_text())["rows"]
    assert figures["ratio"] == pytest.approx(figures["evaluations/s"] / figures["inference/s"])
    shares = [figure for name, figure in figures.items() if name.startswith("share of ")]
    assert sum(shares) == pytest.approx(1)
    assert all(share >= 0 for share in shares)
    assert figures["simulations an evaluation"] > 0.5


@pytest.mark.parametrize("wrong", [
    ["selfplay.py", "--blocks", "0"], ["selfplay.py", "--simulations", "0"], ["selfplay.py", "--threads", "0"],
    ["selfplay.py", "--seconds", "nan"], ["selfplay.py", "--seconds", "inf"], ["selfplay.py", "--device", "cudda"],
    ["board_search.py", "nothing.safetensors"], ["board_search.py", "configs"], ["board_search.py", "--simulations=0"],
])  # fmt: skip
@pytest.mark.slow
def test_a_wrong_argument_of_a_benchmark_is_one_sentence(wrong: list[str]) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / wrong[0]), *wrong[1:]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"{wrong[0]}: error: ")
