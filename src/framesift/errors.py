"""Exceptions. Each message is one sentence: what was got, what was expected, and the remedy."""


class FramesiftError(Exception):
    """Base class of all errors this package raises deliberately; the message is meant for the user."""


class InputError(FramesiftError, ValueError):
    """A value, an array or a file is invalid."""


class BudgetError(InputError):
    """A frame budget is not a whole number of at least 1."""


class OptionError(InputError):
    """An option is unknown or its value out of range."""


class UnknownName(InputError):
    """No selector, encoder or reader has this name."""


class PluginError(FramesiftError):
    """A selector, encoder or reader of another package can't be used."""


class MissingExtra(FramesiftError, ImportError):
    """An optional dependency is not installed; the message contains the command that installs it."""


class StoreError(FramesiftError):
    """A file of the store is unusable."""


class NotStored(FramesiftError):
    """Only what is stored was asked for, and an index or a text is not there yet."""


class OutputError(FramesiftError):
    """A disk is full or fails, so that output can't be written."""


class ReaderError(FramesiftError):
    """A reader is unreachable, rejects the request, or returns no usable answer."""
