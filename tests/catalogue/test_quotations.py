"""What a message quotes stands in one pair of back-quotes, whatever framework it is told of."""

import pytest

from amplint.catalogue import RULES
from amplint.dialects import DIALECTS, advice


@pytest.mark.parametrize("dialect", [pytest.param(one, id=one.name) for one in DIALECTS])
def test_no_help_quotes_a_quotation(dialect):
    for rule in RULES.values():
        said = advice(rule.id, rule.advice, {"through": dialect.name})
        for name, word in dialect.spelling.items():
            said = said.replace("{" + name + "}", word)
        assert "``" not in said, (rule.id, said)
        assert said.count("`") % 2 == 0, (rule.id, said)
