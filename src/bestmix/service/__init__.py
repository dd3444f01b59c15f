"""The HTTP service of durable experiments: an API for workers in any language, and a dashboard.

``app.py`` puts it together and ``server.py`` runs it; ``experiments.py`` and ``steering.py`` are the API's
routes, ``pages.py`` the dashboard's; ``access.py`` says who may do what, ``tokens.py`` keeps who is who.
"""
