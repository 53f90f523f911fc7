"""Expected failures of pricing; each says what was expected, what was found and what to do."""


class PricingError(Exception):
    """Expected failures of pricing.

    `status` is the HTTP answer, `problem` the stable last part of its problem type
    (docs/api/errors.md), `remedy` what the reader can do next.

    PricingError
    ├── RequestInvalid     422  a parameter, header or body cannot be used
    ├── NotFound           404  no such thing, or not visible to this credential
    ├── Conflict           409  the change contradicts what is stored
    │   ├── AlreadyExists  409  the id is taken
    │   └── ServeRunning   409  another process owns the stores
    ├── NotAuthenticated   401  no valid credential
    ├── NotAllowed         403  the credential may not do this
    ├── TooManyRequests    429  wait `retry_after_seconds`
    ├── StoreUnavailable   503  a store cannot be opened or written
    ├── ConfigInvalid      400  fix the setting named in the message
    └── BookInvalid        422  fix the price book at the place named in the message
    """

    status = 500
    problem = "internal"
    remedy = "Report it with the request id; the log holds the details."

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        if remedy is not None:
            self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.args[0]} {self.remedy}"


class RequestInvalid(PricingError):
    """A parameter, header or body cannot be used."""

    status = 422
    problem = "request-invalid"
    remedy = "Correct the fields that are named; /openapi.json describes them."


class NotFound(PricingError):
    """No such thing, or not one that this credential may see: the answer is the same."""

    status = 404
    problem = "not-found"
    remedy = "Check the id; list the collection to see what this credential may read."


class Conflict(PricingError):
    """The change contradicts what is stored."""

    status = 409
    problem = "conflict"
    remedy = "Read the current state, then send the change that follows from it."


class AlreadyExists(Conflict):
    """The id is taken by something else."""

    problem = "already-exists"
    remedy = "Choose another id, or change the existing one with PATCH."


class ServeRunning(Conflict):
    """Another process owns the stores of this home."""

    problem = "serve-running"
    remedy = "Stop that process, or choose another home with TOKENTILL_HOME."


class NotAuthenticated(PricingError):
    """No valid credential came with the request."""

    status = 401
    problem = "not-authenticated"
    remedy = "Send 'Authorization: Bearer <key>' with a key that is neither expired nor revoked."


class NotAllowed(PricingError):
    """The credential is valid but may not do this."""

    status = 403
    problem = "not-allowed"
    remedy = "Use a key with one of the roles that are named."


class TooManyRequests(PricingError):
    """The caller must wait `retry_after_seconds`."""

    status = 429
    problem = "too-many-requests"
    remedy = "Wait for the seconds in Retry-After, then try again."

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class StoreUnavailable(PricingError):
    """A store cannot be opened or written."""

    status = 503
    problem = "store-unavailable"
    remedy = "Check free space and permissions of the home folder; 'tokentill doctor' looks there."


class ConfigInvalid(PricingError):
    """A setting cannot be used."""

    status = 400
    problem = "config-invalid"
    remedy = "docs/configuration.md lists every key."


class BookInvalid(PricingError):
    """A price book cannot be used."""

    status = 422
    problem = "book-invalid"
    remedy = (
        "Correct the book at the place that is named; 'tokentill prices check' repeats the test."
    )
