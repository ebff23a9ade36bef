class Meter(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.value = 0
        self.sum = 0
        self.count = 0

    def update(self, value, n=1):
        self.value = value
        self.sum += value * n
        self.count += n


class Latest(object):
    def __init__(self):
        self.value = 0
        self.count = 0

    def update(self, value, n=1):
        self.value = value
        self.count += n
