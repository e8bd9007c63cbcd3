// Counts upwards through ioredis's Sentinel. See cmd/vigil-crash/libraries.go.
import Redis from 'ioredis'

const sentinels = process.argv.slice(2).map((a) => ({ host: a.slice(0, a.lastIndexOf(':')), port: Number(a.slice(a.lastIndexOf(':') + 1)) }))

async function count(k) {
  const client = new Redis({ sentinels, name: 'mymaster', maxRetriesPerRequest: 1,
    sentinelRetryStrategy: () => 20, retryStrategy: () => 20, sentinelCommandTimeout: 1000, commandTimeout: 1000, connectTimeout: 1000,
    // The client asks for the master again when the one that it knows is none any more.
    reconnectOnError: (err) => err.message.startsWith('READONLY') || err.message.startsWith('CLUSTERDOWN') })
  client.on('error', () => {})
  for (let n = 1; ; n++) {
    for (;;) {
      try {
        await client.set(`counter:${k}`, n)
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
