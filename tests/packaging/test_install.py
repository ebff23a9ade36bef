"""What a user gets from `pip install`, in a fresh environment without torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.network

ROOT = Path(__file__).parents[2]
LIMIT_MB = 60
DOCUMENTED = {
    ("missing-loss-division", "error"),
    ("clip-before-unscale", "error"),
    ("clip-per-micro-step", "error"),
    ("dropped-tail-window", "warning"),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The folder of the programs of an environment in which the project is installed."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    programs = home / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([programs / "python", "-m", "pip", "install", "-q", ROOT], check=True)
    return programs


def megabytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def test_an_installation_is_small_and_holds_no_torch(programs):
    done = subprocess.run(
        [programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    packages = Path(done.stdout.strip())
    assert not (packages / "torch").exists()
    assert megabytes(packages) < LIMIT_MB


def test_both_packages_can_be_imported(programs, tmp_path):
    subprocess.run([programs / "python", "-c", "import amplint, runtime_guard"], check=True, cwd=tmp_path)


def test_the_command_tells_its_version(programs):
    done = subprocess.run([programs / "amplint", "--version"], capture_output=True, text=True, check=True)
    assert "0.1.0" in done.stdout


def test_the_command_finds_the_documented_mistakes(programs):
    example = ROOT / "tests" / "example" / "train.py"
    command = [programs / "amplint", "check", "--output-format", "json", example]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert {(finding["code"], finding["severity"]) for finding in found} == DOCUMENTED
    assert len(found) == len(DOCUMENTED)
