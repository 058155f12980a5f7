status_count: int

def error_name(number: int) -> str:
    """DOCA's symbolic name of a status, such as DOCA_ERROR_AGAIN."""

def error_descr(number: int) -> str:
    """The meaning of a status, in one sentence."""

def throw_error(number: int, message: str) -> None:
    """Raises the exception of this status, as a failed call of the engine does."""
