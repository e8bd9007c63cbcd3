// Counts upwards through node-redis's Sentinel or cluster. See cmd/vigil-crash/libraries.go.
import { createCluster, createSentinel } from 'redis'
import { members, run } from './count.js'

// Without another strategy the client waits for a member that it has tried to come back.
const once = { socket: { reconnectStrategy: false, connectTimeout: 1000 } }

const quiet = (client) => client.on('error', () => {})

// cluster returns a client that is made anew when it fails: it would ask the other members
// only if one of them had said that the master is elsewhere.
function cluster() {
  const fresh = () => {
    const connected = quiet(createCluster({ rootNodes: members.map((socket) => ({ socket })), defaults: once })).connect()
    connected.catch(() => {}) // who awaits it has the error
    return connected
  }
  let client = fresh()
  return {
    async set(key, value) {
      const used = client
      try {
        return await (await used).set(key, value)
      } catch (err) {
        if (client === used) {
          client = fresh()
          used.then((c) => c.destroy()).catch(() => {})
        }
        throw err
      }
    },
  }
}

async function sentinel() {
  const client = quiet(createSentinel({ name: 'mymaster', sentinelRootNodes: members, sentinelClientOptions: once, nodeClientOptions: once,
    masterPoolSize: 4, scanInterval: 200 }))
  await client.connect()
  return client
}

console.log = console.error // the client writes to it
const client = process.env.VIEW === 'cluster' ? cluster() : await sentinel()
run(() => client)
