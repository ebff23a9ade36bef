"""Which versions of a library a project declares, and whether a rule's advice holds for all of them."""

import pytest

from amplint.analysis import findings_of
from amplint.catalogue.versions import allows

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


def test_advice_that_an_allowed_version_cannot_follow_is_not_given():
    assert [finding.code for finding in findings_of(OLD, "train.py")] == ["deprecated-cuda-amp"]
    assert findings_of(OLD, "train.py", {"torch": ">=2.1"}) == []
