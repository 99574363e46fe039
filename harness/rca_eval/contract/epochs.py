"""Unix times as people get them wrong: in milliseconds, as text, in another century."""

FIRST, LAST = 946684800, 4102444800  # 2000-01-01 and 2100-01-01, UTC
_UNITS = (("milliseconds", 10**3), ("microseconds", 10**6), ("nanoseconds", 10**9))


class EpochError(ValueError):
    """A number that is no time in whole Unix seconds; the message says what it looks like, `seconds` what was meant."""

    def __init__(self, message: str, seconds: int | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds


def unix_seconds(value: int) -> int:
    """The value, if it is a time between 2000 and 2100. Raises `EpochError`, with the value in seconds where
    a finer unit explains it.
    """
    if FIRST <= value <= LAST:
        return value
    for unit, factor in _UNITS:
        if FIRST <= value // factor <= LAST:
            raise EpochError(
                f"looks like Unix {unit}; in whole seconds it is {value // factor}", value // factor
            )
    raise EpochError(f"must be whole Unix seconds from {FIRST} to {LAST} (the years 2000 to 2100)")
