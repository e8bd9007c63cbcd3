// Counts upwards through node-redis's Sentinel. See cmd/vigil-crash/libraries.go.
import { createSentinel } from 'redis'
import { members, run } from './count.js'

// Without another strategy the client waits for a member that it has tried to come back.
const once = { socket: { reconnectStrategy: false, connectTimeout: 1000 } }
const client = createSentinel({ name: 'mymaster', sentinelRootNodes: members, sentinelClientOptions: once, nodeClientOptions: once,
  masterPoolSize: 4, scanInterval: 200 })
client.on('error', () => {})
console.log = console.error // the client writes to it
await client.connect()
run(() => client)
