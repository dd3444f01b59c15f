"""Alembic's entry: runs the migrations on the connection that ``schema.py`` hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
context.run_migrations()
