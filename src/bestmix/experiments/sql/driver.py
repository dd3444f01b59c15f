"""The driver's own connection, for the statements of every call: SQLAlchemy's work on them takes longer than theirs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc


@contextmanager
def driver(connection: sa.Connection) -> Iterator[Any]:
    """The connection beneath one of SQLAlchemy; errors look alike."""
    errors = connection.dialect.loaded_dbapi.Error
    try:
        yield connection.connection.driver_connection
    except errors as error:
        raise exc.DBAPIError.instance("", None, error, errors) from error
