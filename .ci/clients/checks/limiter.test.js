import assert from 'node:assert'
import { after, test } from 'node:test'
import Redis from 'ioredis'
import { BurstyRateLimiter, RateLimiterRedis } from 'rate-limiter-flexible'

const storeClient = new Redis()
after(() => storeClient.quit())

test('points run out and come back', async () => {
  const limiter = new RateLimiterRedis({ storeClient, points: 3, duration: 1, keyPrefix: 'rl' })
  for (let left = 2; left >= 0; left--) assert.strictEqual((await limiter.consume('ip')).remainingPoints, left)
  const { msBeforeNext } = await limiter.consume('ip').catch(r => r)
  assert.ok(msBeforeNext > 0 && msBeforeNext <= 1000)
  await new Promise(done => setTimeout(done, msBeforeNext + 50))
  assert.strictEqual((await limiter.consume('ip')).remainingPoints, 2)
})

test('many at once take no more than there is', async () => {
  const limiter = new RateLimiterRedis({ storeClient, points: 50, duration: 60, keyPrefix: 'many' })
  const all = await Promise.allSettled(Array.from({ length: 200 }, () => limiter.consume('ip')))
  assert.strictEqual(all.filter(r => r.status === 'fulfilled').length, 50)
})

test('penalty, reward, block, delete; bursts', async () => {
  const limiter = new RateLimiterRedis({ storeClient, points: 5, duration: 60, keyPrefix: 'ops' })
  assert.strictEqual((await limiter.penalty('u', 2)).consumedPoints, 2)
  assert.strictEqual((await limiter.reward('u', 1)).consumedPoints, 1)
  await limiter.block('u', 60)
  await assert.rejects(limiter.consume('u'))
  assert.strictEqual(await limiter.delete('u'), true)
  const bursty = new BurstyRateLimiter(new RateLimiterRedis({ storeClient, points: 1, duration: 60, keyPrefix: 'b1' }),
    new RateLimiterRedis({ storeClient, points: 1, duration: 60, keyPrefix: 'b2' }))
  await bursty.consume('u')
  await bursty.consume('u')
  await assert.rejects(bursty.consume('u'))
})
