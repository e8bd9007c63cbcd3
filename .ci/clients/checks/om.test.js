import assert from 'node:assert'
import { after, before, test } from 'node:test'
import { createClient } from 'redis'
import { EntityId, Repository, Schema } from 'redis-om'

// What needs no search: documents are saved, fetched, expired and removed by their id.
for (const RESP of [2, 3]) {
  const client = createClient({ RESP })
  const schema = new Schema('visit', {
    name: { type: 'string' }, hits: { type: 'number' }, member: { type: 'boolean' }, seen: { type: 'date' },
    tags: { type: 'string[]' }, place: { type: 'point' }, city: { type: 'string', path: '$.address.city' },
  }, { dataStructure: 'JSON' })
  const visits = new Repository(schema, client)
  const visit = {
    name: 'Ada', hits: 3, member: true, seen: new Date('2026-01-02T03:04:05Z'), tags: ['a', 'b'], place: { longitude: 12.5, latitude: 41.9 }, city: 'Rome',
  }
  before(() => client.connect())
  after(() => client.close())

  test(`RESP${RESP}: save and fetch`, async () => {
    const saved = await visits.save('1', visit)
    assert.strictEqual(saved[EntityId], '1')
    assert.strictEqual(await client.type('visit:1'), 'ReJSON-RL')
    assert.deepStrictEqual({ ...await visits.fetch('1') }, { ...saved })
    const made = await visits.save({ name: 'Grace' })
    assert.strictEqual((await visits.fetch(made[EntityId])).name, 'Grace')
    saved.hits++
    await visits.save(saved)
    assert.deepStrictEqual((await visits.fetch('1', made[EntityId])).map((v) => v.hits), [4, undefined])
  })

  test(`RESP${RESP}: expire`, async () => {
    await visits.save('2', visit)
    await visits.expire('2', 100)
    assert.ok(await client.ttl('visit:2') > 90)
    await visits.expireAt('2', new Date(Date.now() + 50_000))
    assert.ok(await client.ttl('visit:2') <= 50)
    await visits.save('2', visit)
    assert.ok(await client.ttl('visit:2') > 0, 'the expiry stays when the whole document is saved again')
  })

  test(`RESP${RESP}: remove`, async () => {
    await visits.save('3', visit)
    await visits.remove('3')
    assert.strictEqual(await client.exists('visit:3'), 0)
    assert.deepStrictEqual(Object.keys(await visits.fetch('3')), [])
  })
}
