class Optimizer:
    def __init__(self, parameters):
        self.parameters = dict(parameters)

    def step(self):
        for name, parameter in self.parameters.items():
            self.update(name, parameter)
            parameter.grad = None
