"""What can go wrong between a client and the API."""

from typing import Any


class ApiUnreachable(Exception):
    """Nobody answers at the address."""


class ApiError(Exception):
    """The API refused: `status`, `type` (stable), `detail`, `remedy` and `request_id` of RFC 9457.

    errors: each field that cannot be used, with the reason.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.type = str(problem.get("type", "about:blank"))
        self.detail = str(problem.get("detail", ""))
        self.remedy = str(problem.get("remedy", ""))
        self.request_id = problem.get("request_id")
        self.errors: list[dict[str, str]] = problem.get("errors") or []
        super().__init__(f"{self.detail} {self.remedy}".strip() or f"HTTP status {status}")
