from core.state import State

__all__ = ["State"]
