// express-session with connect-redis, over node-redis.
import assert from "node:assert";
import express from "express";
import session from "express-session";
import { RedisStore } from "connect-redis";
import { createClient } from "redis";

const client = createClient({ url: process.env.VIGIL_URL });
await client.connect();

const app = express();
// [documented]
const store = new RedisStore({ client, prefix: "express:", ttl: 1800 });
app.use(session({
  store, secret: "change me", resave: false, saveUninitialized: false, rolling: true,
}));
// [end]
app.get("/", (req, res) => {
  req.session.views = (req.session.views ?? 0) + 1;
  res.json({ id: req.sessionID, views: req.session.views });
});
app.get("/out", (req, res) => req.session.destroy(() => res.end()));

const server = app.listen(0);
const url = `http://127.0.0.1:${server.address().port}`;
const first = await fetch(url);
const cookie = first.headers.get("set-cookie").split(";")[0];
const { id } = await first.json();
const second = await (await fetch(url, { headers: { cookie } })).json();
assert.deepStrictEqual(second, { id, views: 2 });
const ttl = await client.ttl("express:" + id);
assert(ttl > 1700 && ttl <= 1800, `ttl ${ttl}`);
const ids = await new Promise((resolve, reject) => store.ids((err, ids) => (err ? reject(err) : resolve(ids))));
assert.deepStrictEqual(ids, [id]);
await fetch(url + "/out", { headers: { cookie } });
assert.strictEqual(await client.exists("express:" + id), 0);
const third = await (await fetch(url, { headers: { cookie } })).json();
assert(third.id !== id && third.views === 1, "an ended session came back");
server.close();
await client.close();
