from .steps import advance

__all__ = ["advance"]
