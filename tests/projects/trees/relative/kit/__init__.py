class Base:
    def backward(self, loss):
        self.scaler.scale(loss).backward()
