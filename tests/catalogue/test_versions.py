"""Which versions of a library a project declares, and whether a rule's advice holds for all of them."""

import pytest

from amplint.analysis import findings_of
from amplint.catalogue import RULES
from amplint.catalogue.remedy import Safety
from amplint.catalogue.versions import allows, assures, declared, is_bounds, listed, reaches
from amplint.settings import Overrides, load

OLD = "import torch\nscaler = torch.cuda.amp.GradScaler()\n"


@pytest.mark.parametrize(
    ("declared", "allowed"),
    [
        ("", True),
        (">=2.4", True),
        (">=2.4.0,<3", True),
        ("==2.6.*", True),
        ("2.13.0", True),
        ("~=2.5", True),
        ("^2.5", True),
        ("!=2.3", True),
        ("<3", True),
        (">=2.3", False),
        (">=1.10, <3", False),
        ("^2.1", False),
        ("==2.0.1", False),
        ("<2.4", False),
        ("<=2.3", False),
        ("<=2.4", True),
    ],
)
def test_all_versions_that_are_allowed_count_and_what_is_not_known_is_new(declared, allowed):
    assert allows({"torch": declared}, ("torch", "2.4")) is allowed


@pytest.mark.parametrize(
    ("declared", "assured"),
    [("", False), ("<3", False), ("!=2.3", False), (">=2.4,<3", True), ("==2.6.*", True)],
)
def test_a_fix_is_safe_only_where_a_lower_bound_assures_what_it_needs(declared, assured):
    assert assures({"torch": declared}, ("torch", "2.4")) is assured
    under = RULES["deprecated-cuda-amp"].under({"torch": declared})
    assert under.remedy.safety is (Safety.SAFE if assured else Safety.UNSAFE)


@pytest.mark.parametrize(
    ("name", "line"), [("requirements.txt", "torch"), ("environment.yml", "dependencies:\n- pytorch")]
)
def test_a_fix_for_a_newer_torch_is_written_only_where_the_project_asks_for_torch(name, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rule = RULES["deprecated-cuda-amp"]
    assert rule.under(load(Overrides()).versions_of("train.py")).remedy.safety is Safety.DISPLAY
    (tmp_path / name).write_text(line + "\n", encoding="utf-8")
    assert rule.under(load(Overrides()).versions_of("train.py")).remedy.safety is Safety.UNSAFE


def test_a_library_named_without_bounds_has_those_of_a_folder_above(tmp_path):
    (tmp_path / "requirements.txt").write_text("torch==1.9.0\n", encoding="utf-8")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "requirements.txt").write_text("torch\n", encoding="utf-8")
    assert load(Overrides()).versions_of(str(tmp_path / "inner" / "train.py")) == {"torch": "==1.9.0"}


def test_a_fix_that_needs_no_version_stays_as_safe_as_it_is():
    assert assures({}, None)
    assert RULES["step-bypasses-scaler"].under({}) is RULES["step-bypasses-scaler"]


def test_what_needs_no_version_is_allowed_everywhere():
    assert allows({"torch": "==1.0"}, None)
    assert allows({}, ("torch", "2.4"))


@pytest.mark.parametrize(
    ("declared", "reached"),
    [
        ("", True),
        (">=4.30", True),
        (">=4.30,<5", True),
        ("==4.*", True),
        ("==4.46.0", True),
        ("~=4.40", True),
        ("^4.40", True),
        ("<=4.46", True),
        ("<4.46.1", True),
        ("!=4.46", True),
        ("==4.45.2", False),
        ("4.40", False),
        ("~=4.45.1", False),
        ("^3.5", False),
        ("<=4.45", False),
        (">=4.30,<4.46.0", False),
    ],
)
def test_the_newest_version_that_is_allowed_shows_whether_a_mistake_can_happen(declared, reached):
    assert reaches({"transformers": declared}, ("transformers", "4.46")) is reached


def test_what_began_in_no_version_was_always_there():
    assert reaches({"transformers": "==1.0"}, None)
    assert reaches({}, ("transformers", "4.46"))


