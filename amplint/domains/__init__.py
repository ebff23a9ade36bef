"""What is known of a value beyond what it is: one module for each kind of knowledge.

The weight of a loss, the precision of a forward, the unit and size of a number, the ranks that a gradient is reduced
over, the models that it reaches, the optimizer that owns a parameter.
"""
