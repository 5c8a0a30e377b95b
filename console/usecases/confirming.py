"""From how many on somebody has to type a name before something is done to them."""

CONFIRM_ABOVE = 1_000
