import assert from 'node:assert'
import test from 'node:test'
import { RedisStore } from 'connect-redis'
import { createClient } from 'redis'

test('connect-redis keeps, touches, lists and destroys sessions', async () => {
  const client = await createClient().connect()
  const store = new RedisStore({ client, prefix: 'cr:' })
  const session = { cookie: { originalMaxAge: 5000 }, user: 'robin' }
  await store.set('one', session)
  assert.deepStrictEqual(await store.get('one'), session)
  await store.touch('one', session)
  assert.deepStrictEqual(await store.ids(), ['one'])
  assert.strictEqual(await store.length(), 1)
  assert.strictEqual((await store.all()).length, 1)
  await store.destroy('one')
  assert.strictEqual(await store.get('one') ?? null, null)
  await store.set('two', session)
  await store.clear()
  assert.strictEqual(await store.length(), 0)
  await client.close()
})
