# Django's cache sessions with django-redis.
import os
import django
from django.conf import settings

# [documented]
CACHES = {"default": {
    "BACKEND": "django_redis.cache.RedisCache",
    "LOCATION": os.environ["VIGIL_URL"],
}}
SESSION_ENGINE = "django.contrib.sessions.backends.cache"
SESSION_COOKIE_AGE = 1800
# [end]
settings.configure(
    SECRET_KEY="x", ROOT_URLCONF="django_urls", ALLOWED_HOSTS=["*"], CACHES=CACHES, SESSION_ENGINE=SESSION_ENGINE,
    SESSION_COOKIE_AGE=SESSION_COOKIE_AGE, MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"])
django.setup()

import sys
import types
from django.http import HttpResponse
from django.test import Client
from django.urls import path
from django_redis import get_redis_connection


def view(request):
    request.session["views"] = request.session.get("views", 0) + 1
    return HttpResponse(str(request.session["views"]))


def out(request):
    request.session.flush()
    return HttpResponse("")


app = types.ModuleType("django_urls")
app.urlpatterns = [path("", view), path("out", out)]
sys.modules["django_urls"] = app

client = Client()
assert client.get("/").content == b"1"
assert client.get("/").content == b"2"
redis = get_redis_connection("default")
(key,) = redis.keys("*sessions.cache*")
assert 1700 < redis.ttl(key) <= 1800, redis.ttl(key)
client.get("/out")
assert redis.keys("*sessions.cache*") == []
assert client.get("/").content == b"1"
redis.delete(*redis.keys("*sessions.cache*"))
