# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Error codes in replies: every service and action answers with a code and a sentence."""

from __future__ import annotations

from collections.abc import Callable
import functools
import traceback
from typing import Any

from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code, SolverStatus


def fill_error(response: Any, error: SoroError) -> Any:
    """Put an error into `error_code` and `error_message`; return the response."""
    return fill_code(response, error.code, str(error))


def fill_code(response: Any, code: Code, message: str = '') -> Any:
    """Put a code and a sentence into a response; return it.

    Those of std_srvs have no codes: they say whether it worked, and the name of the code.
    """
    if hasattr(response, 'error_code'):
        response.error_code = int(code)
        response.error_message = message
    else:
        response.success = code is Code.NONE
        response.message = message if response.success else f'{code.name}: {message}'
    return response


def fill_status(response: Any, status: SolverStatus) -> Any:
    """Put the outcome of a solver into a response; return it."""
    solved = status.code is Code.NONE
    return fill_code(response, status.code, status.message if solved else status.doubt)


def internal(error: Exception) -> str:
    """Say that a program error, which no user can mend, has ended something."""
    return f'internal error: {error!r}; try again, and report it with the traceback in the log'


def answering(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a service method, response last, so that errors become replies.

    A SoroError fills its code. Anything else is a fault of ours: it is logged with its
    traceback and answered as UNKNOWN, because an exception that leaves a service callback would
    end the whole node.
    """

    @functools.wraps(callback)
    def wrapped(self: Any, *arguments: Any) -> Any:
        response = arguments[-1]
        try:
            return callback(self, *arguments)
        except SoroError as error:
            return fill_error(response, error)
        except Exception as error:  # noqa: BLE001 - the process boundary of a request
            self.get_logger().error(
                f'{callback.__name__} failed unexpectedly:\n{traceback.format_exc()}'
            )
            return fill_code(response, Code.UNKNOWN, internal(error))

    return wrapped
