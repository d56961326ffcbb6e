"""What makes a program from a seed, whichever framework it is for."""

import random


class Drawing:
    """The lines of a program, the variables that they made, and what is drawn at random.

    Frontends define `leaf(shape, ...)`, which adds an input, and the other lines that they need.
    """

    min_ndim = 0  # of what later lines may use

    def __init__(self, seed, names):
        self.rng = random.Random(seed)
        self.lines = []
        self.leaves = []  # names of the variables that gradients are asked for
        self.pool = []  # names of the variables that later lines may use
        self.names = names  # what the lines see
        self._n = 0

    # What the operations use.

    def shape(self, name):
        return tuple(self.names[name].shape)

    def scalar(self):
        return self.rng.choice([-1.5, -0.75, 0.5, 1.25, 2, 3])

    def constant_text(self, function, shape, low=-1.0, high=1.0):
        """Source text of numbers that `function` makes of a seed."""
        return f"{function}({self.rng.randrange(10**6)}, {tuple(shape)}, {low}, {high})"

    def pick(self, min_ndim=None, max_ndim=9, shape=None):
        """The name of a variable of the pool, recent ones more often; a new input where there is none."""
        min_ndim = self.min_ndim if min_ndim is None else min_ndim
        fits = [name for name in self.pool if self.fits(name, min_ndim, max_ndim, shape)]
        return self.one_of(fits, min_ndim, max_ndim, shape)

    def fits(self, name, min_ndim, max_ndim, shape):
        return min_ndim <= len(self.shape(name)) <= max_ndim and (shape is None or self.shape(name) == shape)

    def one_of(self, fits, min_ndim, max_ndim, shape, **leaf_options):
        if not fits or (shape is None and self.rng.random() < 0.05):
            ndim = self.rng.randint(max(min_ndim, 1), max(min(max_ndim, 4), min_ndim, 1))
            return self.leaf(self.draw_shape(ndim) if shape is None else shape, **leaf_options)
        if self.rng.random() < 0.6:
            fits = fits[-4:]
        return self.rng.choice(fits)

    def draw_shape(self, ndim):
        return tuple(self.rng.randint(2, 4) for _ in range(ndim))

    def apart(self, name):
        """The variable moved to where no two elements tie and none is zero."""
        return f"({name} + {self.const(self.shape(name))})"

    def axis(self, name):
        return self.rng.randrange(-len(self.shape(name)), len(self.shape(name)))

    # Running lines.

    def _execute(self, line):
        self.lines.append(line)
        exec(line, self.names)

    def _new_names(self, drawn):
        """Names for the results of an operation."""
        names = [f"v{self._n + i}" for i in range(drawn.count(" ->") or 1)]
        self._n += len(names)
        return names

    def _draw_joined(self):
        """The last variable made and some others."""
        made = [name for name in self.pool if name[0] == "v"]
        return made[-1:] + self.rng.sample(made[:-1], min(len(made) - 1, self.rng.randint(1, 4)))
