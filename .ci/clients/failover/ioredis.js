// Counts upwards through ioredis's Sentinel or Cluster. See cmd/vigil-crash/libraries.go.
import Redis from 'ioredis'
import { members, run } from './count.js'

const cluster = () => new Redis.Cluster(members, { clusterRetryStrategy: () => 20, slotsRefreshTimeout: 1000,
  redisOptions: { commandTimeout: 1000, connectTimeout: 1000 } })

const sentinel = () => new Redis({ sentinels: members, name: 'mymaster', maxRetriesPerRequest: 1,
  sentinelRetryStrategy: () => 20, retryStrategy: () => 20, sentinelCommandTimeout: 1000, commandTimeout: 1000, connectTimeout: 1000,
  // The client asks for the master again when the one that it knows is none any more.
  reconnectOnError: (err) => err.message.startsWith('READONLY') || err.message.startsWith('CLUSTERDOWN') })

run(() => {
  const client = process.env.VIEW === 'cluster' ? cluster() : sentinel()
  client.on('error', () => {})
  return client
})
