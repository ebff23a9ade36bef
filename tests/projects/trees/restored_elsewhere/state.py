class State:
    kept = ("model", "optimizer", "scaler")

    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.scaler = model, optimizer, None

    def load_state_dict(self, states):
        for name in self.kept:
            getattr(self, name).load_state_dict(states[name])


class Weights:
    kept = ("model", "optimizer")

    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.scaler = model, optimizer, None

    def load_state_dict(self, states):
        for name in self.kept:
            getattr(self, name).load_state_dict(states[name])
