from loops import Loop


class Counting(Loop):
    def finish(self):
        self.seen += 1
