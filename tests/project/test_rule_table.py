"""The table of rules says of each rule its id, its tier and the first paragraph of its page."""

from amplint.catalogue.rule import Rule, Tier
from amplint.catalogue.table import summary, table


def rule(name, family, tier=Tier.ERROR, page="What happens.\n\nWhy.\n"):
    return Rule(tier=tier, message="", advice="", id=name, family=family, page=page)


def test_each_family_has_a_table_of_its_own():
    text = table([rule("a", "scaler"), rule("b", "scaler", Tier.OPT_IN), rule("c", "clipping", Tier.WARNING)])
    assert text == (
        "### scaler\n\n| rule | tier | what happens |\n|---|---|---|\n"
        "| `a` | error | What happens. |\n| `b` | opt-in | What happens. |\n\n"
        "### clipping\n\n| rule | tier | what happens |\n|---|---|---|\n| `c` | warning | What happens. |"
    )


def test_a_bar_in_a_summary_does_not_end_the_cell():
    assert "| a \\| b |" in table([rule("a", "scaler", page="a | b")])


def test_the_summary_is_the_first_paragraph_below_the_headings_on_one_line():
    assert summary("# clip-before-unscale\n\nGradients are\nclipped.\n\nMore.") == "Gradients are clipped."


def test_the_summary_of_an_empty_page_is_empty():
    assert summary("") == ""
