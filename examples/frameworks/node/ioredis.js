// ioredis, as applications without a framework use it for sessions.
import assert from "node:assert";
import Redis from "ioredis";

const redis = new Redis(process.env.VIGIL_URL);
await redis.set("io:1", JSON.stringify({ user: "robin" }), "EX", 1800);
assert.strictEqual(JSON.parse(await redis.getex("io:1", "EX", 900)).user, "robin");
assert.strictEqual(await redis.ttl("io:1"), 900);
const [[, n], [, set]] = await redis.multi().incr("io:n").expire("io:n", 60).exec();
assert.deepStrictEqual([n, set], [1, 1]);
await redis.del("io:1", "io:n");
await redis.quit();
