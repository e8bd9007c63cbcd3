// [documented]
// lib/session.js
import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { cookies } from "next/headers";
import { createClient } from "redis";

const lifetime = 1800; // seconds from the last request on
const client = createClient({ url: process.env.REDIS_URL, disableOfflineQueue: true });
client.on("error", (err) => console.error("sessions:", err.message));
let connected;

// store gives the client a second to connect the first time. While vigil is away calls fail at once.
async function store() {
  connected ??= client.connect().catch(() => {});
  if (!client.isReady) await Promise.race([connected, setTimeout(1000)]);
  return client;
}

// readSession is the visitor's session, whose lifetime begins anew, or null. It fails while
// vigil is away: nobody is signed out by that.
export async function readSession() {
  const id = (await cookies()).get("session")?.value;
  if (!id) return null;
  const text = await (await store()).getEx("session:" + id, { type: "EX", value: lifetime });
  return text && JSON.parse(text);
}

// writeSession is for route handlers and server actions, which may set cookies. An ID that vigil
// does not know is not taken over: another site may have given it to the visitor.
export async function writeSession(data) {
  const jar = await cookies();
  const vigil = await store();
  const save = (id, condition) => vigil.set("session:" + id, JSON.stringify(data),
    { condition, expiration: { type: "EX", value: lifetime } });
  let id = jar.get("session")?.value;
  if (!id || (await save(id, "XX")) === null) {
    id = randomBytes(24).toString("base64url");
    await save(id, "NX");
  }
  jar.set("session", id, { httpOnly: true, secure: true, sameSite: "lax", path: "/", maxAge: lifetime });
}

export async function endSession() {
  const jar = await cookies();
  const id = jar.get("session")?.value;
  if (id) await (await store()).del("session:" + id);
  jar.delete("session");
}
// [end]
