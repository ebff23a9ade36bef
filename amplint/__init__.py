"""amplint finds the mistakes in mixed-precision and gradient-accumulation training loops that never crash.

The package imports nothing by itself: `amplint.cli` is the command line, `amplint.run` the stages in order.
"""

__version__ = "0.1.0"
