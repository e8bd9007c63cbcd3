# Flask-Session.
import os
from datetime import timedelta
import redis
from flask import Flask, session
from flask_session import Session

app = Flask(__name__)
client = redis.from_url(os.environ["VIGIL_URL"])
# [documented]
app.config.update(SESSION_TYPE="redis", SESSION_REDIS=client, SESSION_KEY_PREFIX="flask:",
                  PERMANENT_SESSION_LIFETIME=timedelta(minutes=30))
Session(app)
# [end]


@app.route("/")
def view():
    session["views"] = session.get("views", 0) + 1
    return str(session["views"])


@app.route("/out")
def out():
    session.clear()
    return ""


with app.test_client() as web:
    assert web.get("/").data == b"1"
    assert web.get("/").data == b"2"
    (key,) = client.keys("flask:*")
    assert 1700 < client.ttl(key) <= 1800
    web.get("/out")
    assert client.keys("flask:*") == []
    assert web.get("/").data == b"1"
client.delete(*client.keys("flask:*"))
