"""Access tokens: made once, shown once, kept as a digest only."""

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import sqlalchemy as sa

from bestmix import checks
from bestmix.experiments import Storage
from bestmix.experiments.model import check_label
from bestmix.experiments.sql import tables
from bestmix.experiments.sql.database import Database
from bestmix.experiments.sql.inspection import fault
from bestmix.experiments.sql.store import SqlStore

PREFIX = 8  # hexadecimal digits of a token that may be shown
BYTES = 32  # of the secret part: 256 bits
c = tables.tokens.c


class Scope(StrEnum):
    """What a token allows; each includes those before it."""

    read = "read"
    work = "work"  # ask, tell, renew, fail
    admin = "admin"  # create, steer, delete

    def allows(self, wanted: "Scope") -> bool:
        """Whether a token of this scope may do what needs ``wanted``.

        >>> Scope.work.allows(Scope.read), Scope.work.allows(Scope.admin)
        (True, False)
        """
        return RANK[self] >= RANK[wanted]


RANK = {scope: rank for rank, scope in enumerate(Scope)}


class Fingerprint(NamedTuple):
    """What there is to know of a token's text: how to find the token, and whether it is the one."""

    prefix: str
    digest: str

    @classmethod
    def of(cls, text: str) -> "Fingerprint":
        """That of a text; its prefix is empty when it is no token."""
        return cls(prefix_of(text), digest(text))


@dataclass(frozen=True)
class Token:
    """A token as it is kept; ``experiment`` is the key of the only one that it is for."""

    prefix: str
    digest: str
    label: str
    scope: Scope
    experiment: str | None
    created: float
    expires: float | None = None
    revoked: float | None = None

    def state(self, now: float) -> str:
        """Whether it can be used: ``valid``, ``expired`` or ``revoked``."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and now >= self.expires else "valid"

    def fits(self, text: str) -> bool:
        """Whether this is the token that the text is; takes the same time for every text."""
        return self.is_of(Fingerprint.of(text))

    def is_of(self, shown: Fingerprint) -> bool:
        """The same of a text whose digest is known."""
        return hmac.compare_digest(self.digest, shown.digest)

    def to_dict(self) -> dict[str, Any]:
        """What may be shown of it."""
        shown = {key: value for key, value in vars(self).items() if key != "digest"}
        return shown | {"state": self.state(time.time())}


def digest(text: str) -> str:
    """What is kept of a token. It has 256 random bits, so that a plain hash cannot be guessed back."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def prefix_of(text: str) -> str:
    """The part of a token that may be shown; empty when the text is no token.

    >>> prefix_of("bm_0123abcd_secret"), prefix_of("nonsense")
    ('bm_0123abcd', '')
    """
    parts = text.split("_", 2)
    return "_".join(parts[:2]) if len(parts) == 3 and parts[0] == "bm" and len(parts[1]) == PREFIX else ""


def new_token(
    scope: Scope, label: str = "", experiment: str | None = None, days: float | None = None
) -> tuple[Token, str]:
    """A new token and its text, which is to be shown once and kept nowhere."""
    prefix = f"bm_{secrets.token_hex(PREFIX // 2)}"
    text = f"{prefix}_{secrets.token_urlsafe(BYTES)}"
    now = time.time()
    expires = None if days is None else now + 86400 * checks.number("days", days)
    return Token(prefix, digest(text), label, scope, experiment, now, expires), text


class Tokens:
    """The tokens of a storage, which all of its servers share."""

    def __init__(self, storage: Storage) -> None:
        if not isinstance(storage.store, SqlStore):
            raise checks.InvalidInput(
                "storage", "tokens are kept in a database", "give sqlite:///FILE or postgresql://..."
            )
        self._database: Database = storage.store.database
        self._storage = storage

    def create(
        self, scope: str, label: str = "", experiment: str | None = None, days: float | None = None
    ) -> tuple[Token, str]:
        """A new token for an experiment, or for all; the text is returned this once."""
        allowed = Scope(checks.choice("scope", scope, [s.value for s in Scope]))
        if days is not None and not 0 < checks.number("days", days) <= 36_500:
            raise checks.InvalidInput(
                "days", f"expected more than 0 and at most 36500, got {days:g}", "say when it shall expire"
            )
        key = None if experiment is None else self._storage.open(experiment).record.key
        token, text = new_token(allowed, check_label("label", label, empty=True), key, days)
        row = {**vars(token), "role": token.scope.value}
        del row["scope"]
        self._database.write(lambda connection: connection.execute(sa.insert(tables.tokens).values(row)))
        return token, text

    def list(self) -> list[Token]:
        """All of them, the oldest first; a damaged row is no token, and keeps nobody else out."""
        wanted = sa.select(tables.tokens).order_by(c.id)
        rows = self._database.read(lambda connection: connection.execute(wanted).all())
        return [_token(row) for row in rows if _is_sound(row)]

    def find(self, prefix: str) -> Token | None:
        """The token with that prefix."""
        wanted = sa.select(tables.tokens).where(c.prefix == prefix)
        row = self._database.read(lambda connection: connection.execute(wanted).one_or_none())
        return None if row is None or not _is_sound(row) else _token(row)

    def revoke(self, prefix: str) -> Token:
        """End a token for good; servers notice within a second."""
        found = self.find(prefix)
        if found is None:
            raise checks.InvalidInput(
                "prefix", f"there is no token {checks.shown(prefix)}", "bestmix token list shows them"
            )
        change = sa.update(tables.tokens).where(c.prefix == prefix, c.revoked.is_(None)).values(revoked=time.time())
        self._database.write(lambda connection: connection.execute(change))
        return found

    def any_valid(self) -> bool:
        """Whether there is a token that can be used."""
        now = time.time()
        return any(token.state(now) == "valid" for token in self.list())


def _is_sound(row: Any) -> bool:
    return all(fault(column, getattr(row, column.name)) is None for column in tables.tokens.columns)


def _token(row: Any) -> Token:
    scope = Scope(row.role)
    return Token(row.prefix, row.digest, row.label, scope, row.experiment, row.created, row.expires, row.revoked)