def test_a_mistake_that_no_allowed_version_makes_is_not_told():
    told = "import transformers\nclass T(transformers.Trainer):\n    def compute_loss(self, model): return 0\n"
    assert [finding.code for finding in findings_of(told, "train.py")] == ["ignored-num-items-in-batch"]
    assert findings_of(told, "train.py", {"transformers": ">=4.30,<4.46"}) == []


def test_advice_that_an_allowed_version_cannot_follow_is_not_given():
    assert [finding.code for finding in findings_of(OLD, "train.py")] == ["deprecated-cuda-amp"]
    assert findings_of(OLD, "train.py", {"torch": ">=2.1"}) == []


@pytest.mark.parametrize(
    ("declared", "row"),
    [
        (">=1.13", None),
        (">=2.0", 4),
        (">=2.3", 3),
        (">=2.4", 3),
        ("==2.3.1", None),
        (">=2.0,<2.4", None),
    ],
)
def test_what_has_a_namesake_in_all_versions_is_deprecated_if_the_newest_one_says_so(declared, row):
    told = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\nwith torch.cuda.amp.autocast():\n    pass\n"
    assert [found.place.row for found in findings_of(told, "train.py", {"torch": declared})] == (
        [] if row is None else [row]
    )


@pytest.mark.parametrize(
    ("declared", "safety"), [("", Safety.UNSAFE), (">=2.0", Safety.DISPLAY), (">=2.4", Safety.SAFE)]
)
def test_a_fix_that_an_allowed_version_cannot_follow_is_never_written(declared, safety):
    assert RULES["deprecated-cuda-amp"].under({"torch": declared}).remedy.safety is safety


def test_what_a_project_depends_on_is_declared():
    document = {
        "project": {
            "dependencies": ["Torch >=2.1,<3", "transformers[torch]==4.44.* ; python_version > '3.9'", "numpy", "*", 1],
            "optional-dependencies": {"gpu": ["deep_speed (>=0.14)", "torch>=2.6"], "none": None},
        },
        "tool": {"poetry": {"dependencies": {"accelerate": "^1.1", "trl": {"version": ">=0.9"}, "own": {"path": "."}}}},
    }
    assert declared(document) == {
        "torch": ">=2.1,<3",
        "transformers": "==4.44.*",
        "deep-speed": ">=0.14",
        "numpy": "",
        "accelerate": "^1.1",
        "trl": ">=0.9",
    }


def test_a_document_without_a_project_declares_nothing():
    assert declared({}) == declared({"project": 1, "tool": {"poetry": []}}) == {}


