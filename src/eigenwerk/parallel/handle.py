"""A result that may still be on its way."""

from typing import Generic, Protocol, TypeVar

Result = TypeVar("Result", covariant=True)


class Handle(Protocol[Result]):
    """What a verb that does not wait returns."""

    def wait(self) -> Result:
        """The result, when it is there.

        On a device: work queued after `wait` finds it there, on the stream on which the verb was started.
        """
        ...


class Ready(Generic[Result]):
    """A result that was there at once."""

    def __init__(self, result: Result):
        self._result = result

    def wait(self) -> Result:
        """The result."""
        return self._result
