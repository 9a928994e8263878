"""A small LRU cache whose values are made once."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class RecentCache(Generic[Value]):
    """A small LRU cache. Each value is made once, and the others can be read meanwhile."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = threading.Lock()
        self._making = [threading.Lock() for _ in range(16)]

    def get(self, key: str, make: Callable[[], Value]) -> Value:
        value = self._find(key)
        if value is not None:
            return value
        with self._making[hash(key) % len(self._making)]:
            value = self._find(key)  # another thread may have made it meanwhile
            if value is None:
                value = make()
                with self._lock:
                    self._values[key] = value
                    while len(self._values) > self._size:
                        self._values.popitem(last=False)
            return value

    def _find(self, key: str) -> Value | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)
