"""What the code of this package is called that stands between torch and the user's. It imports nothing."""

PASSED_OVER = "<runtime_guard: passed over by warnings, as importlib._bootstrap is>"
