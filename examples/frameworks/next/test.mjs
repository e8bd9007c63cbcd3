// Two instances of the application share their pages and the visitors' sessions.
import assert from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createClient } from "redis";

const instances = [];
process.on("exit", () => instances.forEach((p) => p.kill("SIGKILL")));

// start is the address of another instance, with its store at an address.
async function start(store) {
  const next = spawn(process.execPath, ["node_modules/next/dist/bin/next", "start", "-p", "0", "-H", "127.0.0.1"],
    { env: { ...process.env, REDIS_URL: store, NEXT_TELEMETRY_DISABLED: "1" } });
  instances.push(next);
  let said = "";
  for (const out of [next.stdout, next.stderr]) out.on("data", (text) => (said += text));
  for (;;) {
    const address = said.match(/Local:\s+(http:\S+)/);
    if (address && /Ready/.test(said)) return address[1];
    await Promise.race([once(next.stdout, "data"), once(next, "exit").then(() => assert.fail("next has ended: " + said))]);
  }
}

const vigil = process.env.VIGIL_URL;
const client = createClient({ url: vigil });
await client.connect();
const [one, other] = await Promise.all([start(vigil), start(vigil)]);
const price = async (address) => (await (await fetch(address)).text()).match(/price (?:<!-- -->)?(\d+)/)[1];
// agreed is the price that both instances show, once they show the same and not an old one: a page is stored after it was sent.
async function agreed(old) {
  for (;;) {
    const [here, there] = [await price(one), await price(other)];
    if (here === there && here !== old && (await price(one)) === here) return here;
  }
}
const first = await agreed();
assert((await client.keys("next:*")).length > 0, "no page is in vigil");
await fetch(other + "/sale", { method: "POST" });
await agreed(first); // what one instance made stale, the other does not show either

let cookie = "";
const visit = async (address, path) => {
  const answer = await fetch(address + path, { headers: { cookie } });
  const set = answer.headers.get("set-cookie");
  if (set) cookie = set.split(";")[0];
  return answer;
};
assert.deepStrictEqual(await (await visit(one, "/views")).json(), { views: 1 });
assert.deepStrictEqual(await (await visit(other, "/views")).json(), { views: 2 });
const [key] = await client.keys("session:*");
const ttl = await client.ttl(key);
assert(ttl > 1700 && ttl <= 1800, `ttl ${ttl}`);
const before = cookie;
const lost = await start("redis://127.0.0.1:1"); // nobody listens there
assert.strictEqual((await visit(lost, "/views")).status, 500);
assert.strictEqual(cookie, before, "a visitor is signed out while the store is away");
assert.deepStrictEqual(await (await visit(one, "/views")).json(), { views: 3 });
await visit(one, "/out");
assert.strictEqual(await client.exists(key), 0);
cookie = before;
assert.deepStrictEqual(await (await visit(other, "/views")).json(), { views: 1 });
assert.notStrictEqual(cookie, before, "a visitor chose the ID of the session");
await client.flushDb();
await client.close();
process.exit(0);
