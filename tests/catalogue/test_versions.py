"""Which versions of a library a project declares, and whether a rule's advice holds for all of them."""

import pytest

from amplint.analysis import findings_of
from amplint.catalogue.versions import allows, declared, reaches

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
        "accelerate": "^1.1",
        "trl": ">=0.9",
    }


def test_a_document_without_a_project_declares_nothing():
    assert declared({}) == declared({"project": 1, "tool": {"poetry": []}}) == {}
