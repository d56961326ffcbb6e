"""Base class of the links with a recurrent state."""

import compatgrad.chainer as chainer
from compatgrad.chainer import link, variable


def zeros(link_, shape, dtype):
    """A Variable of zeros on the device of a link."""
    with chainer.using_device(link_.device):
        return variable.Variable(link_.xp.zeros(shape, dtype=dtype))


class StatefulChain(link.Chain):
    """A chain whose attributes named in `_states` are Variables, or None before the first step."""

    _states = ("h",)

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        for name in self._states:
            state = getattr(self, name)
            if state is not None:
                visitor.visit_variable(state)

    def _set_states(self, *states):
        for name, state in zip(self._states, states, strict=True):
            assert isinstance(state, variable.Variable), (
                f"a state must be a chainer.Variable, not {type(state).__name__}"
            )
            state.to_device(self.device)
            setattr(self, name, state)

    def reset_state(self):
        """Forgets the state."""
        for name in self._states:
            setattr(self, name, None)
