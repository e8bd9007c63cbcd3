# What Django does while the store is away: its own engine deletes the visitor's
# cookie, that of away_sessions.py does not, and finds the session when the store
# is back.
import os
import sys
import types

import django
from django.conf import settings

engine = sys.argv[1]
settings.configure(
    SECRET_KEY="x", ROOT_URLCONF="django_urls", ALLOWED_HOSTS=["*"], SESSION_ENGINE=engine, SESSION_CACHE_ALIAS="default", LOGGING_CONFIG=None,
    CACHES={"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": os.environ["VIGIL_URL"]},
            "away": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": "redis://127.0.0.1:1"}},  # nobody listens there
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"])
django.setup()

from django.http import HttpResponse
from django.test import Client
from django.urls import path


def sign_in(request):
    request.session["user"] = "robin"
    return HttpResponse("")


app = types.ModuleType("django_urls")
app.urlpatterns = [path("in", sign_in), path("", lambda request: HttpResponse(request.session.get("user", "nobody")))]
sys.modules["django_urls"] = app

client = Client(raise_request_exception=False)
client.get("/in")
assert client.get("/").content == b"robin"
settings.SESSION_CACHE_ALIAS = "away"
page = client.get("/")
deleted = page.cookies.get("sessionid") is not None and page.cookies["sessionid"].value == ""
settings.SESSION_CACHE_ALIAS = "default"
after = client.get("/").content
if engine == "away_sessions":
    assert page.status_code == 500 and not deleted and after == b"robin", (page.status_code, deleted, after)
else:
    assert page.status_code == 200 and deleted and after == b"nobody", (page.status_code, deleted, after)
