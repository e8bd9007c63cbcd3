// Counts upwards through node-redis's Sentinel. See cmd/vigil-crash/libraries.go.
import { createSentinel } from 'redis'

const sentinelRootNodes = process.argv.slice(2).map((a) => ({ host: a.slice(0, a.lastIndexOf(':')), port: Number(a.slice(a.lastIndexOf(':') + 1)) }))
// Without another strategy the client waits for a member that it has tried to come back.
const once = { socket: { reconnectStrategy: false, connectTimeout: 1000 } }
const client = createSentinel({ name: 'mymaster', sentinelRootNodes, sentinelClientOptions: once, nodeClientOptions: once,
  masterPoolSize: 4, scanInterval: 200 })
client.on('error', () => {})
console.log = console.error // the client writes to it
await client.connect()

async function count(k) {
  for (let n = 1; ; n++) {
    for (;;) {
      try {
        await client.set(`counter:${k}`, String(n))
        break
      } catch {
        await new Promise((wake) => setTimeout(wake, 10))
      }
    }
    process.stdout.write(`${k} ${n}\n`)
  }
}

for (let k = 0; k < 4; k++) count(k)
process.stdin.resume().on('end', () => process.stdout.write('', () => process.exit(0)))
