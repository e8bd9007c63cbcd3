# A session engine of Django's that lets errors of the store through.
# [documented]
# away_sessions.py, with SESSION_ENGINE = "away_sessions"
from django.contrib.sessions.backends.cache import SessionStore as Cached


class SessionStore(Cached):
    def load(self):
        data = self._cache.get(self.cache_key)  # an error is not caught
        if data is None:
            self._session_key = None
            return {}
        return data
# [end]
