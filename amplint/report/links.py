"""Where the page of a rule can be read: on the documentation site that the package names, once it has one."""

from __future__ import annotations

from functools import cache


def rule_url(rule: str) -> str | None:
    """The address of a rule's page; None as long as no documentation site is set in `[project.urls]`."""
    address = site()
    return f"{address}/rules/{rule}/" if address else None


@cache
def site() -> str | None:
    """The address of the documentation site, if it has one."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        named = metadata("amplint").get_all("Project-URL") or []
    except PackageNotFoundError:  # run from a checkout that is not installed
        return None
    urls = dict(line.partition(", ")[::2] for line in named)
    return urls.get("Documentation", "").rstrip("/") or None
