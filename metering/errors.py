"""Expected failures of metering; each says what was expected, what was found and what to do."""


class MeteringError(Exception):
    """Expected failures of metering. `status` is the HTTP answer.

    MeteringError
    ├── UsageInvalid      422  a record contradicts itself; fix the sender
    ├── BatchUnreadable   422  the body is not what its content type says
    ├── BatchTooLarge     413  send smaller batches
    ├── FormatUnknown     415  a content type or encoding that nobody here reads
    ├── NotResubmittable  409  the record in quarantine is not one to correct
    ├── NotYours          403  a node's key writes for its own node only
    ├── SourceUnreadable  400  a file or endpoint of an engine cannot be read
    ├── ConfigInvalid     400  fix the file named in the message
    ├── StoreUnavailable  503  the usage store cannot be written; nothing was accepted
    │   └── StoreHeld     503  another process owns the store; ask it through the API
    ├── StoreBusy         429  the ingest queue is full; try again later
    ├── ReadTimeout       503  a query took longer than readers may
    └── BackupFailed      500  no backup was made; the folder holds none that is half
    """

    status = 500


class UsageInvalid(MeteringError, ValueError):
    """A usage record contradicts itself. `field` names the first offending field."""

    status = 422

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class BatchUnreadable(MeteringError):
    """The body of a batch cannot be decoded at all."""

    status = 422


class BatchTooLarge(MeteringError):
    """The body of a batch exceeds the limit."""

    status = 413


class FormatUnknown(MeteringError):
    """The body has a content type or encoding that is not read here."""

    status = 415


class NotResubmittable(MeteringError):
    """The record in quarantine is gone, decided about, or not a rejected one."""

    status = 409


class NotYours(MeteringError):
    """The credential may not write what was sent."""

    status = 403


class SourceUnreadable(MeteringError):
    """A file or endpoint of an engine cannot be read."""

    status = 400


class ConfigInvalid(MeteringError):
    """A configuration file has a key or value that cannot be used."""

    status = 400


class StoreUnavailable(MeteringError):
    """The usage store cannot be written now; nothing of the batch was accepted."""

    status = 503


class StoreHeld(StoreUnavailable):
    """Another process owns the store's file."""


class StoreBusy(MeteringError):
    """The ingest queue is full."""

    status = 429


class ReadTimeout(MeteringError):
    """A query of the usage store took longer than readers may, or no reader came free in time."""

    status = 503


class BackupFailed(MeteringError):
    """No backup was made, and none that is half was left behind."""
