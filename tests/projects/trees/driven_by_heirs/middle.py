from bases import Common as Shared, Kept, Made


class Middle(Shared):
    def report(self, loss):
        self.log("loss", loss)


class Logs(Kept):
    def training_step(self, model, inputs, num_items_in_batch=None):
        self.seen += 1
        return super().training_step(model, inputs, num_items_in_batch)


class Replaced(Made):
    def training_step(self, model, inputs, num_items_in_batch=None):
        return self.compute_loss(model, inputs)


def plain(model):
    return Made(model=model)