@pytest.mark.parametrize(
    ("line", "bounds"),
    [
        ("torch==1.9.0", "==1.9.0"),
        ("torch == 2.0.1+cu118  # for the driver", "== 2.0.1"),
        ("torch>=1.10,<3 ; python_version > '3.8'", ">=1.10,<3"),
        ("  - pytorch=1.12.1=py3.8_cuda11.3_cudnn8.3.2_0", "==1.12.1"),
        ("  - pytorch=2.4", "==2.4"),
        ("  - pytorch::pytorch=1.12.*", "==1.12.*"),
        ('  - "torch~=2.1"', "~=2.1"),
        ("torch", ""),
        ("- pytorch  # any", ""),
        ("import torch", None),
        ("torchvision==0.10.0", None),
        ("# torch==1.9", None),
        ("torch @ https://example.org/torch-1.9.0.whl", None),
        ("--index-url https://example.org/whl", None),
    ],
)
def test_lists_of_requirements_are_read(line, bounds):
    assert listed(f"numpy==1.24\n{line}\n").get("torch") == bounds


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("requirements.txt", "torch==1.9.0"),
        ("requirements-dev.txt", "torch==1.9.0"),
        ("requirements/base.txt", "torch>=1.7"),
        ("environment.yml", "dependencies:\n  - pytorch=1.12.1=py3.8_0"),
        ("setup.py", "setup(name='own', install_requires=['numpy', 'torch>=1.7'])"),
        ("pyproject.toml", "[project]\ndependencies = ['torch>=2.0.1']"),
        ("setup.cfg", "[options]\ninstall_requires =\n    torch>=1.7"),
    ],
)
def test_a_project_for_an_older_torch_is_not_told_to_use_what_is_newer(name, line, tmp_path, monkeypatch):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(line + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for isolated in (True, False):
        assert findings_of(OLD, "train.py", load(Overrides(), isolated=isolated).versions_of("train.py")) == []
    assert [found.code for found in findings_of(OLD, "train.py")] == ["deprecated-cuda-amp"]


def test_what_is_declared_nearest_holds(tmp_path, monkeypatch):
    (tmp_path / "requirements.txt").write_text("torch==1.9.0\n", encoding="utf-8")
    (tmp_path / "inner" / "src").mkdir(parents=True)
    (tmp_path / "inner" / "requirements.txt").write_text("torch==2.6.0\nnumpy==2.0\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "inner" / "src")
    assert load(Overrides()).versions_of("train.py") == {"torch": "==2.6.0"}
    assert load(Overrides()).versions_of(str(tmp_path / "train.py")) == {"torch": "==1.9.0"}


def test_an_environment_may_have_any_name_and_a_list_may_include_another(tmp_path):
    (tmp_path / "own.yml").write_text("name: own\ndependencies:\n  - pytorch=2.0.1\n", encoding="utf-8")
    (tmp_path / "run.yaml").write_text("model: torch==1.0\n", encoding="utf-8")
    assert load(Overrides()).versions_of(str(tmp_path / "train.py")) == {"torch": "==2.0.1"}
    (tmp_path / "own.yml").write_text("channels:\n  - pytorch\ndependencies:\n  - numpy\n", encoding="utf-8")
    assert load(Overrides()).versions_of(str(tmp_path / "train.py")) == {}
    inner = tmp_path / "inner"
    (inner / "lists").mkdir(parents=True)
    (inner / "requirements.txt").write_text("-r lists/base.txt\n-r requirements.txt\n-r gone.txt\n", encoding="utf-8")
    (inner / "lists" / "base.txt").write_text("torch>=2.8\n", encoding="utf-8")
    assert load(Overrides()).versions_of(str(inner / "train.py")) == {"torch": ">=2.8"}


@pytest.mark.parametrize(
    ("line", "bounds"),
    [
        ("torchvision==0.12.0+cu113", "==1.11"),
        ("torchvision~=0.14.1", "==1.13"),
        ("torchvision~=0.14", ">=1.13"),
        ("torchvision>=0.15,<0.20", ">=2.0,<2.5"),
        ("torchvision!=0.15", None),
        ("torchvision==0.99", None),
        ("torchvision", None),
        ("torchaudio==0.13.1", "==1.13"),
        ("torchaudio==2.6.0", "==2.6"),
        ("pytorch-lightning==1.5.10", ">=1.7"),
        ("pytorch_lightning>=1.5", None),
        ("lightning==2.3.0", ">=2.0"),
        ("pytorch-lightning==1.9.5\ntorchvision==0.14.1", "==1.13"),
        ("torch==2.6.0\ntorchvision==0.12.0", "==2.6.0"),
        ("torch\ntorchvision==0.12.0", "==1.11"),
    ],
)
def test_a_library_that_is_released_for_one_torch_says_which(line, bounds, tmp_path):
    (tmp_path / "requirements.txt").write_text(f"{line}\nnumpy==1.24\n", encoding="utf-8")
    assert load(Overrides()).versions_of(str(tmp_path / "train.py")).get("torch") == (bounds or None)


def test_a_poetry_project_says_it_too(tmp_path):
    text = "[tool.poetry.dependencies]\ntorchaudio = '^2.1'\ntorchvision = '^0.16.0'\n"
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert load(Overrides()).versions_of(str(tmp_path / "train.py"))["torch"] == "==2.1,>=2.1"


@pytest.mark.parametrize(
    ("text", "are"), [("", True), (">=2.4,<3", True), ("^2.6, <3", True), ("abc", False), ("2.4x!", False)]
)
def test_bounds_are_told_from_other_texts(text, are):
    assert is_bounds(text) is are
