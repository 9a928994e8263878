"""What can go wrong, in one sentence each: what was got, what was expected, and the remedy."""


class FramesiftError(Exception):
    """Base of every error this package raises on purpose. Its text is meant for the user."""


class InputError(FramesiftError, ValueError):
    """A value, an array or a file that can't be used."""


class BudgetError(InputError):
    """A frame budget that is no whole number of at least 1."""


class OptionError(InputError):
    """An unknown option, or an option's value out of range."""


class UnknownName(InputError):
    """A selector, encoder or reader nobody registered."""


class MissingExtra(FramesiftError, ImportError):
    """An optional part is not installed. The text holds the command that installs it."""


class StoreError(FramesiftError):
    """Something kept in the library that can't be used."""


class ReaderError(FramesiftError):
    """A reader that can't be reached, refuses what it is shown, or answers with nothing usable."""
