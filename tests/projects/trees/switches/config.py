CLIP = False
ACCUMULATE = 1
UNSCALE = True


class CFG:
    unscale = True
