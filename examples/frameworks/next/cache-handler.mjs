// [documented]
// cache-handler.mjs
import { CacheHandler } from "@fortedigital/nextjs-cache-handler";
import createRedisHandler from "@fortedigital/nextjs-cache-handler/redis-strings";
import { PHASE_PRODUCTION_BUILD } from "next/constants.js";
import { createClient } from "redis";

CacheHandler.onCreation(async () => {
  if (process.env.NEXT_PHASE === PHASE_PRODUCTION_BUILD) return { handlers: [] };
  const client = createClient({ url: process.env.REDIS_URL, disableOfflineQueue: true });
  client.on("error", (err) => console.error("cache:", err.message));
  client.connect().catch(() => {}); // without vigil pages are made anew: none waits for it
  return { handlers: [createRedisHandler({ client, keyPrefix: "next:" })] };
});

export default CacheHandler;
// [end]
