// express-session with sessions that are JSON documents; requests change parts of them.
import assert from "node:assert";
import express from "express";
import session from "express-session";
import { createClient } from "redis";
import { DocumentStore } from "./json_store.js";

const client = createClient({ url: process.env.VIGIL_URL, RESP: Number(process.env.VIGIL_RESP ?? 2) });
await client.connect();

const app = express();
// [documented]
const store = new DocumentStore({ client, prefix: "shop:", ttl: 1800 });
app.use(session({ store, secret: "change me", resave: false, saveUninitialized: false, rolling: true }));

app.get("/login/:name", (req, res) => {
  Object.assign(req.session, { user: { name: req.params.name }, hits: 0, cart: [] });
  res.json({ id: req.sessionID });
});
// Neither reads the session, changes it and writes it back: requests at the same time all count.
app.get("/add/:sku", async (req, res) => {
  const key = store.key(req.sessionID);
  const [hits] = await client.json.numIncrBy(key, "$.hits", 1);
  const [length] = await client.json.arrAppend(key, "$.cart", { sku: req.params.sku, qty: 1 });
  res.json({ hits, length });
});
app.get("/cart", async (req, res) => {
  res.json(await client.json.get(store.key(req.sessionID), { path: "$.cart[*].sku" }));
});
// [end]
app.get("/theme/:name", (req, res) => {
  req.session.theme = req.params.name;
  res.end();
});
app.get("/plain", (req, res) => {
  delete req.session.theme;
  res.end();
});
app.get("/slow", async (req, res) => {
  req.session.slow = true;
  await client.del(store.key(req.sessionID)); // as if another request had ended the session meanwhile
  res.end();
});
app.get("/out", (req, res) => req.session.destroy(() => res.end()));

const server = app.listen(0);
const url = `http://127.0.0.1:${server.address().port}`;
const first = await fetch(url + "/login/Ada");
const cookie = first.headers.get("set-cookie").split(";")[0];
const { id } = await first.json();
const visit = async (path) => (await fetch(url + path, { headers: { cookie } })).text();
const key = "shop:" + id;

const n = 50;
const visits = [];
for (let i = 0; i < n; i++) {
  visits.push(visit("/add/item-" + i));
  if (i % 10 === 0) visits.push(visit("/theme/dark"));
}
await Promise.all(visits);
const found = await client.json.get(key);
assert.strictEqual(found.hits, n);
assert.deepStrictEqual(found.cart.map((item) => item.sku).sort(), Array.from({ length: n }, (_, i) => "item-" + i).sort());
assert.strictEqual(found.theme, "dark");
assert.strictEqual(found.user.name, "Ada");
assert.strictEqual(JSON.parse(await visit("/cart")).length, n);
assert.strictEqual(await client.type(key), "ReJSON-RL");
const ttl = await client.ttl(key);
assert(ttl > 1700 && ttl <= 1800, `ttl ${ttl}`);

await visit("/plain");
assert(!("theme" in await client.json.get(key)), "a member that was deleted stayed");
await visit("/slow");
assert.strictEqual(await client.exists(key), 0, "an ended session came back");
await visit("/login/Grace");
await visit("/out");
assert.strictEqual(await client.exists(key), 0);
server.close();
await client.close();
