from __future__ import annotations

import json

from amplint.catalogue.pages import listing, page
from amplint.catalogue.rule import Rule, Tier

PAGE = """Gradients are clipped while they carry the loss scale.

## What happens

Every update has the `same` norm.

```python bad
clip_grad_norm_(p, 1.0)  # expect: clip-before-unscale
```

```python good static-only
scaler.unscale_(optimizer)
clip_grad_norm_(p, 1.0)
```
"""
RULE = Rule(Tier.ERROR, "clipped", "unscale", id="clip-before-unscale", family="clipping", page=PAGE)


def test_a_page_as_text_is_for_a_terminal():
    assert (
        page(RULE, "text")
        == """\
clip-before-unscale: clipping rule, error

Gradients are clipped while they carry the loss scale.

WHAT HAPPENS

Every update has the same norm.

Bad:

    clip_grad_norm_(p, 1.0)

Good:

    scaler.unscale_(optimizer)
    clip_grad_norm_(p, 1.0)
"""
    )


def test_a_page_as_markdown_keeps_its_examples_without_the_marks_for_the_tests():
    told = page(RULE, "markdown")
    assert told.startswith("# clip-before-unscale\n\n*Clipping rule, error.*\n\nGradients are")
    assert "Bad:\n\n```python\nclip_grad_norm_(p, 1.0)\n```\n" in told
    assert "expect" not in told


def test_a_page_as_json_is_whole():
    told = json.loads(page(RULE, "json"))
    assert told["page"] == PAGE.strip()
    assert told["summary"] == "Gradients are clipped while they carry the loss scale."


def test_a_list_says_what_each_rule_is_about():
    assert listing([RULE], "text") == "clipping\n  clip-before-unscale  error\n"
    assert listing([RULE], "markdown").endswith(
        "- `clip-before-unscale` (error): Gradients are clipped while they carry the loss scale.\n"
    )
    assert [rule["id"] for rule in json.loads(listing([RULE], "json"))] == ["clip-before-unscale"]
