import assert from 'node:assert'
import { after, test } from 'node:test'
import Redis from 'ioredis'

const redis = new Redis()
after(() => redis.quit())

test('pipelines and transactions', async () => {
  assert.deepStrictEqual(await redis.pipeline().set('a', 1).incr('a').get('a').exec(), [[null, 'OK'], [null, 2], [null, '2']])
  assert.deepStrictEqual(await redis.multi().set('b', 1).lpush('b', 1).exec().catch(e => e.message) instanceof Array, true)
})

test('scripts are loaded once, and again after they were flushed', async () => {
  redis.defineCommand('twice', { numberOfKeys: 1, lua: "return redis.call('INCRBY', KEYS[1], ARGV[1] * 2)" })
  assert.strictEqual(await redis.twice('n', 2), 4)
  await redis.script('FLUSH')
  assert.strictEqual(await redis.twice('n', 2), 8)
})

test('scan streams see each key', async () => {
  await redis.mset(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`scan:${i}`, i])))
  const seen = new Set()
  for await (const keys of redis.scanStream({ match: 'scan:*' })) keys.forEach(k => seen.add(k))
  assert.strictEqual(seen.size, 1000)
})

test('messages arrive by channel and by pattern', async () => {
  const sub = new Redis()
  await sub.subscribe('news')
  await sub.psubscribe('new*')
  const got = Promise.all([new Promise(done => sub.once('message', (...m) => done(m))), new Promise(done => sub.once('pmessage', (...m) => done(m)))])
  assert.strictEqual(await redis.publish('news', 'x'), 2)
  assert.deepStrictEqual(await got, [['news', 'x'], ['new*', 'news', 'x']])
  await sub.quit()
})

test('streams, buffers, blocking calls', async () => {
  const id = await redis.xadd('s', '*', 'f', Buffer.from([0, 255]))
  const [[, [[got, [, value]]]]] = await redis.xreadBuffer('STREAMS', 's', 0)
  assert.strictEqual(got.toString(), id)
  assert.deepStrictEqual([...value], [0, 255])
  const other = new Redis()
  const popped = other.blpop('q', 5)
  await redis.rpush('q', 'v')
  assert.deepStrictEqual(await popped, ['q', 'v'])
  await other.quit()
})

test('auto pipelining', async () => {
  const auto = new Redis({ enableAutoPipelining: true })
  const all = await Promise.all(Array.from({ length: 500 }, (_, i) => auto.set(`p:${i}`, i).then(() => auto.get(`p:${i}`))))
  assert.deepStrictEqual(all, all.map((_, i) => String(i)))
  await auto.quit()
})
