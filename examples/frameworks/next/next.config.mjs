// [documented]
// next.config.mjs
import { fileURLToPath } from "node:url";

export default {
  cacheHandler: fileURLToPath(import.meta.resolve("./cache-handler.mjs")),
  cacheMaxMemorySize: 0, // no copy in each instance, which the others could not make stale
};
// [end]
