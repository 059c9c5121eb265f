"""What can be wrong with a request for a benchmark."""

from __future__ import annotations

from heatsim.errors import HeatsimError


class RequestError(HeatsimError):
    """What was asked for does not exist or makes no sense."""

    exit_code = 2
